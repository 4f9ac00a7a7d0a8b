//! The token endpoint: how often, how long, and for whom.

use super::*;

#[tokio::test]
async fn fapi_ciba_id1_multiple_call_to_token_endpoint() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let asked = one.asked(&app, &json!({})).await;
        refused(&one.poll(&app, &asked).await, &["authorization_pending"], "the first");
        for _ in 0..5 {
            refused(&one.poll(&app, &asked).await, &["slow_down"], "too soon");
        }
        approve(&mut browser, &asked).await;
        // A client that polls again within a second of `slow_down` is not looked up (docs/decisions/0094).
        app.clock.advance(porteiro_protocol::time::Duration::seconds(1));
        assert_eq!(one.poll(&app, &asked).await.status, 200);
    }
}

#[tokio::test]
async fn fapi_ciba_id1_auth_req_id_expired() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in &pairs {
        let asked = one.asked(&app, &json!({"requested_expiry": 10})).await;
        // The database says when it is over.
        let over = "UPDATE approval SET expires_at = now() - interval '1 second' WHERE state = 'pending'";
        app.sql(over).await;
        refused(&one.poll(&app, &asked).await, &["expired_token"], "nobody decided");
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_wrong_auth_req_id_in_token_endpoint_request() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, two) in &pairs {
        let asked = one.asked(&app, &json!({})).await;
        approve(&mut browser, &asked).await;
        refused(&two.poll(&app, &asked).await, &["invalid_grant"], "of another client");
        assert_eq!(one.poll(&app, &asked).await.status, 200);
    }
}

/// A poll that is not as this client sends it is refused, though the person approved.
async fn is_refused_at_token_endpoint(
    kind: Kind,
    errors: &[&str],
    poll: impl AsyncFn(&TestApp, &Party, &Party, &[(&str, &str)]) -> Answer,
) {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, two) in pairs.iter().filter(|(one, _)| one.kind == kind) {
        let asked = one.asked(&app, &json!({})).await;
        approve(&mut browser, &asked).await;
        let form = [("grant_type", CIBA), ("auth_req_id", asked.handle.as_str())];
        refused(&poll(&app, one, two, &form).await, errors, "not as it should be");
        assert_eq!(one.poll(&app, &asked).await.status, 200, "as it should be");
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_wrong_client_id_in_token_endpoint_request() {
    is_refused_at_token_endpoint(Kind::Certificate, &["invalid_client"], async |app, one, two, form| {
        let form = [form, &[("client_id", two.id.as_str())]].concat();
        Party::post(app, TOKEN, &form, None, Some(&one.certificate)).await
    })
    .await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_without_client_assertion_in_token_endpoint_request() {
    let errors = ["invalid_client", "invalid_request"];
    is_refused_at_token_endpoint(Kind::Assertion, &errors, async |app, one, _, form| {
        let form = [form, &[("client_id", one.id.as_str())]].concat();
        Party::post(app, TOKEN, &form, None, Some(&one.certificate)).await
    })
    .await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_client_assertion_signature_algorithm_in_token_endpoint_request_is_rs256_fails()
{
    is_refused_at_token_endpoint(Kind::Assertion, &["invalid_client"], async |app, one, _, form| {
        let assertion = one.assertion_by(&one.key.speaking(Algorithm::Rs256), app, ISSUER);
        Party::post(app, TOKEN, form, Some(&assertion), Some(&one.certificate)).await
    })
    .await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_client_assertion_with_iss_aud_to_token_endpoint_succeeds() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    let (one, _) = pairs.iter().find(|(one, _)| one.kind == Kind::Assertion).unwrap();
    let endpoints = [ISSUER, MTLS].map(|base| [format!("{base}{TOKEN}"), format!("{base}{BACKCHANNEL}")]);
    for audience in endpoints.as_flattened().iter().map(String::as_str).chain([ISSUER]) {
        let asked = one.asked(&app, &json!({})).await;
        approve(&mut browser, &asked).await;
        let form = [("grant_type", CIBA), ("auth_req_id", asked.handle.as_str())];
        for foreign in ["https://other.example.test", &format!("{MTLS}/connect/par"), MTLS] {
            let assertion = one.assertion_by(&one.key, &app, foreign);
            let answer = Party::post(&app, TOKEN, &form, Some(&assertion), Some(&one.certificate)).await;
            refused(&answer, &["invalid_client"], foreign);
        }
        let assertion = one.assertion_by(&one.key, &app, audience);
        let answer = Party::post(&app, TOKEN, &form, Some(&assertion), Some(&one.certificate)).await;
        assert_eq!(answer.status, 200, "{audience}: {}", answer.text());
    }
}

#[tokio::test]
async fn fapi_ciba_id1_refresh_token() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        // One approval, one token.
        let tokens = one.tokens(&app, &mut browser, &json!({})).await;
        assert!(tokens.get("refresh_token").is_none(), "{tokens}");
        let form = [("grant_type", "refresh_token"), ("refresh_token", "x")];
        refused(&one.call(&app, TOKEN, &form).await, &["unauthorized_client"], "no grant to refresh");
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_mtls_holder_of_key_required() {
    let errors = ["invalid_client", "invalid_grant", "invalid_request"];
    for kind in KINDS {
        is_refused_at_token_endpoint(kind, &errors, async |app, one, _, form| match one.kind {
            Kind::Assertion => {
                let assertion = one.assertion(app, TOKEN);
                Party::post(app, TOKEN, form, Some(&assertion), None).await
            }
            Kind::Certificate => {
                let form = [form, &[("client_id", one.id.as_str())]].concat();
                Party::post(app, TOKEN, &form, None, None).await
            }
        })
        .await;
    }
}
