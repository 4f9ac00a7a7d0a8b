//! What is asked, and what comes back.

use super::*;
use crate::conformance::{list, metadata, text};

#[tokio::test]
async fn fapi2_happy_flow() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, two) in &pairs {
        let mut held = Vec::new();
        for party in [one, two] {
            let tokens = party.tokens(&app, &mut browser, &[]).await;
            assert!((1..=31_536_000).contains(&tokens["expires_in"].as_i64().unwrap()));
            assert_eq!(text(&tokens, "token_type"), party.scheme());
            party.id(&app, &tokens, Some("n-1")).await;
            let token = text(&tokens, "access_token").to_owned();
            assert_eq!(party.resource(&app, &token, party.scheme(), Some(&party.holder)).await, 200);
            // In the address it counts for nothing.
            let query = format!("/connect/userinfo?{}", encode(&[("access_token", &token)]));
            assert_eq!(app.get(&query).await.status, 401);
            held.push(token);
        }
        assert_ne!(held[0], held[1]);
        let stolen = one.resource(&app, &held[1], one.scheme(), Some(&one.holder)).await;
        assert_eq!(stolen, 401, "{:?}: with the other's certificate or key", one.kind);
    }
}

#[tokio::test]
async fn fapi2_user_rejects_authentication() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for party in pairs.iter().flat_map(|(one, two)| [one, two]) {
        let uri = party.pushed(&app, &verifier(), &[]).await;
        let mut flow = Flow::new(get_json(&mut browser, &party.path(&uri, &[])).await.json());
        flow.act(&mut browser, "consent/deny", nothing()).await;
        let mut callback = party.read(&app, &flow.now).await;
        callback.retain(|name, _| name != "dummy1" && name != "dummy2" && name != "aud");
        is_error(&callback, &["access_denied"], Some("s-1"));
    }
}

#[tokio::test]
async fn fapi2_ensure_authorization_request_without_state_success() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let (callback, verifier) = one.authorize(&app, &mut browser, &[("state", "")]).await;
        assert!(!callback.contains_key("state"), "{callback:?}");
        let tokens = one.redeem(&app, &callback, &verifier).await;
        assert!(one.id(&app, &tokens, Some("n-1")).await.get("s_hash").is_none());
    }
}

#[tokio::test]
async fn fapi2_ensure_authorization_request_without_nonce_success() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let tokens = one.tokens(&app, &mut browser, &[("nonce", "")]).await;
        one.id(&app, &tokens, None).await;
    }
}

/// Returned as it came, whatever its length.
async fn comes_back(name: &str, length: usize) {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    let long: String = "aB3-_x9Z".chars().cycle().take(length).collect();
    for (one, _) in &pairs {
        let (callback, verifier) = one.authorize(&app, &mut browser, &[(name, &long)]).await;
        let tokens = one.redeem(&app, &callback, &verifier).await;
        if name == "state" {
            assert_eq!(callback["state"], long);
        } else {
            one.id(&app, &tokens, Some(&long)).await;
        }
    }
}

#[tokio::test]
async fn fapi2_ensure_authorization_request_with_64_char_nonce_success() {
    comes_back("nonce", 64).await;
}

#[tokio::test]
async fn fapi2_ensure_authorization_request_with_long_nonce() {
    comes_back("nonce", 384).await;
}

#[tokio::test]
async fn fapi2_ensure_authorization_request_with_long_state() {
    comes_back("state", 1_000).await;
}

#[tokio::test]
async fn fapi2_ensure_other_scope_order_succeeds() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let tokens = one.tokens(&app, &mut browser, &[("scope", "email profile openid")]).await;
        let mut granted: Vec<&str> = text(&tokens, "scope").split(' ').collect();
        granted.sort_unstable();
        assert_eq!(granted, ["email", "openid", "profile"]);
    }
}

#[tokio::test]
async fn fapi2_test_claims_parameter_identity_claims() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    let document = metadata(&app).await;
    assert_eq!(document["claims_parameter_supported"], true);
    let members: Map<String, Value> = list(&document, "claims_supported")
        .into_iter()
        .filter(|name| *name != "sub")
        .map(|name| (name.to_owned(), Value::Null))
        .collect();
    let claims = json!({"id_token": members, "userinfo": members}).to_string();
    for (one, _) in &pairs {
        let more = [("claims", claims.as_str()), ("scope", "openid profile email")];
        let tokens = one.tokens(&app, &mut browser, &more).await;
        let token = text(&tokens, "access_token");
        assert_eq!(one.resource(&app, token, one.scheme(), Some(&one.holder)).await, 200);
    }
}

#[tokio::test]
async fn fapi2_access_token_type_header_case_sensitivity() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let tokens = one.tokens(&app, &mut browser, &[]).await;
        let token = text(&tokens, "access_token");
        for scheme in [one.scheme().to_ascii_lowercase(), one.scheme().to_ascii_uppercase()] {
            let holder = Some(&one.holder);
            assert_eq!(one.resource(&app, token, &scheme, holder).await, 200, "{scheme}");
        }
    }
}

/// What was pushed counts, whatever stands in the address.
#[tokio::test]
async fn fapi2_ensure_different_nonce_inside_and_outside_request_object() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let verifier = verifier();
        let uri = one.pushed(&app, &verifier, &[]).await;
        let callback = one.visit(&app, &mut browser, &uri, &[("nonce", "outside")]).await;
        let tokens = one.redeem(&app, &callback, &verifier).await;
        one.id(&app, &tokens, Some("n-1")).await;
    }
}

#[tokio::test]
async fn fapi2_ensure_different_state_inside_and_outside_request_object() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let uri = one.pushed(&app, &verifier(), &[]).await;
        let callback = one.visit(&app, &mut browser, &uri, &[("state", "outside")]).await;
        assert_eq!(callback["state"], "s-1");
    }
}

#[tokio::test]
async fn fapi2_state_only_outside_request_object_not_used() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let uri = one.pushed(&app, &verifier(), &[("state", "")]).await;
        let callback = one.visit(&app, &mut browser, &uri, &[("state", "outside")]).await;
        assert!(!callback.contains_key("state"), "{callback:?}");
    }
}

/// Told to the client that pushes; nobody is sent anywhere.
async fn is_refused_when_pushed(more: &[(&str, &str)], errors: &[&str]) {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in &pairs {
        refused(&one.push(&app, &verifier(), more).await, errors, &format!("{:?} {more:?}", one.kind));
    }
}

#[tokio::test]
async fn fapi2_ensure_request_object_without_redirect_uri_fails() {
    is_refused_when_pushed(&[("redirect_uri", "")], &["invalid_request", "invalid_request_object"]).await;
}

#[tokio::test]
async fn fapi2_ensure_redirect_uri_in_authorization_request() {
    is_refused_when_pushed(&[("redirect_uri", "")], &["invalid_request"]).await;
}

#[tokio::test]
async fn fapi2_plain_fapi_tolerate_unregistered_redirect_uri() {
    let errors = ["invalid_request", "invalid_request_object"];
    is_refused_when_pushed(&[("redirect_uri", "https://app.example.test/unregistered")], &errors).await;
}

#[tokio::test]
async fn fapi2_ensure_response_type_code_idtoken_fails() {
    let errors = ["unsupported_response_type", "invalid_request", "unauthorized_client"];
    is_refused_when_pushed(&[("response_type", "code id_token")], &errors).await;
}

#[tokio::test]
async fn fapi2_ensure_response_type_token_fails() {
    let errors = ["unsupported_response_type", "invalid_request", "unauthorized_client"];
    is_refused_when_pushed(&[("response_type", "token")], &errors).await;
}

#[tokio::test]
async fn fapi2_par_ensure_pkce_required() {
    is_refused_when_pushed(&[("code_challenge", ""), ("code_challenge_method", "")], &["invalid_request"])
        .await;
}

#[tokio::test]
async fn fapi2_par_plain_pkce_rejected() {
    is_refused_when_pushed(&[("code_challenge_method", "plain")], &["invalid_request"]).await;
}

#[tokio::test]
async fn fapi2_ensure_unsigned_authorization_request_without_using_par_fails() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let request = one.request(&verifier(), &[]);
        let parameters: Vec<(&str, &str)> =
            request.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        let body =
            get_json(&mut browser, &format!("/connect/authorize?{}", encode(&parameters))).await.json();
        let mut callback = one.read(&app, &body).await;
        callback.remove("aud");
        is_error(&callback, &["invalid_request"], Some("s-1"));
    }
}
