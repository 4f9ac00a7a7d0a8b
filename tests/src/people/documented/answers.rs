//! Refusals, and the other transport.

use std::sync::Arc;

use axum::body::Body;
use http::Request;
use porteiro_testkit::{TestApp, Transcript, nothing, wrong_code};
use serde_json::{Value, json};

use super::{super::app, recorded};

const ANA: &str = "ana@example.test";

pub async fn all(transcript: &Transcript) {
    refused_stale_and_limited(transcript).await;
    cancelled(transcript).await;
    by_an_app(transcript).await;
}

async fn refused_stale_and_limited(transcript: &Transcript) {
    transcript.section("Refused, stale, too many");
    let app = app().await;
    let mut browser = recorded(&app, transcript);
    browser.transcript = None;
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    browser.transcript = Some(transcript.clone());
    transcript
        .say("A wrong code. The answer is the same whatever was wrong, and carries the flow as it is now:");
    let answer = flow.attempt(&mut browser, "email_code/check", json!({"code": wrong_code(&code)})).await;
    assert_eq!(answer.status, 422);
    transcript.say("A step that is over, as when two tabs press the button:");
    assert_eq!(flow.attempt(&mut browser, "flow/back", json!({"step": 1})).await.status, 409);
    transcript.say("A second mail within thirty seconds. Every limit answers like this:");
    let again = flow.attempt(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    assert_eq!(again.status, 429);
    transcript.say("What is not offered, whatever it is:");
    assert_eq!(flow.attempt(&mut browser, "enrol/skip", nothing()).await.status, 400);
    transcript.say("A field that can never be right:");
    let wrong = json!({"identifier": "not an address"});
    app.sql("UPDATE challenge SET created_at = created_at - interval '31 seconds'").await;
    assert_eq!(flow.attempt(&mut browser, "email_code/send", wrong).await.status, 422);
}

async fn cancelled(transcript: &Transcript) {
    transcript.section("Cancelling");
    let app = app().await;
    let mut browser = recorded(&app, transcript);
    browser.transcript = None;
    let mut flow = browser.open(json!({"kind": "recover"})).await;
    browser.transcript = Some(transcript.clone());
    assert_eq!(browser.delete(&format!("/v1/flows/{}", flow.id())).await.status, 200);
    assert_eq!(flow.attempt(&mut browser, "email_code/send", json!({"identifier": ANA})).await.status, 410);
}

/// An app: no cookies, no origin, a token that changes.
struct Native {
    app: Arc<TestApp>,
    transcript: Transcript,
    flow: Value,
}

impl Native {
    async fn call(&mut self, path: &str, body: &Value) -> u16 {
        let mut request = Request::post(path).header("content-type", "application/json");
        if let Some(token) = self.flow["auth_session"].as_str() {
            request = request.header("authorization", format!("Flow {token}"));
        }
        let request = request.body(Body::from(body.to_string())).unwrap();
        let headers = request.headers().clone();
        let answer = self.app.send(request).await;
        self.transcript.record("POST", path, &headers, Some(body), &answer);
        if answer.status.is_success() {
            self.flow = answer.json();
        }
        answer.status.as_u16()
    }

    async fn act(&mut self, action: &str, mut input: Value) {
        input["step"] = self.flow["step"].clone();
        let path = format!("/v1/flows/{}/{action}", self.flow["id"].as_str().unwrap());
        assert_eq!(self.call(&path, &input).await, 200, "{action}");
    }
}

async fn by_an_app(transcript: &Transcript) {
    transcript.section("By an app, without a browser");
    transcript.say(
        "Where `api_flows` is on. `auth_session` is new in every answer and the one before is dead. A request with a \
         `Cookie` or an `Origin` is refused.",
    );
    let app =
        Arc::new(TestApp::builder().people().settings(|settings| settings.api_flows = true).start().await);
    let mut native = Native { app: Arc::clone(&app), transcript: transcript.clone(), flow: Value::Null };
    let open = json!({"kind": "register", "transport": "api"});
    assert_eq!(native.call("/v1/flows", &open).await, 201);
    native.act("email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    native.act("email_code/check", json!({"code": code})).await;
    native.act("profile/set", json!({"display_name": "Ana"})).await;
    native.act("enrol/skip", nothing()).await;
    transcript.say("`session_token` is shown this once and goes where a browser would send its cookie:");
    let token = native.flow["continue"]["session_token"].as_str().unwrap().to_owned();
    let request = Request::get("/v1/account").header("authorization", format!("Session {token}"));
    let request = request.body(Body::empty()).unwrap();
    let headers = request.headers().clone();
    let answer = app.send(request).await;
    assert_eq!(answer.status, 200);
    transcript.record("GET", "/v1/account", &headers, None, &answer);
}
