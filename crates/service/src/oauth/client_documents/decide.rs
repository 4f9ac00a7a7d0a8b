//! What a document may say here, and for how long it is valid. Pure.

use porteiro_protocol::{
    client_metadata::{Allowed, ClientMetadata},
    scope::Scope,
};

use super::super::{apis::Api, clients, registration};

/// The shortest and the longest validity, in seconds: a host cannot be asked all the time, and a document that changed
/// is noticed within a day.
const SHORTEST: u64 = 300;
const LONGEST: u64 = 86_400;

/// What is served to a client that shares no secret with us and that no administrator has verified.
pub(super) const ALLOWED: Allowed<'static> = Allowed {
    auth_methods: &["none", "private_key_jwt", "tls_client_auth", "self_signed_tls_client_auth"],
    grant_types: &["authorization_code", "refresh_token"],
    default_grant_types: &["authorization_code", "refresh_token"],
    ..clients::ALLOWED
};

/// For how many seconds a document is valid, from what its answer says.
#[expect(clippy::cast_precision_loss, reason = "at most a day")]
pub(super) fn lifetime(said: Option<u64>) -> f64 {
    said.unwrap_or(SHORTEST).clamp(SHORTEST, LONGEST) as f64
}

/// One document is for all servers, so it may name scopes of others. They are left out: the scope of an unverified client
/// is a default, and the request says what is asked for (docs/decisions/0055).
pub(super) fn keep_open_scopes(metadata: &mut ClientMetadata, apis: &[Api]) {
    let Some(scope) = metadata.scope.take() else { return };
    let open: Vec<&str> = scope.iter().filter(|name| registration::is_open_scope(name, apis)).collect();
    metadata.scope = Scope::parse(&open.join(" ")).ok().filter(|scope| !scope.is_empty());
}

#[cfg(test)]
mod tests {
    use super::{super::super::grant_types::GRANT_TYPES, *};

    #[test]
    fn a_document_has_the_grants_and_methods_of_strangers_without_a_secret() {
        let open: Vec<&str> =
            GRANT_TYPES.iter().filter(|it| it.open_to_unverified).map(|it| it.name).collect();
        assert_eq!(ALLOWED.grant_types, open);
        let methods = clients::ALLOWED.auth_methods.iter().copied();
        let secretless: Vec<&str> = methods.filter(|name| !name.starts_with("client_secret_")).collect();
        assert_eq!(ALLOWED.auth_methods, secretless);
    }

    #[test]
    fn a_document_is_valid_for_five_minutes_to_a_day() {
        for (said, seconds) in
            [(None, 300.0), (Some(0), 300.0), (Some(600), 600.0), (Some(u64::MAX), 86_400.0)]
        {
            assert!((lifetime(said) - seconds).abs() < f64::EPSILON, "{said:?}");
        }
    }

    #[test]
    fn scopes_of_other_servers_are_left_out() {
        let mut metadata = ClientMetadata {
            scope: Scope::parse("openid mcp:tools account").ok(),
            ..ClientMetadata::default()
        };
        keep_open_scopes(&mut metadata, &[]);
        assert_eq!(metadata.scope, Scope::parse("openid").ok());
        metadata.scope = Scope::parse("mcp:tools").ok();
        keep_open_scopes(&mut metadata, &[]);
        assert_eq!(metadata.scope, None);
    }
}
