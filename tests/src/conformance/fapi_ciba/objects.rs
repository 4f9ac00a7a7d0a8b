//! Signed requests: complete, for us, now, by the client that sends them.

use super::*;

/// A request with these changes is refused; without them the same is taken.
async fn is_refused_with(changes: impl Fn(i64, &Party) -> Value) {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, two) in &pairs {
        let changes = changes(now(&app), two);
        let answer = one.ask(&app, &changes).await;
        refused(&answer, &["invalid_request"], &changes.to_string());
        one.asked(&app, &json!({})).await;
    }
}

/// A request that somebody else signed, or in another way, is refused.
async fn is_refused_signed(sign: impl Fn(&Party, &Party, &Value) -> String) {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, two) in &pairs {
        let object = sign(one, two, &one.claims(&app, &json!({})));
        let answer = one.call(&app, BACKCHANNEL, &[("request", &object)]).await;
        refused(&answer, &["invalid_request"], &object);
    }
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_aud_fails() {
    is_refused_with(|_, _| json!({"aud": null})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_bad_aud_fails() {
    is_refused_with(|_, _| json!({"aud": "https://other.example.test"})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_iss_fails() {
    is_refused_with(|_, _| json!({"iss": null})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_bad_iss_fails() {
    is_refused_with(|_, other| json!({"iss": other.id})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_exp_fails() {
    is_refused_with(|_, _| json!({"exp": null})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_expired_exp_fails() {
    is_refused_with(|now, _| json!({"exp": now - 300})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_exp_is_70_minutes_in_future_fails() {
    is_refused_with(|now, _| json!({"exp": now + 70 * 60})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_iat_fails() {
    is_refused_with(|_, _| json!({"iat": null})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_nbf_fails() {
    is_refused_with(|_, _| json!({"nbf": null})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_nbf_is_10_minutes_in_future_fails() {
    is_refused_with(|now, _| json!({"nbf": now + 600, "exp": now + 900})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_nbf_is_70_minutes_in_past_fails() {
    is_refused_with(|now, _| json!({"nbf": now - 70 * 60})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_jti_fails() {
    is_refused_with(|_, _| json!({"jti": null})).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signature_algorithm_is_none_fails() {
    is_refused_signed(|_, _, claims| {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.", encode(&json!({"alg": "none"})), encode(claims))
    })
    .await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signature_algorithm_is_bad_fails() {
    is_refused_signed(|one, _, claims| {
        let header = json!({"alg": "PS384", "typ": "oauth-authz-req+jwt", "kid": one.key.jwk()["kid"]});
        one.key.sign(&header, claims)
    })
    .await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signature_algorithm_is_rs256_fails() {
    // The same key, another algorithm.
    is_refused_signed(|one, _, claims| one.key.speaking(Algorithm::Rs256).request_object(claims)).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signed_by_other_client_fails() {
    is_refused_signed(|_, two, claims| two.key.request_object(claims)).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_unsigned_backchannel_authorization_request_fails() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in &pairs {
        let form = [("scope", "openid profile email"), ("login_hint", one.person.as_str())];
        refused(&one.call(&app, BACKCHANNEL, &form).await, &["invalid_request"], "unsigned");
    }
}
