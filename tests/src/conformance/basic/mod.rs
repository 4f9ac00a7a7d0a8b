//! `oidcc-basic-certification-test-plan` and, with the answer posted, `oidcc-formpost-basic-certification-test-plan`. The
//! clients here always send PKCE, as ours must (docs/decisions/0021).

mod claims;
mod parameters;
mod sessions;
mod tokens;

use std::sync::Arc;

use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Request, header};
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use super::{Callback, arrived, id_token};
use crate::oauth::{
    app,
    driver::{Relying, agree, person, verifier},
    encode,
};

/// How the answer travels in the one plan and in the other.
const MODES: [&str; 2] = ["", "form_post"];

struct Visit {
    app: Arc<TestApp>,
    browser: Browser,
    client: Relying,
}

impl Visit {
    /// A person who is signed in, and a client that proves itself by `client_secret_basic`.
    async fn new() -> Self {
        let app = app().await;
        let browser = person(&app).await;
        let metadata = json!({"token_endpoint_auth_method": "client_secret_basic"});
        let client = Relying::with(&app, Trust::Verified, metadata).await;
        Self { app, browser, client }
    }

    /// What the endpoint says to a user agent.
    async fn ask(&mut self, mode: &str, more: &[(&str, &str)]) -> (Value, String) {
        let verifier = verifier();
        let more = [&[("response_mode", mode)], more].concat();
        let answer = self.client.ask(&mut self.browser, &verifier, &more).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        (answer.json(), verifier)
    }

    /// Through consent to the client.
    async fn come_back(&mut self, mode: &str, more: &[(&str, &str)]) -> (Callback, String) {
        let (body, verifier) = self.ask(mode, more).await;
        let body = agree(&mut self.browser, body).await;
        (arrived(&self.client.redirect_uri, mode, &body), verifier)
    }

    /// The callback of a request that must be answered without anybody being asked.
    async fn silently(&mut self, mode: &str, more: &[(&str, &str)]) -> (Callback, String) {
        let (body, verifier) = self.ask(mode, more).await;
        (arrived(&self.client.redirect_uri, mode, &body), verifier)
    }

    async fn redeem(&self, callback: &Callback, verifier: &str) -> Value {
        let answer = self.token(&code_form(&self.client, callback, verifier)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("cache-control"), "no-store");
        answer.json()
    }

    /// By `client_secret_basic`, each half encoded as a form (RFC 6749 §2.3.1).
    async fn token(&self, form: &[(&str, &str)]) -> Answer {
        token(&self.app, &self.client, form).await
    }

    async fn tokens(&mut self, mode: &str, more: &[(&str, &str)]) -> Value {
        let (callback, verifier) = self.come_back(mode, more).await;
        assert_eq!(callback.get("state").map(String::as_str), Some("s-1"));
        self.redeem(&callback, &verifier).await
    }

    async fn id(&self, tokens: &Value) -> Value {
        id_token(&self.app, tokens, &self.client.id, Some("n-1")).await
    }
}

fn code_form<'a>(client: &'a Relying, callback: &'a Callback, verifier: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("grant_type", "authorization_code"),
        ("code", callback.get("code").unwrap_or_else(|| panic!("no code in {callback:?}"))),
        ("code_verifier", verifier),
        ("redirect_uri", client.redirect_uri.as_str()),
    ]
}

async fn token(app: &TestApp, client: &Relying, form: &[(&str, &str)]) -> Answer {
    let half = |text: &str| encode(&[("v", text)]).split_off(2);
    let pair = format!("{}:{}", half(&client.id), half(client.secret.as_ref().unwrap()));
    let request = Request::post("/connect/token")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)))
        .body(Body::from(encode(form)));
    app.send(request.unwrap()).await
}

/// These parameters change nothing for the better or worse: the flow succeeds, both ways.
async fn succeeds_with(more: &[(&str, &str)]) {
    let mut visit = Visit::new().await;
    for mode in MODES {
        let tokens = visit.tokens(mode, more).await;
        visit.id(&tokens).await;
    }
}
