//! THE grant table. One line here, and discovery, registration and the per-client permission follow.

use std::pin::Pin;

use super::{TokenRequest, TokenResponse};
use crate::{
    http::OAuthError,
    oauth::{client_credentials, code_grant, device, refresh},
    secrets::HandleKind,
    settings::Settings,
};

type Answer<'a> = Pin<Box<dyn Future<Output = Result<TokenResponse, OAuthError>> + Send + 'a>>;
type Run = for<'a> fn(TokenRequest<'a>) -> Answer<'a>;

/// One grant type.
pub struct Grant {
    /// The value of `grant_type`.
    pub name: &'static str,
    /// The `response_type` it needs at the authorization endpoint, if it begins there.
    pub response_type: Option<&'static str>,
    /// Whether a client that nobody has checked may use it. Acting for itself, or for somebody who is not there, is
    /// given by people.
    pub open_to_unverified: bool,
    /// The parameter in which something of ours is presented, and what it must be.
    pub presents: Option<(&'static str, HandleKind)>,
    /// Whether this deployment can serve it.
    pub served: fn(&Settings) -> bool,
    pub(super) run: Run,
}

impl std::fmt::Debug for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every grant that is served.
pub const GRANTS: &[Grant] = &[
    Grant {
        name: "authorization_code",
        response_type: Some("code"),
        open_to_unverified: true,
        presents: Some(("code", HandleKind::Code)),
        served: |_| true,
        run: |request| Box::pin(code_grant::grant(request)),
    },
    Grant {
        name: "refresh_token",
        response_type: None,
        open_to_unverified: true,
        presents: Some(("refresh_token", HandleKind::Refresh)),
        served: |_| true,
        run: |request| Box::pin(refresh::grant(request)),
    },
    Grant {
        name: "client_credentials",
        response_type: None,
        open_to_unverified: false,
        presents: None,
        served: |_| true,
        run: |request| Box::pin(client_credentials::grant(request)),
    },
    Grant {
        name: device::GRANT_TYPE,
        response_type: None,
        // A stranger could ask in the name of a device nobody has (decision record 0064).
        open_to_unverified: false,
        presents: Some(("device_code", HandleKind::DeviceCode)),
        served: |settings| settings.device_page_path.is_some(),
        run: |request| Box::pin(device::grant(request)),
    },
];

/// Their names, for what clients may ask for.
pub const NAMES: &[&str] = &["authorization_code", "refresh_token", "client_credentials", device::GRANT_TYPE];
pub const RESPONSE_TYPES: &[&str] = &["code"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_table() {
        assert_eq!(NAMES, GRANTS.iter().map(|grant| grant.name).collect::<Vec<_>>());
        let types: Vec<_> = GRANTS.iter().filter_map(|grant| grant.response_type).collect();
        assert_eq!(RESPONSE_TYPES, types);
    }
}
