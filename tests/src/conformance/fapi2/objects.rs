//! Message Signing: the rules for request objects.

use super::*;

/// A request object with these claims, signed by the client.
async fn push_object(app: &TestApp, party: &Party, changes: &Value) -> Answer {
    let request = party.request(&verifier(), &[]);
    let object = party.key.request_object(&party.object(app, &request, changes));
    party.push_form(app, &[("request", &object)]).await
}

async fn is_taken(changes: impl Fn(i64) -> Value) {
    let Stage { app, mut browser, pairs } = Stage::of(&[Kind::Signed]).await;
    let (one, _) = &pairs[0];
    let answer = push_object(&app, one, &changes(now(&app))).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let uri = crate::conformance::text(&answer.json(), "request_uri").to_owned();
    assert!(one.visit(&app, &mut browser, &uri, &[]).await.contains_key("code"));
}

async fn is_refused(changes: impl Fn(i64) -> Value) {
    let Stage { app, pairs, .. } = Stage::of(&[Kind::Signed]).await;
    let changes = changes(now(&app));
    let answer = push_object(&app, &pairs[0].0, &changes).await;
    refused(&answer, &["invalid_request_object"], &changes.to_string());
}

#[tokio::test]
async fn fapi2_ensure_request_object_with_multiple_aud_succeeds() {
    is_taken(|_| json!({"aud": [ISSUER, "https://other.example.test"]})).await;
}

#[tokio::test]
async fn fapi2_ensure_request_object_with_nbf_8_seconds_in_the_future_is_accepted() {
    is_taken(|now| json!({"nbf": now + 8})).await;
}

#[tokio::test]
async fn fapi2_ensure_request_object_without_exp_fails() {
    is_refused(|_| json!({"exp": null})).await;
}

#[tokio::test]
async fn fapi2_ensure_request_object_without_nbf_fails() {
    is_refused(|_| json!({"nbf": null})).await;
}

#[tokio::test]
async fn fapi2_ensure_expired_request_object_fails() {
    is_refused(|now| json!({"nbf": now - 3_660, "exp": now - 3_600})).await;
}

#[tokio::test]
async fn fapi2_ensure_request_object_with_bad_aud_fails() {
    is_refused(|_| json!({"aud": "https://other.example.test"})).await;
}

#[tokio::test]
async fn fapi2_ensure_request_object_with_exp_over_60_fails() {
    is_refused(|now| json!({"exp": now + 4_200})).await;
}

#[tokio::test]
async fn fapi2_ensure_request_object_with_nbf_over_60_fails() {
    is_refused(|now| json!({"nbf": now - 4_200, "exp": now + 60})).await;
    // A difference that no number holds is not a small one.
    is_refused(|_| json!({"nbf": i64::MIN, "exp": i64::MAX})).await;
}

#[tokio::test]
async fn fapi2_par_authorization_request_containing_request_uri() {
    is_refused(|_| json!({"request_uri": "urn:ietf:params:oauth:request_uri:x"})).await;
}

#[tokio::test]
async fn fapi2_ensure_signed_request_object_with_rs256_fails() {
    let app = app().await;
    let party = Party::keyed(&app, Kind::Signed, CALLBACK, ClientKey::of(Algorithm::Ps256)).await;
    let claims = party.object(&app, &party.request(&verifier(), &[]), &json!({}));
    let object = party.key.speaking(Algorithm::Rs256).request_object(&claims);
    let answer = party.push_form(&app, &[("request", &object)]).await;
    refused(&answer, &["invalid_request_object"], "RS256");
    let answer = party.push_form(&app, &[("request", &party.key.request_object(&claims))]).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

#[tokio::test]
async fn fapi2_ensure_request_object_signature_algorithm_is_not_none() {
    let Stage { app, pairs, .. } = Stage::of(&[Kind::Signed]).await;
    let (one, _) = &pairs[0];
    let claims = one.object(&app, &one.request(&verifier(), &[]), &json!({}));
    let signed = one.key.request_object(&claims);
    let none = one.key.sign(&json!({"alg": "none"}), &claims);
    let none = none.rsplit_once('.').map(|(rest, _)| format!("{rest}.")).unwrap();
    refused(&one.push_form(&app, &[("request", &none)]).await, &["invalid_request_object"], "none");
    assert_eq!(one.push_form(&app, &[("request", &signed)]).await.status, 201);
}

#[tokio::test]
async fn fapi2_ensure_request_object_with_invalid_signature_fails() {
    let Stage { app, pairs, .. } = Stage::of(&[Kind::Signed]).await;
    let (one, _) = &pairs[0];
    let claims = one.object(&app, &one.request(&verifier(), &[]), &json!({}));
    let (one_object, other) = (
        one.key.request_object(&claims),
        one.key.request_object(&changed(claims, &json!({"state": "other"}))),
    );
    // The signature of another object of the same client.
    let broken = format!("{}.{}", one_object.rsplit_once('.').unwrap().0, other.rsplit_once('.').unwrap().1);
    refused(&one.push_form(&app, &[("request", &broken)]).await, &["invalid_request_object"], "broken");
}

#[tokio::test]
async fn fapi2_ensure_matching_key_in_authorization_request() {
    let Stage { app, pairs, .. } = Stage::of(&[Kind::Signed]).await;
    let (one, two) = &pairs[0];
    let object = two.key.request_object(&one.object(&app, &one.request(&verifier(), &[]), &json!({})));
    refused(
        &one.push_form(&app, &[("request", &object)]).await,
        &["invalid_request_object"],
        "another's key",
    );
}

#[tokio::test]
async fn fapi2_ensure_unsigned_request_at_par_endpoint_fails() {
    let Stage { app, pairs, .. } = Stage::of(&[Kind::Signed]).await;
    let (one, _) = &pairs[0];
    let request = one.request(&verifier(), &[]);
    let parameters: Vec<(&str, &str)> =
        request.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
    refused(&one.push_form(&app, &parameters).await, &["invalid_request"], "unsigned");
}
