//! What is announced, what a client asks, what the person sees, and who may ask.

use porteiro_protocol::assurance::ACR_AAL1;

use super::*;

#[tokio::test]
async fn fapi_ciba_id1_discovery_end_point_verification() {
    let Stage { app, .. } = Stage::new().await;
    let found = super::super::metadata(&app).await;
    for (name, path) in [("backchannel_authentication_endpoint", BACKCHANNEL), ("token_endpoint", TOKEN)] {
        assert_eq!(found[name], format!("{ISSUER}{path}"));
        assert_eq!(found["mtls_endpoint_aliases"][name], format!("{MTLS}{path}"));
    }
    assert_eq!(found["tls_client_certificate_bound_access_tokens"], true);
    assert_eq!(found["backchannel_user_code_parameter_supported"], false);
    for (name, wanted) in [
        ("backchannel_token_delivery_modes_supported", vec!["poll", "ping"]),
        ("grant_types_supported", vec![CIBA]),
        ("token_endpoint_auth_methods_supported", vec!["private_key_jwt", "self_signed_tls_client_auth"]),
        ("token_endpoint_auth_signing_alg_values_supported", vec!["PS256", "ES256"]),
        ("id_token_signing_alg_values_supported", vec!["PS256", "ES256"]),
        ("backchannel_authentication_request_signing_alg_values_supported", vec!["PS256", "ES256"]),
    ] {
        let listed = super::super::list(&found, name);
        assert!(wanted.iter().all(|one| listed.contains(one)), "{name}: {listed:?}");
    }
}

#[tokio::test]
async fn fapi_ciba_id1() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, two) in &pairs {
        for (party, other, asked) in [(one, two, json!({})), (two, one, json!({"acr_values": ACR_AAL1}))] {
            let tokens = party.tokens(&app, &mut browser, &asked).await;
            assert_eq!(super::super::header_of(super::super::text(&tokens, "id_token"))["alg"], "PS256");
            let claims = super::super::id_token(&app, &tokens, &party.id, None).await;
            assert_eq!((&claims["sub"], &claims["acr"]), (&json!(party.person), &json!(ACR_AAL1)));
            let token = super::super::text(&tokens, "access_token");
            super::super::is_unguessable(token);
            let answer = party.resource(&app, token, Some(&party.certificate)).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert_eq!(answer.header("x-fapi-interaction-id"), INTERACTION);
            for certificate in [Some(other.certificate.as_slice()), None] {
                assert_eq!(party.resource(&app, token, certificate).await.status, 401);
            }
            assert_eq!(app.get(&format!("/connect/userinfo?access_token={token}")).await.status, 401);
        }
    }
}

#[tokio::test]
async fn fapi_ciba_id1_user_rejects_authentication() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let asked = one.asked(&app, &json!({})).await;
        decide(&mut browser, "deny", &json!({})).await;
        refused(&one.poll(&app, &asked).await, &["access_denied"], "denied");
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_authorization_request_with_binding_message_succeeds() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let asked = one.asked(&app, &json!({"binding_message": "1234"})).await;
        let waiting = browser.get("/v1/account/approvals?state=pending").await.json();
        assert_eq!(waiting["items"][0]["binding_message"], "1234");
        approve(&mut browser, &asked).await;
        assert_eq!(one.poll(&app, &asked).await.status, 200);
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_authorization_request_with_potentially_bad_binding_message() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in &pairs {
        let answer =
            one.ask(&app, &json!({"binding_message": "1234 \u{1f44d}\u{1f3ff} and some more"})).await;
        refused(&answer, &["invalid_binding_message"], "not plain");
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_other_scope_order_succeeds() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let tokens = one.tokens(&app, &mut browser, &json!({"scope": "email profile openid"})).await;
        let answer =
            one.resource(&app, super::super::text(&tokens, "access_token"), Some(&one.certificate)).await;
        assert_eq!(answer.json()["email"], "ana@example.test", "{}", answer.text());
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_requested_expiry_as_string_succeeds() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in &pairs {
        for expiry in [json!("30"), json!(30)] {
            let answer = one.ask(&app, &json!({"requested_expiry": expiry})).await;
            assert_eq!(answer.json()["expires_in"], 30, "{}", answer.text());
        }
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_authorization_request_with_multiple_hints_fails() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in &pairs {
        let both = json!({"id_token_hint": "e30.e30.AA"});
        refused(&one.ask(&app, &both).await, &["invalid_request"], "two hints");
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_different_client_id_and_issuer_in_backchannel_authorization_request() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, two) in pairs.iter().filter(|(one, _)| one.kind == Kind::Certificate) {
        let object = one.key.request_object(&one.claims(&app, &json!({})));
        let answer = two.call(&app, BACKCHANNEL, &[("request", &object)]).await;
        refused(&answer, &["invalid_request", "invalid_client"], "somebody else's request");
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_wrong_client_id_in_backchannel_authorization_request() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, two) in pairs.iter().filter(|(one, _)| one.kind == Kind::Certificate) {
        let object = one.key.request_object(&one.claims(&app, &json!({})));
        let form = [("request", object.as_str()), ("client_id", two.id.as_str())];
        let answer = Party::post(&app, BACKCHANNEL, &form, None, Some(&one.certificate)).await;
        refused(&answer, &["invalid_client"], "the certificate of another client");
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_without_client_assertion_in_backchannel_authorization_request() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in pairs.iter().filter(|(one, _)| one.kind == Kind::Assertion) {
        let object = one.key.request_object(&one.claims(&app, &json!({})));
        let form = [("request", object.as_str()), ("client_id", one.id.as_str())];
        let answer = Party::post(&app, BACKCHANNEL, &form, None, Some(&one.certificate)).await;
        refused(&answer, &["invalid_client", "invalid_request"], "no assertion");
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_client_assertion_signature_algorithm_in_backchannel_request_is_rs256_fails() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in pairs.iter().filter(|(one, _)| one.kind == Kind::Assertion) {
        let object = one.key.request_object(&one.claims(&app, &json!({})));
        let assertion = one.assertion_by(&one.key.speaking(Algorithm::Rs256), &app, ISSUER);
        let answer = Party::post(&app, BACKCHANNEL, &[("request", &object)], Some(&assertion), None).await;
        refused(&answer, &["invalid_client"], "RS256");
    }
}
