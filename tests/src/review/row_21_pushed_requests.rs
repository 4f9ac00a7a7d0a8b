//! Pushed authorization requests are limited for every kind of client.

use http::Method;
use porteiro_service::oauth::{clients::Trust, pushed_authorization};
use porteiro_testkit::{Answer, Browser, Flow, TestApp, nothing};
use serde_json::{Value, json};

use crate::oauth::{
    app,
    driver::{CALLBACK, Relying, challenge, get_json, parameter, person, verifier},
    encode,
};

/// A confidential client that a stranger registers.
async fn stranger(app: &TestApp) -> Relying {
    let metadata = json!({"client_name": "Photo Printer", "redirect_uris": [CALLBACK],
                          "token_endpoint_auth_method": "client_secret_post"});
    let answer = app.json("/connect/register", &metadata).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let body: Value = answer.json();
    Relying {
        id: body["client_id"].as_str().unwrap().to_owned(),
        secret: body["client_secret"].as_str().map(str::to_owned),
        redirect_uri: CALLBACK.into(),
    }
}

async fn push(app: &TestApp, client: &Relying, verifier: &str, more: &[(&str, &str)]) -> Answer {
    let challenge = challenge(verifier);
    let mut form = vec![
        ("redirect_uri", CALLBACK),
        ("response_type", "code"),
        ("scope", "openid"),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
    ];
    form.extend_from_slice(more);
    client.call(app, "/connect/par", &form).await
}

async fn pushed(app: &TestApp, client: &Relying, verifier: &str) -> String {
    let answer = push(app, client, verifier, &[]).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let uri = answer.json()["request_uri"].as_str().unwrap().to_owned();
    format!("/connect/authorize?{}", encode(&[("client_id", &client.id), ("request_uri", &uri)]))
}

async fn rows(app: &TestApp) -> i64 {
    app.count("SELECT count(*) FROM pushed_request").await
}

async fn bytes(app: &TestApp) -> i64 {
    app.count("SELECT coalesce(sum(octet_length(request::text)), 0)::bigint FROM pushed_request").await
}

#[tokio::test]
async fn a_self_registered_confidential_client_is_limited_by_number() {
    let app = app().await;
    let (client, other) = (stranger(&app).await, stranger(&app).await);
    assert_eq!(push(&app, &client, &verifier(), &[]).await.status, 201);
    super::empty(&app, "true").await;
    assert_eq!(push(&app, &client, &verifier(), &[]).await.status, 429);
    assert_eq!(push(&app, &other, &verifier(), &[]).await.status, 429, "another client of the same network");
    assert_eq!(rows(&app).await, 1);
}

#[tokio::test]
async fn a_self_registered_confidential_client_is_limited_by_bytes() {
    let app = app().await;
    let client = stranger(&app).await;
    app.sql("DELETE FROM limit_bucket").await;
    let claims = format!(r#"{{"userinfo":{{"{}":null}}}}"#, "c".repeat(15_000));
    assert_eq!(push(&app, &client, &verifier(), &[("claims", &claims)]).await.status, 201);
    // Of 512 KiB, one a second: what was taken comes back no sooner.
    let taken = "SELECT count(*) FROM limit_bucket WHERE full_at > now() + interval '10 seconds'";
    assert_eq!(app.count(taken).await, 1, "{} bytes are not counted", bytes(&app).await);
    super::empty(&app, "full_at > now() + interval '10 seconds'").await;
    assert_eq!(push(&app, &client, &verifier(), &[]).await.status, 429);
}

#[tokio::test]
async fn many_networks_do_not_lift_the_limit_of_a_confidential_client() {
    let app = app().await;
    let client = stranger(&app).await;
    assert_eq!(push(&app, &client, &verifier(), &[]).await.status, 201);
    super::empty(&app, "true").await;
    let elsewhere = app.from_address([198, 51, 100, 9]);
    assert_eq!(push(&elsewhere, &client, &verifier(), &[]).await.status, 429);
    let other = stranger(&app.from_address([198, 51, 100, 10])).await;
    assert_eq!(
        push(&elsewhere, &other, &verifier(), &[]).await.status,
        201,
        "another client is not concerned"
    );
}

#[tokio::test]
async fn a_verified_client_is_limited_too_and_only_by_what_it_does_itself() {
    let app = app().await;
    let (busy, other) = (Relying::web(&app).await, Relying::web(&app).await);
    assert_eq!(push(&app, &busy, &verifier(), &[]).await.status, 201);
    super::empty(&app, "true").await;
    assert_eq!(push(&app, &busy, &verifier(), &[]).await.status, 429);
    assert_eq!(push(&app, &other, &verifier(), &[]).await.status, 201);
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused_before_it_is_kept() {
    let app = app().await;
    let client = Relying::web(&app).await;
    let claims = format!(r#"{{"userinfo":{{"{}":null}}}}"#, "c".repeat(16_000));
    let details = format!(r#"[{{"type":"{}"}}]"#, "d".repeat(16_000));
    let large = "x".repeat(4_000);
    let more = [("claims", claims.as_str()), ("authorization_details", &details), ("state", &large)];
    let answer = push(&app, &client, &verifier(), &more).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["error"]), (413, &json!("invalid_request")));
    assert_eq!(rows(&app).await, 0);
    let challenge = challenge(&verifier());
    let mut form = vec![("client_id", client.id.as_str()), ("code_challenge", &challenge)];
    form.extend_from_slice(&more);
    let answer = app.form("/connect/authorize", encode(&form)).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["error"]), (400, &json!("invalid_request")));
}

#[tokio::test]
async fn an_expired_request_is_gone_within_minutes() {
    let app = app().await;
    let client = Relying::web(&app).await;
    pushed(&app, &client, &verifier()).await;
    pushed(&app, &client, &verifier()).await;
    let every = app
        .count("SELECT count(*) FROM pushed_request WHERE kept_until <= now() + interval '90 seconds'")
        .await;
    assert_eq!(every, 2);
    app.sql("UPDATE pushed_request SET kept_until = now() - interval '1 second'").await;
    assert_eq!(pushed_authorization::sweep(&app.app.store).await.unwrap(), 2);
    assert_eq!(rows(&app).await, 0);
    let every = pushed_authorization::SWEEPING.every_seconds.unwrap();
    assert!(every(&app.app.checked.settings) <= 60);
}

#[tokio::test]
async fn a_request_is_kept_for_the_person_who_takes_their_time_and_no_longer() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let first = verifier();
    let path = pushed(&app, &client, &first).await;
    let mut flow = Flow::new(get_json(&mut browser, &path).await.json());
    assert_eq!(flow.stage(), "consent");
    app.sql("UPDATE pushed_request SET expires_at = now() - interval '20 minutes'").await;
    assert_eq!(pushed_authorization::sweep(&app.app.store).await.unwrap(), 0, "a flow leads back to it");
    flow.act(&mut browser, "consent/allow", nothing()).await;
    let code = parameter(&flow.now, "code").unwrap();
    assert_eq!(client.redeem(&app, &code, &first).await.status, 200);
    assert_eq!(rows(&app).await, 0, "a used request is gone at once");
    // Nothing keeps one for longer than a flow may take.
    let path = pushed(&app, &client, &verifier()).await;
    get_json(&mut Browser::new(&app), &path).await;
    let late = "SELECT count(*) FROM pushed_request WHERE kept_until > now() + interval '31 minutes'";
    assert_eq!((rows(&app).await, app.count(late).await), (1, 0));
}

async fn post(app: &TestApp, form: String) -> u16 {
    let request = http::Request::builder()
        .method(Method::POST)
        .uri("/connect/authorize")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("accept", "application/json")
        .body(axum::body::Body::from(form));
    app.send(request.unwrap()).await.status.as_u16()
}

#[tokio::test]
async fn flows_of_large_requests_are_limited_by_bytes() {
    let app = app().await;
    let client = Relying::public(&app, Trust::Unverified).await;
    let claims = format!(r#"{{"userinfo":{{"{}":null}}}}"#, "c".repeat(15_000));
    let large = || client.query(&verifier(), &[("claims", claims.as_str())]);
    assert_eq!(post(&app, large()).await, 200);
    super::empty(&app, "full_at > now() + interval '10 seconds'").await;
    assert_eq!(post(&app, large()).await, 429);
    assert_eq!(post(&app, client.query(&verifier(), &[])).await, 200, "ordinary ones are not concerned");
}
