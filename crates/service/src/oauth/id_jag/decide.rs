//! What a request for an assertion asks for, and whether the registration of the server allows it. Pure.

use porteiro_protocol::{error::ErrorCode, form::Parameters, metadata::is_same_resource, scope::Scope};

use super::invalid;
use crate::{http::OAuthError, refusals::Rule, trusts::AuthorizationServer};

/// RFC 8693 §3.
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const REFRESH_TOKEN: &str = "urn:ietf:params:oauth:token-type:refresh_token";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectToken<'a> {
    Id(&'a str),
    Refresh(&'a str),
}

/// The parameters (§4.3 of the draft).
#[derive(Debug)]
pub struct Asked<'a> {
    pub subject: SubjectToken<'a>,
    pub audience: &'a str,
    pub resource: Option<&'a str>,
    pub scope: Option<Scope>,
    pub organization: Option<&'a str>,
}

/// Reads the form.
///
/// # Errors
/// When a parameter is missing, or asks for what is not offered.
pub fn read(form: &Parameters) -> Result<Asked<'_>, OAuthError> {
    let token = form.get("subject_token").ok_or_else(|| invalid("subject_token is missing"))?;
    let subject = match form.get("subject_token_type") {
        Some(ID_TOKEN) => SubjectToken::Id(token),
        Some(REFRESH_TOKEN) => SubjectToken::Refresh(token),
        Some(_) => {
            return Err(invalid("an id-jag is issued for an ID token or a refresh token of the client"));
        }
        None => return Err(invalid("subject_token_type is missing")),
    };
    // The draft leaves open what an actor_token means here, and combining two tokens could overstate either.
    if form.get("actor_token").is_some() {
        return Err(invalid("actor_token is not accepted for an id-jag"));
    }
    if form.get("authorization_details").is_some_and(|details| details != "[]") {
        let text = "authorization_details are not accepted for an id-jag; request scopes";
        return Err(OAuthError::new(ErrorCode::InvalidAuthorizationDetails, text));
    }
    let missing = || invalid("audience is missing: the issuer of the server that the id-jag is for");
    let malformed = |_| OAuthError::new(ErrorCode::InvalidScope, "scope is malformed");
    Ok(Asked {
        subject,
        audience: form.get("audience").ok_or_else(missing)?,
        resource: form.get("resource"),
        scope: form.get("scope").map(str::parse).transpose().map_err(malformed)?,
        organization: form.get("organization"),
    })
}

/// What an assertion will carry.
#[derive(Debug, PartialEq, Eq)]
pub struct Granted {
    /// As the organization registered it.
    pub resource: Option<String>,
    pub scope: Scope,
}

/// Exactly what is asked for: one thing too many refuses the whole. Without a scope, it is the registered one (RFC 6749
/// §3.3); without a resource, the only one there is. Scopes of other servers have no wildcards that we know of.
///
/// # Errors
/// The rule that refuses, and the names.
pub fn granted(server: &AuthorizationServer, asked: &Asked<'_>) -> Result<Granted, (Rule, Vec<String>)> {
    let resource = match (asked.resource, server.resources.as_slice()) {
        (None, []) => None,
        (None, [only]) => Some(only.clone()),
        (None, several) => return Err((Rule::ServerNotRegistered, several.to_vec())),
        (Some(named), known) => {
            let found = known.iter().find(|known| is_same_resource(known, named));
            let unknown = || (Rule::ServerNotRegistered, vec![named.to_owned()]);
            Some(found.ok_or_else(unknown)?.clone())
        }
    };
    let scope = asked.scope.clone().unwrap_or_else(|| server.scope.clone());
    if scope.iter().any(|name| !server.scope.contains(name)) {
        return Err((Rule::AssertionWidened, scope.iter().map(str::to_owned).collect()));
    }
    Ok(Granted { resource, scope })
}

#[cfg(test)]
mod tests {
    use porteiro_protocol::time::OffsetDateTime;
    use uuid::Uuid;

    use super::*;

    fn server(scope: &str, resources: &[&str]) -> AuthorizationServer {
        AuthorizationServer {
            id: Uuid::nil().into(),
            issuer: "https://as.example".into(),
            client_id: "c".into(),
            remote_client_id: "r".into(),
            scope: scope.parse().unwrap(),
            resources: resources.iter().map(|resource| (*resource).to_owned()).collect(),
            created_at: OffsetDateTime::UNIX_EPOCH,
        }
    }

    fn decide(
        server: &AuthorizationServer,
        scope: Option<&str>,
        resource: Option<&str>,
    ) -> Result<Granted, Rule> {
        let scope = scope.map(|text| text.parse().unwrap());
        let asked = Asked {
            subject: SubjectToken::Id(""),
            audience: "https://as.example",
            resource,
            scope,
            organization: None,
        };
        granted(server, &asked).map_err(|(rule, _)| rule)
    }

    #[test]
    fn a_scope_too_many_refuses_the_whole() {
        let server = server("a b:*", &[]);
        assert_eq!(decide(&server, Some("a"), None).unwrap().scope.to_string(), "a");
        assert_eq!(decide(&server, None, None).unwrap().scope.to_string(), "a b:*");
        assert_eq!(decide(&server, Some("a c"), None), Err(Rule::AssertionWidened));
        assert_eq!(decide(&server, Some("b:read"), None), Err(Rule::AssertionWidened));
    }

    #[test]
    fn a_resource_is_one_of_the_registered_ones() {
        let (one, two) = ("https://one.example", "https://two.example/mcp");
        let resource = |server: &AuthorizationServer, named| {
            decide(server, None, named).map(|granted| granted.resource.unwrap_or_default())
        };
        assert_eq!(resource(&server("a", &[]), None).unwrap(), "");
        assert_eq!(resource(&server("a", &[]), Some(one)), Err(Rule::ServerNotRegistered));
        assert_eq!(resource(&server("a", &[one]), None).unwrap(), one);
        assert_eq!(resource(&server("a", &[one]), Some("https://one.example/")).unwrap(), one);
        assert_eq!(resource(&server("a", &[one, two]), Some(two)).unwrap(), two);
        assert_eq!(resource(&server("a", &[one, two]), None), Err(Rule::ServerNotRegistered));
        assert_eq!(resource(&server("a", &[one]), Some(two)), Err(Rule::ServerNotRegistered));
    }
}
