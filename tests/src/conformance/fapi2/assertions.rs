//! Client assertions: signed as allowed, for us, now.

use super::*;

/// Pushing with this assertion is refused; with a good one the same is taken.
async fn is_refused_with(changes: impl Fn(i64) -> Value) {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in &pairs {
        let changes = changes(now(&app));
        let assertion = one.assertion(&app, &changes);
        let answer = push_with(&app, one, &assertion).await;
        refused(&answer, &["invalid_client", "invalid_request"], &changes.to_string());
        let answer = push_with(&app, one, &one.assertion(&app, &json!({}))).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
}

async fn push_with(app: &TestApp, party: &Party, assertion: &str) -> Answer {
    let request = party.request(&verifier(), &[]);
    let object = party.key.request_object(&party.object(app, &request, &json!({})));
    let pairs: Vec<(&str, &str)> = match party.kind {
        Kind::Signed => vec![("request", &object)],
        Kind::Mtls | Kind::Dpop => {
            request.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect()
        }
    };
    party.post(app, "/connect/par", &pairs, Some(assertion), None).await
}

#[tokio::test]
async fn fapi2_ensure_signed_client_assertion_with_rs256_fails() {
    let app = app().await;
    let mut browser = person(&app).await;
    for kind in KINDS {
        let key = ClientKey::of(Algorithm::Ps256);
        let party = Party::keyed(&app, kind, CALLBACK, key).await;
        let (callback, verifier) = party.authorize(&app, &mut browser, &[]).await;
        let form = party.code_form(&callback["code"], &verifier);
        // The same key, another algorithm.
        let assertion = party.assertion_by(&party.key.speaking(Algorithm::Rs256), &app, &json!({}));
        let answer = party.post(&app, "/connect/token", &form, Some(&assertion), Some(&party.holder)).await;
        refused(&answer, &["invalid_client"], "RS256");
        party.redeem(&app, &callback, &verifier).await;
    }
}

#[tokio::test]
async fn fapi2_ensure_client_assertion_in_token_endpoint() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let (callback, verifier) = one.authorize(&app, &mut browser, &[]).await;
        let mut form = one.code_form(&callback["code"], &verifier);
        form.push(("client_id", &one.id));
        let answer = one.post(&app, "/connect/token", &form, None, Some(&one.holder)).await;
        refused(&answer, &["invalid_client", "invalid_request"], "no assertion");
    }
}

#[tokio::test]
async fn fapi2_ensure_client_assertion_with_exp_is_5_minutes_in_past_fails() {
    is_refused_with(|now| json!({"iat": now - 360, "nbf": now - 360, "exp": now - 300})).await;
}

#[tokio::test]
async fn fapi2_ensure_client_assertion_with_wrong_aud_fails() {
    is_refused_with(|_| json!({"aud": "https://other.example.test"})).await;
}

#[tokio::test]
async fn fapi2_ensure_client_assertion_with_no_sub_fails() {
    is_refused_with(|_| json!({"sub": null})).await;
}

#[tokio::test]
async fn fapi2_par_ensure_jwt_client_assertions_nbf_8_seconds_in_the_future_is_accepted() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in &pairs {
        let soon = json!({"iat": now(&app) + 8, "nbf": now(&app) + 8});
        let answer = push_with(&app, one, &one.assertion(&app, &soon)).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
}

#[tokio::test]
async fn fapi2_par_ensure_jwt_client_assertions_nbf_over_60_seconds_in_the_future_fails() {
    is_refused_with(|now| json!({"iat": now + 62, "nbf": now + 62, "exp": now + 122})).await;
}

#[tokio::test]
async fn fapi2_par_test_array_as_audience_fails() {
    is_refused_with(|_| json!({"aud": [ISSUER]})).await;
}

#[tokio::test]
async fn fapi2_par_test_par_endpoint_url_as_audience_fails() {
    is_refused_with(|_| json!({"aud": format!("{ISSUER}/connect/par")})).await;
}

#[tokio::test]
async fn fapi2_par_test_token_endpoint_url_as_audience_fails() {
    is_refused_with(|_| json!({"aud": format!("{ISSUER}/connect/token")})).await;
}
