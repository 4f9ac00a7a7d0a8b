//! The grant types. Discovery, registration and the permission per client follow from one line here; `registers.rs`
//! names the code that serves it.

use crate::{secrets::HandleKind, settings::Settings};

/// RFC 8628 §3.4.
pub const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// RFC 8693 §2.1.
pub const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// CIBA Core §4.
pub const CIBA: &str = "urn:openid:params:grant-type:ciba";

/// RFC 7523 §2.1.
pub const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// One grant type.
pub struct GrantType {
    /// The value of `grant_type`, as clients register it and discovery announces it.
    pub name: &'static str,
    /// A shorter value that the token endpoint takes, too.
    pub short: Option<&'static str>,
    /// The `response_type` it needs at the authorization endpoint, if it begins there.
    pub response_type: Option<&'static str>,
    /// Whether an unverified client may use it. Acting for itself, or for an absent person, is assigned by an
    /// administrator.
    pub open_to_unverified: bool,
    /// The parameter that carries a handle of ours, and the handle's kind.
    pub presents: Option<(&'static str, HandleKind)>,
    /// Whether this deployment can serve it.
    pub served: fn(&Settings) -> bool,
}

impl std::fmt::Debug for GrantType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every grant type that is served.
pub const GRANT_TYPES: &[GrantType] = &[
    GrantType {
        name: "authorization_code",
        short: None,
        response_type: Some("code"),
        open_to_unverified: true,
        presents: Some(("code", HandleKind::Code)),
        served: |_| true,
    },
    GrantType {
        name: "refresh_token",
        short: None,
        response_type: None,
        open_to_unverified: true,
        presents: Some(("refresh_token", HandleKind::Refresh)),
        served: |_| true,
    },
    GrantType {
        name: "client_credentials",
        short: None,
        response_type: None,
        open_to_unverified: false,
        presents: None,
        served: |_| true,
    },
    GrantType {
        name: DEVICE_CODE,
        short: None,
        response_type: None,
        // An attacker could send requests in the name of a device that does not exist (decision record 0064).
        open_to_unverified: false,
        presents: Some(("device_code", HandleKind::DeviceCode)),
        served: |settings| settings.device_page_path.is_some(),
    },
    GrantType {
        name: TOKEN_EXCHANGE,
        short: Some("token-exchange"),
        response_type: None,
        // Acting for people is for clients that an administrator vouches for.
        open_to_unverified: false,
        presents: None,
        served: |_| true,
    },
    GrantType {
        name: CIBA,
        short: None,
        response_type: None,
        // Asking people for approval is for clients that an administrator vouches for.
        open_to_unverified: false,
        presents: Some(("auth_req_id", HandleKind::ApprovalRequest)),
        served: |_| true,
    },
    GrantType {
        name: JWT_BEARER,
        short: None,
        response_type: None,
        // Acting for people is for clients that an administrator vouches for.
        open_to_unverified: false,
        presents: None,
        served: |_| true,
    },
];

/// Their names, for client registration.
pub const NAMES: &[&str] = &names();
pub const RESPONSE_TYPES: &[&str] = &["code"];

const fn names() -> [&'static str; GRANT_TYPES.len()] {
    let mut names = [""; GRANT_TYPES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = GRANT_TYPES[at].name;
        at += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_types_are_those_of_the_table() {
        let types: Vec<_> = GRANT_TYPES.iter().filter_map(|grant| grant.response_type).collect();
        assert_eq!(RESPONSE_TYPES, types);
    }
}
