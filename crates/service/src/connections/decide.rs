//! Which connections may be configured. Pure.

use porteiro_protocol::{jose::Algorithm, plain_text};
use serde_json::Value;
use url::{Host, Url};

use super::ClientAuthentication;

const LONGEST: usize = 512;

/// What an administrator configures.
#[derive(Clone)]
pub struct Definition {
    pub name: String,
    pub issuer: String,
    pub client_id: String,
    pub client_authentication: ClientAuthentication,
    /// A new one; none keeps the old one.
    pub client_secret: Option<String>,
    pub algorithm: Algorithm,
    pub enabled: bool,
}

/// How people enter an organization by its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The claim that is the `external_id` of provisioned members.
    pub subject_claim: String,
    /// The role with which people join who are not members yet; none: nobody joins.
    pub jit_role: Option<String>,
    /// The addresses that it asserts count as verified although it does not say so.
    pub authoritative: bool,
    /// People claim the provisioned membership whose `external_id` its `subject_claim` is.
    pub match_provisioned: bool,
}

impl Entry {
    /// # Errors
    /// The first member that cannot be used.
    pub fn check(&self) -> Result<(), Unfit> {
        let is_claim = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        if self.subject_claim.is_empty()
            || self.subject_claim.len() > 100
            || !self.subject_claim.bytes().all(is_claim)
        {
            return Err(unfit("subject_claim", "must be the name of a claim, such as sub or oid"));
        }
        Ok(())
    }

    /// Whether an ID token lacks a claim by which people enter: the address that a domain vouches for and the word that it
    /// is verified, or the id of the person whom SCIM provisioned.
    pub(super) fn lacks(&self, claims: &Value) -> bool {
        let is_unverified = claims["email_verified"].is_null() && !self.authoritative;
        let lacks_address = claims["email"].is_null() || is_unverified;
        let lacks_id = claims[&self.subject_claim].is_null();
        (self.jit_role.is_some() && lacks_address) || (self.match_provisioned && lacks_id)
    }
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<definition of {}>", self.name)
    }
}

/// A member that cannot be used, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfit {
    pub field: &'static str,
    pub detail: &'static str,
}

const fn unfit(field: &'static str, detail: &'static str) -> Unfit {
    Unfit { field, detail }
}

impl Definition {
    /// Checks a definition. `had_secret`: a secret is stored already. `ours`: our own issuer.
    ///
    /// # Errors
    /// The first member that cannot be used.
    pub fn check(&self, had_secret: bool, ours: &str) -> Result<(), Unfit> {
        if plain_text::name(&self.name, 100) != Some(self.name.as_str()) {
            return Err(unfit("name", "must have 1 to 100 printable characters"));
        }
        let is_text = |text: &str| {
            !text.is_empty() && text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if !is_text(&self.issuer) || self.issuer.contains(['?', '#', '\\']) {
            return Err(unfit("issuer", "must be the provider's issuer: a URL without a query"));
        }
        if self.issuer.trim_end_matches('/') == ours {
            return Err(unfit("issuer", "must not be this service itself"));
        }
        // We sign assertions with the client id as issuer: they must not pass for tokens of ours.
        if !is_text(&self.client_id) || self.client_id.starts_with(ours) {
            return Err(unfit("client_id", "must be the id that the provider gave to this service"));
        }
        match (self.client_authentication, &self.client_secret) {
            (ClientAuthentication::PrivateKeyJwt, Some(_)) => {
                Err(unfit("client_secret", "is not used with private_key_jwt"))
            }
            (ClientAuthentication::PrivateKeyJwt, None) => Ok(()),
            (_, Some(secret)) if is_text(secret) => Ok(()),
            (_, Some(_)) => Err(unfit("client_secret", "must have 1 to 512 printable characters")),
            (_, None) if had_secret => Ok(()),
            (_, None) => Err(unfit("client_secret", "is required with this client_authentication")),
        }
    }
}

/// Endpoints that a provider has outside its issuer's domain. Google's are documented and have been the same for years.
const ELSEWHERE: &[(&str, &[&str])] =
    &[("accounts.google.com", &["oauth2.googleapis.com", "www.googleapis.com"])];

/// Whether an endpoint may be one of the directory with this issuer: at the issuer's own host and port, or at the usual
/// port of a host under the same registrable domain. An organization's administrator chose the issuer, so its metadata
/// must not lead us to the directory of another organization on the operator's network (docs/decisions/0123).
pub fn is_own_endpoint(issuer: &str, endpoint: &str) -> bool {
    let (Ok(issuer), Ok(endpoint)) = (Url::parse(issuer), Url::parse(endpoint)) else { return false };
    if issuer.origin() == endpoint.origin() {
        return true;
    }
    let (Some(Host::Domain(own)), Some(Host::Domain(there))) = (issuer.host(), endpoint.host()) else {
        return false;
    };
    let known = ELSEWHERE.iter().any(|(host, others)| *host == own && others.contains(&there));
    // Where the suffix is not public, one domain may hold the directories of several organizations.
    let registrable = |host| psl::domain(host).filter(|domain| domain.suffix().is_known());
    let related = registrable(own.as_bytes()).is_some_and(|it| registrable(there.as_bytes()) == Some(it));
    endpoint.port().is_none() && issuer.scheme() == endpoint.scheme() && (known || related)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_somebody_needs_to_enter_is_missed() {
        let closed = Entry {
            subject_claim: "oid".into(),
            jit_role: None,
            authoritative: false,
            match_provisioned: false,
        };
        let joining = Entry { jit_role: Some("member".into()), ..closed.clone() };
        let believed = Entry { authoritative: true, ..joining.clone() };
        let matching = Entry { match_provisioned: true, ..closed.clone() };
        for (claims, lacks) in [
            (json!({}), [false, true, true, true]),
            (json!({"email": "a@b.test"}), [false, true, false, true]),
            (json!({"email": "a@b.test", "email_verified": false}), [false, false, false, true]),
            (json!({"email": "a@b.test", "email_verified": true}), [false, false, false, true]),
            (json!({"email_verified": true, "oid": "1"}), [false, true, true, false]),
        ] {
            let found = [&closed, &joining, &believed, &matching].map(|entry| entry.lacks(&claims));
            assert_eq!(found, lacks, "{claims}");
        }
    }

    #[test]
    fn the_endpoints_of_a_directory_are_at_its_issuers_domain() {
        let google = "https://accounts.google.com";
        for (issuer, endpoint) in [
            ("https://login.example.com", "https://login.example.com/token"),
            ("https://login.example.com:8443/a", "https://login.example.com:8443/token"),
            ("https://login.example.com", "https://keys.id.example.com/jwks"),
            ("https://10.0.0.1", "https://10.0.0.1/token"),
            (google, "https://oauth2.googleapis.com/token"),
            (google, "https://www.googleapis.com/oauth2/v3/certs"),
        ] {
            assert!(is_own_endpoint(issuer, endpoint), "{issuer} {endpoint}");
        }
        for (issuer, endpoint) in [
            ("https://login.example.com", "https://example.org/token"),
            ("https://login.example.com", "https://login.example.com:8443/token"),
            ("https://login.example.com", "https://keys.example.com:8443/jwks"),
            ("https://login.example.com", "http://keys.example.com/jwks"),
            ("https://a.co.uk", "https://b.co.uk/token"),
            ("https://login.example.com", "https://oauth2.googleapis.com/token"),
            ("https://10.0.0.1", "https://10.0.0.2/token"),
            ("https://a.corp.internal", "https://b.corp.internal/token"),
            (google, "https://storage.googleapis.com/token"),
        ] {
            assert!(!is_own_endpoint(issuer, endpoint), "{issuer} {endpoint}");
        }
    }

    fn definition() -> Definition {
        Definition {
            name: "Example".into(),
            issuer: "https://login.example.test".into(),
            client_id: "porteiro".into(),
            client_authentication: ClientAuthentication::SecretBasic,
            client_secret: Some("s".into()),
            algorithm: Algorithm::Rs256,
            enabled: true,
        }
    }

    #[test]
    fn what_cannot_work_or_could_pass_for_us_is_not_configured() {
        let ours = "https://id.example.test";
        let field = |it: Definition| it.check(false, ours).map_err(|unfit| unfit.field);
        assert_eq!(field(definition()), Ok(()));
        assert_eq!(field(Definition { name: "\u{202e}".into(), ..definition() }), Err("name"));
        for issuer in ["", "https://id.example.test/", "https://a.test?b", "https://a b"] {
            assert_eq!(
                field(Definition { issuer: issuer.into(), ..definition() }),
                Err("issuer"),
                "{issuer}"
            );
        }
        assert_eq!(field(Definition { client_id: ours.into(), ..definition() }), Err("client_id"));
        assert_eq!(field(Definition { client_secret: None, ..definition() }), Err("client_secret"));
        assert_eq!(Definition { client_secret: None, ..definition() }.check(true, ours), Ok(()));
        let keyed = Definition { client_authentication: ClientAuthentication::PrivateKeyJwt, ..definition() };
        assert_eq!(field(keyed.clone()), Err("client_secret"));
        assert_eq!(field(Definition { client_secret: None, ..keyed }), Ok(()));
    }
}
