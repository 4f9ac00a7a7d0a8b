//! What an assertion is good for. Pure.

use porteiro_protocol::{
    actor::{Actor, ActorChain, ActorKind},
    assurance::Level,
    client_metadata::{ClientKind, ClientMetadata},
    error::ErrorCode,
    id_jag::IdJag,
    metadata::is_same_resource,
    scope::Scope,
    time::OffsetDateTime,
};

use super::{super::binding::Binding, invalid_grant};
use crate::{
    http::OAuthError,
    organizations::{Entrance, Proved},
    trusts::AssertionIssuer,
};

/// The longest life of a token.
const MOST_SECONDS: i32 = 300;

/// The scope that is asked for: the request's, within the assertion's, or the assertion's. `None`: neither names one.
///
/// # Errors
/// When the request asks for more than the assertion carries.
pub fn scope(asked: Option<&str>, said: Option<&Scope>) -> Result<Option<Scope>, OAuthError> {
    let refused = |text: &str| OAuthError::new(ErrorCode::InvalidScope, text);
    let Some(asked) = asked else { return Ok(said.cloned()) };
    let asked: Scope = asked.parse().map_err(|_| refused("scope is malformed"))?;
    match said {
        Some(said) if asked.iter().any(|name| !said.contains(name)) => {
            Err(refused("scope exceeds what the assertion carries"))
        }
        Some(_) | None => Ok(Some(asked)),
    }
}

/// The resource: the assertion's and the request's are the same, where both name one.
///
/// # Errors
/// When they differ.
pub fn resource<'a>(asked: Option<&'a str>, said: Option<&'a str>) -> Result<Option<&'a str>, OAuthError> {
    match (asked, said) {
        (Some(asked), Some(said)) if !is_same_resource(asked, said) => {
            Err(OAuthError::new(ErrorCode::InvalidTarget, "resource is not that of the assertion"))
        }
        (asked, said) => Ok(said.or(asked)),
    }
}

/// An assertion that is bound to a key needs a proof with that key.
///
/// # Errors
/// When there is none, or the assertion is bound to something else.
pub fn bound(said: &IdJag, binding: Binding) -> Result<(), OAuthError> {
    let fits = match (said.confirmation.key, said.confirmation.certificate, binding) {
        (None, None, _) => true,
        (Some(key), None, Binding::Key(proved)) => key == proved,
        (Some(_), None, Binding::Bearer | Binding::Certificate(_)) | (_, Some(_), _) => false,
    };
    if fits {
        Ok(())
    } else {
        Err(invalid_grant("the assertion is bound to a key: send a DPoP proof with it"))
    }
}

/// What counts as proved: what the issuer says, if the organization believes that, else the least.
pub fn proved(trust: &AssertionIssuer, said: &IdJag, now: OffsetDateTime) -> Proved {
    // Another server's assertion is no sign-in by a connection of the organization.
    let entrance = Entrance::default();
    if !trust.believes_authentication {
        return Proved { level: Level::None, at: None, entrance, now };
    }
    let level = said.acr.as_deref().and_then(Level::parse_acr).unwrap_or(Level::None);
    let at = said.auth_time.and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok());
    // A time that is still to come proves nothing.
    Proved { level, at: at.filter(|at| *at <= now), entrance, now }
}

/// The client acts; nobody is there who could.
pub fn actor(client_id: &str, metadata: &ClientMetadata) -> ActorChain {
    let kind = match metadata.kind {
        ClientKind::Agent => ActorKind::Agent,
        ClientKind::Application | ClientKind::Service => ActorKind::Service,
    };
    ActorChain::of(Actor { kind, id: client_id.to_owned() })
}

/// The life of the token in seconds.
pub fn life(api_seconds: Option<i32>) -> i32 {
    api_seconds.map_or(MOST_SECONDS, |seconds| seconds.min(MOST_SECONDS))
}

#[cfg(test)]
mod tests {
    use porteiro_protocol::{access_token::Confirmation, assurance::ACR_AAL2, jose::Algorithm};
    use uuid::Uuid;

    use super::*;

    fn said() -> IdJag {
        IdJag {
            issuer: "https://idp.example".into(),
            subject: "s".into(),
            audience: "https://as.example".into(),
            client_id: "c".into(),
            id: "j".into(),
            expires: 300,
            issued: 0,
            resource: None,
            scope: None,
            auth_time: Some(50),
            acr: Some(ACR_AAL2.to_owned()),
            tenant: None,
            audience_tenant: None,
            confirmation: Confirmation::default(),
        }
    }

    fn trust(believes_authentication: bool) -> AssertionIssuer {
        AssertionIssuer {
            organization: Uuid::nil().into(),
            id: Uuid::nil().into(),
            issuer: "https://idp.example".into(),
            tenant: None,
            client_id: "c".into(),
            algorithms: vec![Algorithm::Es256],
            believes_authentication,
            created_at: OffsetDateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_request_may_ask_for_less_and_never_for_more() {
        let carried: Scope = "a b".parse().unwrap();
        let read = |asked, said| scope(asked, said).map(|scope| scope.map(|scope| scope.to_string()));
        assert_eq!(read(None, Some(&carried)).unwrap().as_deref(), Some("a b"));
        assert_eq!(read(Some("b"), Some(&carried)).unwrap().as_deref(), Some("b"));
        assert_eq!(read(Some("b"), None).unwrap().as_deref(), Some("b"));
        assert_eq!(read(None, None).unwrap(), None);
        assert!(read(Some("b c"), Some(&carried)).is_err() && read(Some("b\t"), None).is_err());
        let (one, two) = ("https://one.example", "https://two.example");
        assert_eq!(resource(Some("https://one.example/"), Some(one)).unwrap(), Some(one));
        assert_eq!(resource(Some(two), None).unwrap(), Some(two));
        assert!(resource(Some(two), Some(one)).is_err());
    }

    #[test]
    fn a_bound_assertion_needs_its_key() {
        let bound_to = |key, certificate| IdJag { confirmation: Confirmation { key, certificate }, ..said() };
        assert!(bound(&said(), Binding::Bearer).is_ok() && bound(&said(), Binding::Key([1; 32])).is_ok());
        let keyed = bound_to(Some([1; 32]), None);
        assert!(bound(&keyed, Binding::Key([1; 32])).is_ok());
        for wrong in [Binding::Bearer, Binding::Key([2; 32]), Binding::Certificate([1; 32])] {
            assert!(bound(&keyed, wrong).is_err());
        }
        assert!(bound(&bound_to(None, Some([1; 32])), Binding::Certificate([1; 32])).is_err());
    }

    #[test]
    fn what_the_issuer_says_of_the_sign_in_counts_only_if_it_is_believed() {
        let now = OffsetDateTime::UNIX_EPOCH + porteiro_protocol::time::Duration::seconds(100);
        let believed = proved(&trust(true), &said(), now);
        assert_eq!(
            (believed.level, believed.at.map(OffsetDateTime::unix_timestamp)),
            (Level::Aal2, Some(50))
        );
        let not = proved(&trust(false), &said(), now);
        assert_eq!((not.level, not.at), (Level::None, None));
        let future = IdJag { auth_time: Some(101), acr: Some("gold".into()), ..said() };
        let future = proved(&trust(true), &future, now);
        assert_eq!((future.level, future.at), (Level::None, None));
    }
}
