//! NUL characters are refused at the edge.

use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Request, header};
use porteiro_protocol::time::Clock;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, TestApp};
use serde_json::json;

use crate::oauth::{
    app,
    driver::{CALLBACK, Relying, challenge, verifier},
    encode,
    signing::ClientKey,
};

fn is_invalid_request(what: &str, answer: &Answer) {
    assert_eq!(
        (answer.status.as_u16(), answer.json()["error"].as_str()),
        (400, Some("invalid_request")),
        "{what}: {}",
        answer.text()
    );
}

#[tokio::test]
async fn nul_in_a_form_field_is_an_invalid_request() {
    let app = app().await;
    let client = Relying::web(&app).await;
    let secret = client.secret.clone().unwrap();
    for path in [
        "/connect/token",
        "/connect/par",
        "/connect/device",
        "/connect/revoke",
        "/connect/introspect",
        "/connect/challenge",
        "/connect/authorize",
        "/connect/logout",
    ] {
        for name in ["client_id", "scope", "state", "token", "code", "organization", "id_token_hint"] {
            let mut pairs = vec![("client_id", client.id.as_str()), ("client_secret", &secret)];
            pairs.retain(|(known, _)| *known != name);
            pairs.push((name, "a\0b"));
            is_invalid_request(&format!("{path} {name}"), &app.form(path, encode(&pairs)).await);
        }
    }
}

#[tokio::test]
async fn nul_in_a_query_is_an_invalid_request() {
    let app = app().await;
    let client = Relying::web(&app).await;
    for name in ["client_id", "scope", "state", "organization", "login_hint", "request_uri", "nonce"] {
        let path = client.path(&verifier(), &[(name, "a\0b")]);
        is_invalid_request(name, &app.get(&path).await);
        let path = format!("/connect/logout?{}", encode(&[(name, "a\0b")]));
        is_invalid_request(name, &app.get(&path).await);
    }
}

#[tokio::test]
async fn nul_in_a_path_is_refused_before_it_is_looked_for() {
    let app = app().await;
    for path in [
        "/connect/register/a%00b",
        "/v1/branding/clients/a%00b/c",
        "/v1/branding/organizations/%00/%00",
        "/v1/flows/%00",
        "/v1/organizations/a%00b",
        "/v1/platform/clients/%00",
        "/nowhere/%00",
    ] {
        assert_eq!(app.get(path).await.status, 400, "{path}");
    }
}

#[tokio::test]
async fn nul_in_json_is_refused_however_it_is_written() {
    let app = app().await;
    for (path, body) in [
        ("/v1/flows", r#"{"kind":"sign_in","locale":"e\u0000n"}"#),
        ("/v1/flows", r#"{"kind":"sign_in","\u0000":1}"#),
        ("/connect/register", r#"{"redirect_uris":["https://a.example/"],"client_name":"a\u0000b"}"#),
        ("/connect/register", r#"{"redirect_uris":["https://a.example/"],"jwks":{"keys":[{"\u0000":1}]}}"#),
    ] {
        let answer = app.post(path, "application/json", body).await;
        assert_eq!(answer.status, 400, "{path} {body}: {}", answer.text());
    }
}

async fn basic(app: &TestApp, credentials: &str) -> Answer {
    let request = Request::post("/connect/token")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::AUTHORIZATION, format!("Basic {}", STANDARD.encode(credentials)))
        .body(Body::from("grant_type=client_credentials"));
    app.send(request.unwrap()).await
}

#[tokio::test]
async fn nul_in_credentials_is_a_failed_authentication() {
    let app = app().await;
    for credentials in ["a%00b:c", "a\0b:c", "a:b%00c", "pt_key_\0:x"] {
        assert_eq!(basic(&app, credentials).await.status, 401, "{credentials:?}");
    }
    let key = ClientKey::new();
    let claims = json!({"iss": "a\0b", "sub": "a\0b", "aud": "https://id.example.test"});
    let form = [
        ("grant_type", "client_credentials"),
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ("client_assertion", &key.typed("JWT", &claims)),
    ];
    let answer = app.form("/connect/token", encode(&form)).await;
    assert_eq!(answer.status, 401, "{}", answer.text());
}

#[tokio::test]
async fn nul_in_what_a_client_signs_is_an_invalid_request_object() {
    let app = app().await;
    let key = ClientKey::new();
    let client = Relying::with(&app, Trust::Verified, json!({"jwks": key.jwks()})).await;
    let now = app.clock.now().unix_timestamp();
    for name in ["state", "nonce", "login_hint", "scope", "organization", "client_id"] {
        let mut claims = json!({
            "iss": client.id, "aud": "https://id.example.test", "iat": now, "nbf": now, "exp": now + 300,
            "client_id": client.id, "redirect_uri": CALLBACK, "response_type": "code", "scope": "openid",
            "code_challenge": challenge(&verifier()), "code_challenge_method": "S256",
        });
        claims[name] = json!("a\0b");
        let object = key.request_object(&claims);
        let query = encode(&[("client_id", &client.id), ("response_type", "code"), ("request", &object)]);
        let answer = app.get(&format!("/connect/authorize?{query}")).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["error"].as_str()),
            (400, Some("invalid_request_object")),
            "{name}"
        );
        let pushed = client.call(&app, "/connect/par", &[("request", &object)]).await;
        assert_eq!(pushed.status, 400, "{name}: {}", pushed.text());
    }
}
