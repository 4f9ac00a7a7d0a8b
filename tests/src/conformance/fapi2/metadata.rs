//! What the document must say.

use super::super::{ISSUER, list, metadata};
use crate::oauth::app;

#[tokio::test]
async fn fapi2_discovery_end_point_verification() {
    let app = app().await;
    let document = metadata(&app).await;
    assert_eq!(document["issuer"], ISSUER);
    assert!(document["pushed_authorization_request_endpoint"].as_str().unwrap().starts_with("https://"));
    assert_eq!(document["authorization_response_iss_parameter_supported"], true);
    assert_eq!(document["tls_client_certificate_bound_access_tokens"], true);
    assert!(list(&document, "response_types_supported").contains(&"code"));
    assert_eq!(list(&document, "code_challenge_methods_supported"), ["S256"]);
    assert!(list(&document, "token_endpoint_auth_methods_supported").contains(&"private_key_jwt"));
    for name in [
        "token_endpoint_auth_signing_alg_values_supported",
        "id_token_signing_alg_values_supported",
        "userinfo_signing_alg_values_supported",
        "request_object_signing_alg_values_supported",
        "authorization_signing_alg_values_supported",
        "dpop_signing_alg_values_supported",
    ] {
        let known = list(&document, name);
        assert!(["PS256", "ES256", "EdDSA"].iter().all(|algorithm| known.contains(algorithm)), "{name}");
        assert!(!known.contains(&"none"), "{name}");
    }
    assert!(list(&document, "scopes_supported").contains(&"openid"));
    assert!(list(&document, "response_modes_supported").contains(&"jwt"));
    assert!(list(&document, "grant_types_supported").contains(&"authorization_code"));
    assert!(document["request_parameter_supported"].is_boolean());
}
