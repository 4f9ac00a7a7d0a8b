//! `oidcc-rp-initiated-logout-certification-test-plan`.

use std::sync::Arc;

use axum::body::Body;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Request;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use super::{ISSUER, metadata, text};
use crate::oauth::{
    app,
    driver::{Relying, parameter, person, verifier},
    encode,
    signing::ClientKey,
};

const AFTER: &str = "https://app.example.test/post_logout_redirect";

struct Leaving {
    app: Arc<TestApp>,
    browser: Browser,
    client: Relying,
    hint: String,
}

impl Leaving {
    /// A person who signed in at a client, which holds an ID token.
    async fn new() -> Self {
        let app = app().await;
        let mut browser = person(&app).await;
        let client =
            Relying::with(&app, Trust::Verified, json!({"post_logout_redirect_uris": [AFTER]})).await;
        let tokens = client.tokens(&mut browser, &app, &[]).await;
        let hint = text(&tokens, "id_token").to_owned();
        Self { app, browser, client, hint }
    }

    async fn go(&mut self, pairs: &[(&str, &str)]) -> Answer {
        self.browser.get(&format!("/connect/logout?{}", encode(pairs))).await
    }

    /// Whether the session is still there, as the suite asks: silently.
    async fn is_signed_in(&mut self) -> bool {
        let answer = self.client.ask(&mut self.browser, &verifier(), &[("prompt", "none")]).await.json();
        let error = parameter(&answer, "error");
        assert!(error.as_deref().is_none_or(|error| error == "login_required"), "{answer}");
        error.is_none()
    }

    /// Refused, and nobody is sent anywhere or signed out.
    async fn stays(&mut self, pairs: &[(&str, &str)]) {
        let answer = self.go(pairs).await;
        assert_eq!((answer.status.as_u16(), answer.header("location")), (400, ""), "{}", answer.text());
        assert!(self.is_signed_in().await);
    }

    /// A page asks first; after a yes, another one says that it is done.
    async fn asks_then_says_so(&mut self, pairs: &[(&str, &str)]) {
        let page = self.go(pairs).await;
        assert_eq!((page.status.as_u16(), page.header("location")), (200, ""));
        let token = page
            .text()
            .split("name=\"confirm\" value=\"")
            .nth(1)
            .map(|rest| rest.split('"').next().unwrap().to_owned());
        let token = token.unwrap_or_else(|| panic!("no form in {}", page.text()));
        // As a browser posts a form of our own page.
        let cookies: Vec<String> =
            self.browser.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::post("/connect/logout")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", ISSUER)
            .header("cookie", cookies.join("; "))
            .body(Body::from(encode(&[("confirm", &token)])));
        let done = self.app.send(request.unwrap()).await;
        assert_eq!((done.status.as_u16(), done.header("location")), (200, ""));
        assert!(done.text().contains("signed out"), "{}", done.text());
        assert!(!self.is_signed_in().await);
    }
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_discovery_endpoint_verification() {
    let app = app().await;
    let document = metadata(&app).await;
    assert_eq!(document["end_session_endpoint"], "https://id.example.test/connect/logout");
}

#[tokio::test]
async fn oidcc_rp_initiated_logout() {
    let mut leaving = Leaving::new().await;
    let hint = leaving.hint.clone();
    let answer =
        leaving.go(&[("id_token_hint", &hint), ("post_logout_redirect_uri", AFTER), ("state", "bye")]).await;
    assert_eq!(answer.header("location"), format!("{AFTER}?state=bye"));
    assert!(!leaving.is_signed_in().await);
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_no_state() {
    let mut leaving = Leaving::new().await;
    let hint = leaving.hint.clone();
    let answer = leaving.go(&[("id_token_hint", &hint), ("post_logout_redirect_uri", AFTER)]).await;
    assert_eq!(answer.header("location"), AFTER);
    assert!(!leaving.is_signed_in().await);
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_bad_post_logout_redirect_uri() {
    let mut leaving = Leaving::new().await;
    let hint = leaving.hint.clone();
    let other = "https://app.example.test/elsewhere";
    leaving.stays(&[("id_token_hint", &hint), ("post_logout_redirect_uri", other), ("state", "x")]).await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_query_added_to_post_logout_redirect_uri() {
    let mut leaving = Leaving::new().await;
    let hint = leaving.hint.clone();
    let more = format!("{AFTER}?foo=bar");
    leaving.stays(&[("id_token_hint", &hint), ("post_logout_redirect_uri", &more), ("state", "x")]).await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_modified_id_token_hint() {
    let mut leaving = Leaving::new().await;
    let payload = leaving.hint.split('.').nth(1).unwrap().to_owned();
    let none = format!("{}.{payload}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#));
    leaving.stays(&[("id_token_hint", &none), ("post_logout_redirect_uri", AFTER), ("state", "x")]).await;
}

/// The same claims, under the same key id, signed by somebody else.
#[tokio::test]
async fn oidcc_rp_initiated_logout_bad_id_token_hint() {
    let mut leaving = Leaving::new().await;
    let payload = URL_SAFE_NO_PAD.decode(leaving.hint.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&payload).unwrap();
    let mut header = super::header_of(&leaving.hint);
    header["alg"] = json!("ES256");
    for header in [header, json!({"alg": "ES256"})] {
        let forged = ClientKey::new().sign(&header, &claims);
        leaving
            .stays(&[("id_token_hint", &forged), ("post_logout_redirect_uri", AFTER), ("state", "x")])
            .await;
    }
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_no_id_token_hint() {
    let mut leaving = Leaving::new().await;
    leaving.stays(&[("post_logout_redirect_uri", AFTER), ("state", "x")]).await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_no_params() {
    Leaving::new().await.asks_then_says_so(&[]).await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_only_state() {
    Leaving::new().await.asks_then_says_so(&[("state", "x")]).await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_no_post_logout_redirect_uri() {
    let mut leaving = Leaving::new().await;
    let hint = leaving.hint.clone();
    let page = leaving.go(&[("id_token_hint", &hint)]).await;
    assert_eq!((page.status.as_u16(), page.header("location")), (200, ""));
    assert!(page.text().contains("signed out"), "{}", page.text());
    assert!(!leaving.is_signed_in().await);
}
