//! Strangers do not add rows without limit.

use std::sync::Arc;

use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Method, Request, header};
use porteiro_protocol::time::{Clock, Duration, OffsetDateTime};
use porteiro_service::oauth::{clients::Trust, registration};
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use crate::oauth::{
    app,
    driver::{CALLBACK, Relying, person},
    encode,
    signing::ClientKey,
};

const TOKEN: &str = "https://id.example.test/connect/token";

async fn buckets(app: &TestApp) -> i64 {
    app.count("SELECT count(*) FROM limit_bucket").await
}

#[tokio::test]
async fn a_presented_client_id_does_not_become_a_row() {
    let app = app().await;
    for number in 0..20 {
        let form = [("client_id", format!("nobody-{number}")), ("client_secret", "x".to_owned())];
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = app.form("/connect/token", encode(&form)).await;
        assert!(answer.status == 401 || answer.status == 429, "{}", answer.text());
    }
    assert!(buckets(&app).await <= 1, "{} buckets", buckets(&app).await);
}

#[tokio::test]
async fn a_presented_key_id_does_not_become_a_row() {
    let app = app().await;
    for number in 0..10_u32 {
        let credentials = STANDARD.encode(format!("pk_{number:026}:x"));
        let other = STANDARD.encode(format!("pt_key_{number:022}:x"));
        for credentials in [credentials, other] {
            let request = Request::post("/connect/token")
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header(header::AUTHORIZATION, format!("Basic {credentials}"))
                .body(Body::from("grant_type=client_credentials"));
            app.send(request.unwrap()).await;
        }
    }
    assert!(buckets(&app).await <= 1, "{} buckets", buckets(&app).await);
}

/// A token request with a fresh and good proof.
async fn proved(app: &TestApp, key: &ClientKey, form: &[(&str, &str)]) -> Answer {
    let now = app.clock.now().unix_timestamp();
    let proof = key.proof("POST", TOKEN, now, &json!({"nonce": app.app.secrets.nonce(now)}));
    let request = Request::post("/connect/token")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header("dpop", proof)
        .body(Body::from(encode(form)));
    app.send(request.unwrap()).await
}

async fn proofs(app: &TestApp) -> i64 {
    app.count("SELECT count(*) FROM proof_seen").await
}

#[tokio::test]
async fn a_proof_beside_a_junk_token_leaves_no_row() {
    let app = app().await;
    let client = Relying::public(&app, Trust::Unverified).await;
    let key = ClientKey::new();
    for (grant, name) in [("authorization_code", "code"), ("refresh_token", "refresh_token")] {
        for junk in ["", "junk", "pt_code_junk", "pt_rt_AAAA"] {
            let form = [("client_id", client.id.as_str()), ("grant_type", grant), (name, junk)];
            let answer = proved(&app, &key, &form).await;
            assert_eq!(answer.status, 400, "{}", answer.text());
        }
    }
    assert_eq!(proofs(&app).await, 0);
}

#[tokio::test]
async fn a_genuine_token_bears_so_many_proofs_and_no_more() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::public(&app, Trust::Unverified).await;
    let key = ClientKey::new();
    let (code, verifier) = client.code(&mut browser, &[]).await;
    let form = [
        ("client_id", client.id.as_str()),
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("code_verifier", &verifier),
        ("redirect_uri", CALLBACK),
    ];
    assert_eq!(proved(&app, &key, &form).await.status, 200);
    super::empty(&app, "true").await;
    assert_eq!(proved(&app, &key, &form).await.status, 429);
    assert_eq!(proofs(&app).await, 1);
}

#[tokio::test]
async fn a_proof_beside_a_token_that_is_bound_to_nothing_leaves_no_row() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::public(&app, Trust::Unverified).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let token = tokens["access_token"].as_str().unwrap();
    let (key, now) = (ClientKey::new(), app.clock.now().unix_timestamp());
    let claims =
        json!({"nonce": app.app.secrets.nonce(now), "ath": crate::oauth::signing::token_hash(token)});
    let proof = key.proof("GET", "https://id.example.test/connect/userinfo", now, &claims);
    let request = Request::get("/connect/userinfo")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header("dpop", proof)
        .body(Body::empty());
    assert_eq!(app.send(request.unwrap()).await.status, 200);
    assert_eq!(proofs(&app).await, 0);
}

async fn register(app: &TestApp) -> Answer {
    let metadata = json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none",
                          "grant_types": ["authorization_code", "refresh_token"]});
    app.json("/connect/register", &metadata).await
}

#[tokio::test]
async fn thousands_of_registrations_close_registration_for_nobody_else() {
    let app = app().await;
    app.sql(
        "INSERT INTO client (client_id, trust, profile, metadata, registration_hash, registered_from)
         SELECT 'flood-' || n, 'unverified', 'default',
                '{\"redirect_uris\": [], \"token_endpoint_auth_method\": \"none\"}', 'x', 'flood'
         FROM generate_series(1, 5000) AS n",
    )
    .await;
    for network in [30, 31] {
        let there = app.from_address([198, 51, 100, network]);
        assert_eq!(register(&there).await.status, 201);
        assert_eq!(register(&there).await.status, 201);
        let third = register(&there).await;
        assert_eq!(third.status, 429, "a share in a crowd: {}", third.text());
    }
    app.sql("UPDATE client SET last_used_at = now() WHERE client_id LIKE 'flood-%'").await;
    assert_eq!(register(&app.from_address([198, 51, 100, 30])).await.status, 201, "no crowd, no share");
}

#[tokio::test]
async fn one_ipv6_site_does_not_register_once_for_each_of_its_networks() {
    let app = app().await;
    let from = |site: u16, network: u16| {
        app.from_address(std::net::Ipv6Addr::new(0x2001, 0xdb8, site, network, 0, 0, 0, 1))
    };
    assert_eq!(register(&from(1, 1)).await.status, 201);
    super::empty(&app, "true").await;
    assert_eq!(register(&from(1, 2)).await.status, 429, "another /64 of the same /48");
    assert_eq!(register(&from(2, 1)).await.status, 201);
}

async fn living(app: &TestApp, id: &str) -> bool {
    let sql = format!("SELECT count(*) FROM client WHERE client_id = '{id}' AND disabled_at IS NULL");
    app.count(&sql).await == 1
}

async fn aged(app: &TestApp, created: &str, used: &str) -> String {
    let id = register(app).await.json()["client_id"].as_str().unwrap().to_owned();
    app.sql(&format!(
        "UPDATE client SET created_at = now() - interval '{created}',
                last_used_at = now() - nullif('{used}', '')::interval WHERE client_id = '{id}'"
    ))
    .await;
    id
}

#[tokio::test]
async fn self_registered_clients_that_are_not_used_end() {
    let app = app().await;
    let fresh = aged(&app, "23 hours", "").await;
    let unused = aged(&app, "25 hours", "").await;
    let busy = aged(&app, "300 days", "89 days").await;
    let idle = aged(&app, "300 days", "91 days").await;
    let trusted = aged(&app, "300 days", "91 days").await;
    app.sql(&format!("UPDATE client SET trust = 'verified' WHERE client_id = '{trusted}'")).await;
    let made = Relying::public(&app, Trust::Unverified).await.id;
    app.sql(&format!("UPDATE client SET created_at = now() - interval '1 year' WHERE client_id = '{made}'"))
        .await;

    assert_eq!(registration::expire(&app.app).await.unwrap(), 2);
    for (id, lives) in
        [(&fresh, true), (&unused, false), (&busy, true), (&idle, false), (&trusted, true), (&made, true)]
    {
        assert_eq!(living(&app, id).await, lives);
    }
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'client.expired'").await, 2);
    // Their rows go too: at once where nobody ever allowed it anything, else when no grant can live any more.
    let rows = "SELECT count(*) FROM client WHERE disabled_at IS NOT NULL";
    assert_eq!(app.count(rows).await, 2);
    app.sql("UPDATE client SET disabled_at = disabled_at - interval '2 hours'").await;
    registration::expire(&app.app).await.unwrap();
    assert_eq!(app.count(rows).await, 1);
    app.sql("UPDATE client SET disabled_at = disabled_at - interval '31 days'").await;
    registration::expire(&app.app).await.unwrap();
    assert_eq!(app.count(rows).await, 0);
}

async fn last_used(app: &TestApp, id: &str) -> Option<OffsetDateTime> {
    let client = app.database.client().await;
    client.query_one("SELECT last_used_at FROM client WHERE client_id = $1", &[&id]).await.unwrap().get(0)
}

#[tokio::test]
async fn use_is_remembered_when_tokens_are_issued_and_at_most_once_a_day() {
    let app: Arc<TestApp> = app().await;
    let mut browser = person(&app).await;
    let body: Value = register(&app).await.json();
    let id = body["client_id"].as_str().unwrap().to_owned();
    let client = Relying { id: id.clone(), secret: None, redirect_uri: CALLBACK.to_owned() };
    // Whoever registered it can ask as often as they like; that is not use.
    client.token(&app, "authorization_code", &[("code", "junk"), ("code_verifier", "x")]).await;
    assert_eq!(last_used(&app, &id).await, None);
    client.tokens(&mut browser, &app, &[]).await;
    let first = last_used(&app, &id).await.unwrap();
    client.tokens(&mut browser, &app, &[]).await;
    assert_eq!(last_used(&app, &id).await, Some(first));
    app.sql("UPDATE client SET last_used_at = now() - interval '25 hours'").await;
    app.app.directory.forget(&id);
    client.tokens(&mut browser, &app, &[]).await;
    assert!(last_used(&app, &id).await.unwrap() > first - Duration::HOUR);
}

#[tokio::test]
async fn replacing_a_registration_does_not_fill_the_log() {
    let app = app().await;
    let body: Value = register(&app).await.json();
    let replaced = replace(&app, &body).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    super::empty(&app, "true").await;
    let elsewhere = app.from_address([198, 51, 100, 40]);
    assert_eq!(replace(&elsewhere, &replaced.json()).await.status, 429);
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'client.changed'").await, 1);
}

async fn replace(app: &TestApp, registered: &Value) -> Answer {
    let (id, token) = (&registered["client_id"], &registered["registration_access_token"]);
    let metadata =
        json!({"client_id": id, "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"});
    let request = Request::builder()
        .method(Method::PUT)
        .uri(format!("/connect/register/{}", id.as_str().unwrap()))
        .header(header::AUTHORIZATION, format!("Bearer {}", token.as_str().unwrap()))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(metadata.to_string()));
    app.send(request.unwrap()).await
}
