//! Which changes by an administrator end the grants of a client (docs/decisions/0090).

use porteiro_protocol::client_metadata::ClientMetadata;
use serde_json::Value;

use super::decide::certificate_subject;

/// Whether the change removes something that the client's grants depend on. An addition or a new name ends no grant: the
/// administrator vouches that it is the same client. Scopes and details types are not compared here: tokens and grants are
/// checked against them at every use (docs/decisions/0074).
pub(super) fn ends_grants(before: &ClientMetadata, after: &ClientMetadata) -> bool {
    let lost = |before: &[String], after: &[String]| before.iter().any(|one| !after.contains(one));
    before.redirect_uris.iter().any(|uri| !after.redirect_uris.contains(uri))
        || lost(&before.grant_types, &after.grant_types)
        || before.token_endpoint_auth_method != after.token_endpoint_auth_method
        || has_other_keys(before, after)
        || certificate_subject(before) != certificate_subject(after)
        || before.dpop_bound_access_tokens != after.dpop_bound_access_tokens
        || before.tls_client_certificate_bound_access_tokens
            != after.tls_client_certificate_bound_access_tokens
        || before.kind != after.kind
}

/// Whether none of the earlier keys remains. Keys are rotated by adding the new key first.
fn has_other_keys(before: &ClientMetadata, after: &ClientMetadata) -> bool {
    if before.jwks_uri != after.jwks_uri && before.jwks_uri.is_some() {
        return true;
    }
    match (&before.jwks, &after.jwks) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(before), Some(after)) => !keys(before).iter().any(|key| keys(after).contains(key)),
    }
}

fn keys(jwks: &Value) -> &[Value] {
    jwks.get("keys").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(change: &Value) -> ClientMetadata {
        let mut whole = json!({
            "redirect_uris": ["https://one.example/cb", "https://two.example/cb"],
            "client_name": "Ledger",
            "token_endpoint_auth_method": "private_key_jwt",
            "grant_types": ["authorization_code", "refresh_token"],
            "scope": "openid invoices:read",
            "jwks": {"keys": [{"kid": "1"}, {"kid": "2"}]},
        });
        for (name, value) in change.as_object().unwrap() {
            whole[name] = value.clone();
        }
        whole.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn what_is_added_or_renamed_ends_nothing() {
        for change in [
            json!({}),
            json!({"client_name": "Books", "client_uri": "https://one.example"}),
            json!({"redirect_uris": ["https://two.example/cb", "https://one.example/cb", "https://three.example/cb"]}),
            json!({"grant_types": ["authorization_code", "refresh_token", "client_credentials"]}),
            json!({"scope": "openid"}),
            json!({"jwks": {"keys": [{"kid": "1"}, {"kid": "2"}, {"kid": "3"}]}}),
            json!({"jwks": {"keys": [{"kid": "2"}, {"kid": "3"}]}}),
        ] {
            assert!(!ends_grants(&metadata(&json!({})), &metadata(&change)), "{change}");
        }
    }

    #[test]
    fn what_grants_rest_on_ends_them_when_it_goes() {
        for change in [
            json!({"redirect_uris": ["https://one.example/cb"]}),
            json!({"redirect_uris": ["https://one.example/cb", "https://three.example/cb"]}),
            json!({"grant_types": ["authorization_code"]}),
            json!({"token_endpoint_auth_method": "none"}),
            json!({"token_endpoint_auth_method": "client_secret_basic"}),
            json!({"jwks": {"keys": [{"kid": "3"}]}}),
            json!({"jwks": null}),
            json!({"jwks": null, "jwks_uri": "https://one.example/jwks"}),
            json!({"tls_client_auth_san_dns": "one.example"}),
            json!({"dpop_bound_access_tokens": true}),
            json!({"tls_client_certificate_bound_access_tokens": true}),
            json!({"kind": "agent"}),
        ] {
            assert!(ends_grants(&metadata(&json!({})), &metadata(&change)), "{change}");
        }
        let at = |address: &str| metadata(&json!({"jwks": null, "jwks_uri": address}));
        assert!(ends_grants(&at("https://one.example/jwks"), &at("https://two.example/jwks")));
    }
}
