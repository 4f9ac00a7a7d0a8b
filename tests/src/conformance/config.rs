//! `oidcc-config-certification-test-plan`, and what the other plans read off the same document.

use serde_json::Value;
use url::Url;

use super::{ISSUER, list, metadata};
use crate::oauth::app;

/// Every member the suite knows; another would be a warning.
const KNOWN: &[&str] = &[
    "issuer",
    "acr_values_supported",
    "authorization_endpoint",
    "authorization_response_iss_parameter_supported",
    "authorization_signing_alg_values_supported",
    "authorization_challenge_endpoint",
    // Of drafts, as the next one and a few others are: a suite that is older warns about them.
    "authorization_details_types_metadata_endpoint",
    "authorization_grant_profiles_supported",
    "identity_chaining_requested_token_types_supported",
    "backchannel_authentication_endpoint",
    "backchannel_authentication_request_signing_alg_values_supported",
    "backchannel_logout_session_supported",
    "backchannel_logout_supported",
    "backchannel_token_delivery_modes_supported",
    "backchannel_user_code_parameter_supported",
    "claims_parameter_supported",
    "claims_supported",
    "client_id_metadata_document_supported",
    "code_challenge_methods_supported",
    "device_authorization_endpoint",
    "dpop_signing_alg_values_supported",
    "end_session_endpoint",
    "grant_types_supported",
    "id_token_signing_alg_values_supported",
    "introspection_endpoint",
    "introspection_endpoint_auth_methods_supported",
    "introspection_endpoint_auth_signing_alg_values_supported",
    "jwks_uri",
    "mtls_endpoint_aliases",
    "prompt_values_supported",
    "protected_resources",
    "pushed_authorization_request_endpoint",
    "registration_endpoint",
    "request_object_signing_alg_values_supported",
    "request_parameter_supported",
    "request_uri_parameter_supported",
    "require_request_uri_registration",
    "response_modes_supported",
    "response_types_supported",
    "revocation_endpoint",
    "revocation_endpoint_auth_methods_supported",
    "revocation_endpoint_auth_signing_alg_values_supported",
    "scopes_supported",
    "signed_metadata",
    "subject_types_supported",
    "tls_client_certificate_bound_access_tokens",
    "token_endpoint",
    "token_endpoint_auth_methods_supported",
    "token_endpoint_auth_signing_alg_values_supported",
    "ui_locales_supported",
    "userinfo_endpoint",
    "userinfo_signing_alg_values_supported",
];

fn is_https(value: &Value) {
    let url = Url::parse(value.as_str().unwrap()).unwrap();
    assert_eq!(url.scheme(), "https");
    assert!(url.host_str().is_some() && url.fragment().is_none() && url.username().is_empty());
}

#[tokio::test]
async fn oidcc_discovery_endpoint_verification() {
    let app = app().await;
    let answer = app.get("/.well-known/openid-configuration").await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").starts_with("application/json"));
    let document = answer.json();
    assert_eq!(document["issuer"], ISSUER);
    for (name, value) in document.as_object().unwrap() {
        assert!(KNOWN.contains(&name.as_str()), "{name} is not a registered name");
        if name.ends_with("_endpoint") || name == "jwks_uri" {
            is_https(value);
        }
        if name.ends_with("_supported") && !value.is_boolean() {
            assert!(value.as_array().is_some_and(|items| !items.is_empty()), "{name}");
        }
    }
    for name in ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "registration_endpoint"] {
        assert!(document[name].is_string(), "{name}");
    }
    assert!(list(&document, "response_types_supported").contains(&"code"));
    assert!(list(&document, "grant_types_supported").contains(&"authorization_code"));
    assert_eq!(list(&document, "subject_types_supported"), ["public"]);
    assert!(list(&document, "id_token_signing_alg_values_supported").contains(&"RS256"));
    assert!(list(&document, "request_object_signing_alg_values_supported").contains(&"RS256"));
    assert!(list(&document, "scopes_supported").contains(&"openid"));
    assert!(list(&document, "claims_supported").contains(&"sub"));
    assert_eq!(list(&document, "code_challenge_methods_supported"), ["S256"]);
    for tag in list(&document, "ui_locales_supported") {
        assert!(["en", "pt", "pt-BR"].contains(&tag), "{tag}");
    }
    are_public_keys(&super::keys(&app).await);
}

fn are_public_keys(set: &Value) {
    let keys = set["keys"].as_array().unwrap();
    let mut ids = std::collections::BTreeSet::new();
    for key in keys {
        assert!(ids.insert(key["kid"].as_str().unwrap().to_owned()), "{} twice", key["kid"]);
        assert_ne!(key["kty"], "oct");
        for private in ["d", "p", "q", "dp", "dq", "qi", "k"] {
            assert!(key.get(private).is_none(), "{private}");
        }
    }
    assert!(keys.iter().any(|key| key["alg"] == "RS256"));
}

/// With dynamic clients the module also wants implicit response types and the implicit grant. They are not served, so
/// they are not announced (docs/decisions/0057): two of its conditions fail, and this is what it finds.
#[tokio::test]
async fn oidcc_discovery_endpoint_verification_of_dynamic_clients() {
    let app = app().await;
    let document = metadata(&app).await;
    assert_eq!(list(&document, "response_types_supported"), ["code"]);
    assert!(!list(&document, "grant_types_supported").contains(&"implicit"));
    assert_eq!(document["request_uri_parameter_supported"], true);
    assert_eq!(document["require_request_uri_registration"], true);
    assert!(list(&document, "userinfo_signing_alg_values_supported").contains(&"RS256"));
    assert!(list(&document, "token_endpoint_auth_methods_supported").contains(&"private_key_jwt"));
}
