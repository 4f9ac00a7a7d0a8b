//! A client that does everything right, unless told otherwise.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use aws_lc_rs::digest;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{Method, Request, header};
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, Browser, Flow, TestApp, nothing};
use serde_json::{Value, json};

use super::{create, encode};

pub const CALLBACK: &str = "https://app.example.test/callback";

/// One registered client and what it sends.
#[derive(Debug, Clone)]
pub struct Relying {
    pub id: String,
    pub secret: Option<String>,
    pub redirect_uri: String,
}

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A new verifier each time, as a client should.
pub fn verifier() -> String {
    format!("{:0>43}", format!("v{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

pub fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes()))
}

impl Relying {
    /// A web application somebody has checked.
    pub async fn web(app: &TestApp) -> Self {
        Self::with(app, Trust::Verified, json!({})).await
    }

    /// The house's own console: it does what the person may.
    pub async fn console(app: &TestApp) -> Self {
        Self::with(app, Trust::FirstParty, json!({})).await
    }

    /// A web application with other metadata.
    pub async fn with(app: &TestApp, trust: Trust, more: Value) -> Self {
        let mut metadata = json!({
            "client_name": "Example",
            "redirect_uris": [CALLBACK],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "client_secret_post",
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            metadata[name] = value.clone();
        }
        let created = create(app, trust, &metadata).await;
        Self {
            id: created["client_id"].as_str().unwrap().to_owned(),
            secret: created["client_secret"].as_str().map(str::to_owned),
            redirect_uri: metadata["redirect_uris"][0].as_str().unwrap_or(CALLBACK).to_owned(),
        }
    }

    /// A public client.
    pub async fn public(app: &TestApp, trust: Trust) -> Self {
        Self::with(app, trust, json!({"token_endpoint_auth_method": "none"})).await
    }

    /// The query of an authorization request; `more` replaces, and an empty value leaves out.
    pub fn query(&self, verifier: &str, more: &[(&str, &str)]) -> String {
        let challenge = challenge(verifier);
        let mut pairs = vec![
            ("client_id", self.id.as_str()),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("response_type", "code"),
            ("scope", "openid"),
            ("state", "s-1"),
            ("nonce", "n-1"),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        for (name, value) in more {
            pairs.retain(|(known, _)| known != name);
            if !value.is_empty() {
                pairs.push((name, value));
            }
        }
        encode(&pairs)
    }

    pub fn path(&self, verifier: &str, more: &[(&str, &str)]) -> String {
        format!("/connect/authorize?{}", self.query(verifier, more))
    }

    /// Asks as a user agent that reads JSON.
    pub async fn ask(&self, browser: &mut Browser, verifier: &str, more: &[(&str, &str)]) -> Answer {
        get_json(browser, &self.path(verifier, more)).await
    }

    /// Through consent, in a browser that is signed in, to the code.
    pub async fn code(&self, browser: &mut Browser, more: &[(&str, &str)]) -> (String, String) {
        let verifier = verifier();
        let answer = self.ask(browser, &verifier, more).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let body = agree(browser, answer.json()).await;
        (parameter(&body, "code").unwrap_or_else(|| panic!("no code in {body}")), verifier)
    }

    pub async fn tokens(&self, browser: &mut Browser, app: &TestApp, more: &[(&str, &str)]) -> Value {
        let (code, verifier) = self.code(browser, more).await;
        let answer = self.redeem(app, &code, &verifier).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    pub async fn redeem(&self, app: &TestApp, code: &str, verifier: &str) -> Answer {
        let form = [("code", code), ("code_verifier", verifier), ("redirect_uri", &self.redirect_uri)];
        self.token(app, "authorization_code", &form).await
    }

    pub async fn refresh(&self, app: &TestApp, token: &str, more: &[(&str, &str)]) -> Answer {
        let form: Vec<_> = std::iter::once(("refresh_token", token)).chain(more.iter().copied()).collect();
        self.token(app, "refresh_token", &form).await
    }

    pub async fn token(&self, app: &TestApp, grant: &str, form: &[(&str, &str)]) -> Answer {
        self.call(app, "/connect/token", &[&[("grant_type", grant)], form].concat()).await
    }

    /// Any endpoint at which the client proves itself.
    pub async fn call(&self, app: &TestApp, path: &str, form: &[(&str, &str)]) -> Answer {
        let mut pairs = vec![("client_id", self.id.as_str())];
        if let Some(secret) = &self.secret {
            pairs.push(("client_secret", secret));
        }
        pairs.extend_from_slice(form);
        app.form(path, encode(&pairs)).await
    }
}

pub async fn get_json(browser: &mut Browser, path: &str) -> Answer {
    browser.headers.push(("accept", "application/json".into()));
    let answer = browser.get(path).await;
    browser.headers.pop();
    answer
}

/// Allows what is asked, if anything is.
pub async fn agree(browser: &mut Browser, body: Value) -> Value {
    if body["stage"] != "consent" {
        return body;
    }
    let mut flow = Flow::new(body);
    flow.act(browser, "consent/allow", nothing()).await;
    flow.now
}

/// A parameter of the answer that goes to the client.
pub fn parameter(body: &Value, name: &str) -> Option<String> {
    if let Some(fields) = body["continue"]["fields"].as_object() {
        return fields.get(name).and_then(Value::as_str).map(str::to_owned);
    }
    let uri = url::Url::parse(body["continue"]["uri"].as_str()?).ok()?;
    uri.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

pub async fn userinfo(app: &TestApp, token: &str) -> Answer {
    let request = Request::builder()
        .method(Method::GET)
        .uri("/connect/userinfo")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .body(axum::body::Body::empty());
    app.send(request.unwrap()).await
}

pub async fn person(app: &Arc<TestApp>) -> Browser {
    crate::people::register_with_password(app, "ana@example.test").await
}
