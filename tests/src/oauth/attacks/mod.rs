//! Attacks that a review of the finished server found, each of which worked then.

mod beyond_consent;
mod beyond_life;

use axum::body::Body;
use http::{Method, Request, header};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use super::driver::{CALLBACK, Relying, challenge};

pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

pub async fn send_json(app: &TestApp, method: Method, path: &str, auth: &str, body: &Value) -> Value {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, auth)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()));
    let answer = app.send(request.unwrap()).await;
    assert!(answer.status.is_success(), "{}", answer.text());
    answer.json()
}

/// A stranger that registered itself, and its registration token.
pub async fn stranger(app: &TestApp, more: Value) -> (Relying, Value) {
    let mut metadata = json!({
        "client_name": "Calculator",
        "redirect_uris": [CALLBACK],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "client_secret_post",
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        metadata[name] = value.clone();
    }
    let answer = app.json("/connect/register", &metadata).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let body = answer.json();
    let client = Relying {
        id: text(&body, "client_id").to_owned(),
        secret: body["client_secret"].as_str().map(str::to_owned),
        redirect_uri: CALLBACK.to_owned(),
    };
    let token = body["registration_access_token"].clone();
    metadata["client_id"] = json!(client.id);
    (client, json!({"token": token, "metadata": metadata}))
}

/// A request object that is good.
pub fn object(app: &TestApp, client: &Relying, verifier: &str) -> Value {
    let now = app.app.clock.now().unix_timestamp();
    json!({
        "iss": client.id, "aud": "https://id.example.test", "iat": now, "nbf": now, "exp": now + 300,
        "client_id": client.id, "redirect_uri": CALLBACK, "response_type": "code", "scope": "openid",
        "code_challenge": challenge(verifier), "code_challenge_method": "S256",
    })
}
