//! Names that no API may have, because this service uses them (docs/decisions/0083).
//!
//! 1. Its identifier is not the issuer's, in any spelling: tokens for the issuer are accepted by the management API.
//! 2. None of its scopes is named like a permission of the management API: a role that permits one would permit the
//!    other.

use porteiro_protocol::permission::Permission;
use url::Url;

use super::Api;
use crate::permissions::OWN;

/// Scheme, host, port and path in a normal form: case, default port, final dot and slashes are ignored, and so are
/// credentials and query, which an issuer does not have (RFC 8414 §2).
fn compared(text: &str) -> Option<(String, String, Option<u16>, String)> {
    let url = Url::parse(text).ok()?;
    let host = url.host_str()?.trim_end_matches('.').to_ascii_lowercase();
    let path = url.path().replace("%2F", "/").replace("%2f", "/").trim_matches('/').to_owned();
    Some((url.scheme().to_owned(), host, url.port_or_known_default(), path))
}

/// Whether both are the same address.
pub fn is_issuer(identifier: &str, issuer: &str) -> bool {
    identifier == issuer || compared(identifier).is_some_and(|it| Some(it) == compared(issuer))
}

/// Whether a scope would be taken for a permission of the management API: its resource is one of ours.
fn is_own(name: &str) -> bool {
    let Ok(permission) = Permission::parse(name) else { return false };
    let resource = permission.resource();
    let same = |own: &str| own.split_once(':').is_some_and(|(ours, _)| ours == resource);
    resource == "platform" || resource.starts_with("platform.") || OWN.iter().any(|own| same(own.name))
}

impl Api {
    /// The reserved name it uses, as a sentence.
    pub fn reserved(&self, issuer: &str) -> Option<String> {
        if is_issuer(&self.identifier, issuer) {
            return Some("identifier is the issuer, whose tokens are for the management API".into());
        }
        if self.resources.iter().any(|resource| is_issuer(resource, issuer)) {
            return Some("resources contains the issuer, whose tokens are for the management API".into());
        }
        let taken = self.scopes.iter().find(|scope| is_own(&scope.name))?;
        Some(format!("'{}' looks like a permission of the management API; rename the resource", taken.name))
    }
}

/// The first API that must not be served by this issuer, with a remedy.
pub fn unfit(apis: &[Api], issuer: &str) -> Option<String> {
    apis.iter().find_map(|api| {
        let why = api.reserved(issuer)?;
        let it = &api.identifier;
        Some(format!(
            "the API {it} is invalid: {why}; run: porteiro apis remove '{it}', or register it again"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_issuer_is_recognised_in_every_spelling() {
        let issuer = "https://id.example.org";
        for same in [
            "https://id.example.org",
            "https://id.example.org/",
            "https://id.example.org//",
            "HTTPS://ID.Example.org",
            "https://id.example.org:443/",
            "https://id.example.org./",
            "https://id.example.org/.",
            "https://id.example.org/x/..",
            "https://id.example.org/%2F",
            "https://id.example.org?",
            "https://id.example.org/?x=1",
            "https://someone@id.example.org",
            "https:id.example.org",
            " https://id.example.org\n",
        ] {
            assert!(is_issuer(same, issuer), "{same}");
        }
        for other in [
            "https://id.example.org:8443",
            "http://id.example.org",
            "https://id.example.org/payroll",
            "https://api.example.org",
            "urn:example:id.example.org",
        ] {
            assert!(!is_issuer(other, issuer), "{other}");
        }
        assert!(is_issuer("http://127.0.0.1:8080/", "http://127.0.0.1:8080"));
        assert!(is_issuer("http://0x7f.1:8080", "http://127.0.0.1:8080"));
    }

    #[test]
    fn our_resources_are_ours_whatever_the_action() {
        for own in ["members:read", "members:*", "members:export", "organizations:administer", "platform.x:y"]
        {
            assert!(is_own(own), "{own}");
        }
        for other in ["invoices:read", "members", "memberships:read", "platforms:read"] {
            assert!(!is_own(other), "{other}");
        }
    }
}
