//! Codes and refresh tokens: each good once, for its client, for what was granted.

use http::StatusCode;
use porteiro_protocol::time::Duration;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use super::{
    LEDGER, app,
    driver::{Relying, person, userinfo, verifier},
};

pub fn refused(answer: &Answer, error: &str) {
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (StatusCode::BAD_REQUEST, Some(error)),
        "{}",
        answer.text()
    );
}

fn text<'a>(tokens: &'a Value, name: &str) -> &'a str {
    tokens[name].as_str().unwrap_or_else(|| panic!("no {name} in {tokens}"))
}

async fn revoked(app: &TestApp) -> i64 {
    app.count("SELECT count(*) FROM oauth_grant WHERE revoked_at IS NOT NULL").await
}

#[tokio::test]
async fn a_code_presented_again_ends_everything_it_led_to() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let (code, verifier) = client.code(&mut browser, &[]).await;
    let tokens = client.redeem(&app, &code, &verifier).await.json();
    refused(&client.redeem(&app, &code, &verifier).await, "invalid_grant");
    refused(&client.refresh(&app, text(&tokens, "refresh_token"), &[]).await, "invalid_grant");
    assert_eq!(userinfo(&app, text(&tokens, "access_token")).await.status, 401);
    let log = app.count("SELECT count(*) FROM security_log WHERE kind = 'grant.reused'").await;
    assert_eq!((log, revoked(&app).await), (1, 1));
}

/// RFC 9700 §4.2.4 with OAuth 2.1 §7.5.2: a thief without the verifier must not end the victim's grant.
#[tokio::test]
async fn a_replay_that_is_not_valid_ends_nothing() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, other) = (Relying::web(&app).await, Relying::web(&app).await);
    let (code, right) = client.code(&mut browser, &[]).await;
    let tokens = client.redeem(&app, &code, &right).await.json();
    refused(&client.redeem(&app, &code, &verifier()).await, "invalid_grant");
    refused(&other.redeem(&app, &code, &right).await, "invalid_grant");
    assert_eq!(revoked(&app).await, 0);
    assert_eq!(client.refresh(&app, text(&tokens, "refresh_token"), &[]).await.status, 200);
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'grant.refused'").await, 1);
}

/// CVE-2023-48228, CVE-2024-23647: a verifier that may be left out is no verifier.
#[tokio::test]
async fn cve_2023_48228_a_code_opens_only_with_its_verifier() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let (code, right) = client.code(&mut browser, &[]).await;
    for form in [
        vec![("code", code.as_str())],
        vec![("code", &code), ("code_verifier", "")],
        vec![("code", &code), ("code_verifier", "short")],
        vec![("code", &code), ("code_verifier", &right[1..])],
    ] {
        refused(&client.token(&app, "authorization_code", &form).await, "invalid_grant");
    }
    assert_eq!(client.redeem(&app, &code, &right).await.status, 200);
}

#[tokio::test]
async fn a_code_lives_for_a_minute() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let (code, verifier) = client.code(&mut browser, &[]).await;
    app.sql("UPDATE oauth_grant SET expires_at = expires_at - interval '60 seconds'").await;
    refused(&client.redeem(&app, &code, &verifier).await, "invalid_grant");
    assert_eq!(revoked(&app).await, 0);
}

#[tokio::test]
async fn a_refresh_token_presented_again_ends_its_family() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let first = client.tokens(&mut browser, &app, &[]).await;
    let second = client.refresh(&app, text(&first, "refresh_token"), &[]).await.json();
    let third = client.refresh(&app, text(&second, "refresh_token"), &[]).await.json();
    refused(&client.refresh(&app, text(&first, "refresh_token"), &[]).await, "invalid_grant");
    refused(&client.refresh(&app, text(&third, "refresh_token"), &[]).await, "invalid_grant");
    assert_eq!(userinfo(&app, text(&third, "access_token")).await.status, 401);
}

#[tokio::test]
async fn a_refresh_may_narrow_and_never_widens() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let tokens = client
        .tokens(&mut browser, &app, &[("scope", "openid invoices:read invoices:write"), ("resource", LEDGER)])
        .await;
    let token = text(&tokens, "refresh_token");
    refused(&client.refresh(&app, token, &[("scope", "openid email")]).await, "invalid_scope");
    refused(&client.refresh(&app, token, &[("resource", "https://other.example")]).await, "invalid_target");
    refused(&client.refresh(&app, token, &[("scope", "a\"b")]).await, "invalid_scope");
    // None of that used the token up.
    let narrow = client.refresh(&app, token, &[("scope", "invoices:read")]).await.json();
    assert_eq!(narrow["scope"], "invoices:read");
    let wide = client.refresh(&app, text(&narrow, "refresh_token"), &[]).await.json();
    assert_eq!(wide["scope"], "openid invoices:read invoices:write");
}

#[tokio::test]
async fn tokens_belong_to_the_client_they_were_issued_to() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, other) = (Relying::web(&app).await, Relying::web(&app).await);
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    refused(&other.refresh(&app, text(&tokens, "refresh_token"), &[]).await, "invalid_grant");
    assert_eq!(client.refresh(&app, text(&tokens, "refresh_token"), &[]).await.status, 200);
}

/// CVE-2026-4282: what was made for one purpose is good for no other.
#[tokio::test]
async fn cve_2026_4282_no_artefact_passes_for_another() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let (code, verifier) = client.code(&mut browser, &[]).await;
    let pushed =
        client.call(&app, "/connect/par", &pairs(&client.query(&super::driver::verifier(), &[]))).await;
    let pushed = pushed.json()["request_uri"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let session = browser.session().unwrap().clone();
    refused(&client.refresh(&app, &code, &[]).await, "invalid_grant");
    for wrong in [&pushed, &session] {
        refused(&client.redeem(&app, wrong, &verifier).await, "invalid_grant");
        refused(&client.refresh(&app, wrong, &[]).await, "invalid_grant");
    }
    let tokens = client.redeem(&app, &code, &verifier).await.json();
    let token = text(&tokens, "refresh_token");
    refused(&client.redeem(&app, token, &verifier).await, "invalid_grant");
    assert_eq!(userinfo(&app, token).await.status, 401);
    let prefixed = format!("urn:ietf:params:oauth:request_uri:{token}");
    let query = super::encode(&[("client_id", &client.id), ("request_uri", &prefixed)]);
    assert_eq!(
        super::driver::get_json(&mut browser, &format!("/connect/authorize?{query}")).await.status,
        400
    );
    assert_eq!(client.refresh(&app, token, &[]).await.status, 200);
}

fn pairs(query: &str) -> Vec<(&str, &str)> {
    // What the driver encodes has nothing in it that decoding would change, but for these.
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(name, _)| *name != "client_id")
        .map(|(n, v)| (n, if n == "redirect_uri" { super::driver::CALLBACK } else { v }))
        .collect()
}

#[tokio::test]
async fn families_end_by_disuse_and_by_age_and_clients_that_did_not_ask_get_none() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let life = |what: &'static str| {
        let app = &app;
        async move { app.count(&format!("SELECT {what} FROM oauth_grant ORDER BY grant_id DESC LIMIT 1")).await }
    };
    let days = |seconds: i64| Duration::seconds(seconds).whole_days();
    // As long as a session may be unused, and no longer than its session lives.
    assert_eq!(days(life("idle_seconds::bigint").await), 7);
    let beyond = "SELECT count(*) FROM oauth_grant g JOIN session s USING (session_id, account_id)
                  WHERE g.ends_at > s.created_at + interval '30 days'";
    assert_eq!(app.count(beyond).await, 0);
    client.tokens(&mut browser, &app, &[("scope", "openid offline_access")]).await;
    assert_eq!(days(life("idle_seconds::bigint").await), 14);
    assert_eq!(days(life("extract(epoch FROM ends_at - created_at)::bigint").await), 30);
    app.sql("UPDATE oauth_grant SET expires_at = now()").await;
    refused(&client.refresh(&app, text(&tokens, "refresh_token"), &[]).await, "invalid_grant");

    let stranger = Relying::public(&app, Trust::Unverified).await;
    let tokens = stranger.tokens(&mut browser, &app, &[]).await;
    assert_eq!(days(life("idle_seconds::bigint").await), 3);
    assert_eq!(days(life("extract(epoch FROM ends_at - created_at)::bigint").await), 14);
    // Used every day, it ends all the same.
    app.sql("UPDATE oauth_grant SET ends_at = now() + interval '1 hour'").await;
    let next = stranger.refresh(&app, text(&tokens, "refresh_token"), &[]).await.json();
    assert!(life("extract(epoch FROM expires_at - now())::bigint").await <= 3600);
    app.sql("UPDATE oauth_grant SET expires_at = ends_at - interval '2 hours', ends_at = now()").await;
    refused(&stranger.refresh(&app, text(&next, "refresh_token"), &[]).await, "invalid_grant");

    let once = Relying::with(&app, Trust::Verified, json!({"grant_types": ["authorization_code"]})).await;
    let tokens = once.tokens(&mut browser, &app, &[]).await;
    assert!(tokens.get("refresh_token").is_none());
    assert_eq!(userinfo(&app, text(&tokens, "access_token")).await.status, 200);
    refused(&client.token(&app, "authorization_code", &[]).await, "invalid_request");
}
