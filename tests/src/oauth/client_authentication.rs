//! Client authentication: exactly the registered way, exactly once.

use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::Request;
use porteiro_protocol::{
    jose::{Algorithm, Header, SigningKey, generate_pkcs8, signing_input},
    time::Clock,
};
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use super::{LEDGER, app, encode, service};

const GRANT: [(&str, &str); 3] =
    [("grant_type", "client_credentials"), ("scope", "invoices:read"), ("resource", LEDGER)];

async fn token(app: &TestApp, authorization: Option<String>, more: &[(&str, &str)]) -> Answer {
    let mut request =
        Request::post("/connect/token").header("content-type", "application/x-www-form-urlencoded");
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    let pairs: Vec<(&str, &str)> = GRANT.iter().chain(more).copied().collect();
    app.send(request.body(Body::from(encode(&pairs))).unwrap()).await
}

fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}

fn text<'a>(client: &'a Value, name: &str) -> &'a str {
    client[name].as_str().unwrap()
}

#[tokio::test]
async fn each_method_works_and_only_for_who_registered_it() {
    let app = app().await;
    let by_header = service(&app, "client_secret_basic", json!({})).await;
    let by_form = service(&app, "client_secret_post", json!({})).await;
    let (id, secret) = (text(&by_header, "client_id"), text(&by_header, "client_secret"));
    assert_eq!(token(&app, Some(basic(id, secret)), &[]).await.status, 200);
    let (other_id, other_secret) = (text(&by_form, "client_id"), text(&by_form, "client_secret"));
    let form = [("client_id", other_id), ("client_secret", other_secret)];
    assert_eq!(token(&app, None, &form).await.status, 200);

    for (what, authorization, form) in [
        ("basic client in the form", None, vec![("client_id", id), ("client_secret", secret)]),
        ("post client in the header", Some(basic(other_id, other_secret)), vec![]),
        ("wrong secret", Some(basic(id, other_secret)), vec![]),
        ("no secret", None, vec![("client_id", id)]),
        ("unknown client", Some(basic("nobody", secret)), vec![]),
        ("junk", Some("Basic !!!".into()), vec![]),
    ] {
        let answer = token(&app, authorization, &form).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["error"].as_str()),
            (401, Some("invalid_client")),
            "{what}"
        );
    }
    let both = token(&app, Some(basic(id, secret)), &[("client_id", id), ("client_secret", secret)]).await;
    assert_eq!((both.status.as_u16(), both.json()["error"].as_str()), (400, Some("invalid_request")));
    let challenged = token(&app, Some(basic(id, "wrong")), &[]).await;
    assert!(challenged.header("www-authenticate").starts_with("Basic"));
}

#[tokio::test]
async fn a_secret_in_the_address_is_ignored() {
    let app = app().await;
    let client = service(&app, "client_secret_post", json!({})).await;
    let query = encode(&[
        ("client_id", text(&client, "client_id")),
        ("client_secret", text(&client, "client_secret")),
    ]);
    let answer = app.form(&format!("/connect/token?{query}"), encode(&GRANT)).await;
    assert_eq!(answer.status, 401);
    assert_eq!(app.get("/connect/token").await.status, 405);
}

struct Robot {
    id: String,
    key: SigningKey,
}

async fn robot(app: &TestApp) -> Robot {
    robot_with(app, json!({})).await
}

async fn robot_with(app: &TestApp, mut more: Value) -> Robot {
    let key = SigningKey::from_pkcs8(Algorithm::Es256, &generate_pkcs8(Algorithm::Es256).unwrap()).unwrap();
    if more.get("jwks_uri").is_none() {
        more["jwks"] = json!({"keys": [key.public()]});
    }
    let client = service(app, "private_key_jwt", more).await;
    assert!(client["client_secret"].is_null());
    Robot { id: text(&client, "client_id").to_owned(), key }
}

impl Robot {
    fn claims(&self, app: &TestApp, jti: &str) -> Value {
        let now = app.clock.now().unix_timestamp();
        json!({"iss": self.id, "sub": self.id, "aud": "https://id.example.test", "iat": now, "exp": now + 60, "jti": jti})
    }

    fn sign(&self, claims: &Value) -> String {
        use base64::engine::general_purpose::URL_SAFE_NO_PAD;
        let header = Header { typ: "JWT", alg: Algorithm::Es256, kid: &self.key.public().kid };
        let input = signing_input(&header, claims).unwrap();
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(input.as_bytes()).unwrap());
        format!("{input}.{signature}")
    }

    async fn present(&self, app: &TestApp, assertion: &str) -> u16 {
        let form = [
            ("client_id", self.id.as_str()),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", assertion),
        ];
        token(app, None, &form).await.status.as_u16()
    }
}

#[tokio::test]
async fn a_signed_assertion_proves_a_client_once() {
    let app = app().await;
    let robot = robot(&app).await;
    let assertion = robot.sign(&robot.claims(&app, "one"));
    assert_eq!(robot.present(&app, &assertion).await, 200);
    assert_eq!(robot.present(&app, &assertion).await, 401, "a replay");
    assert_eq!(robot.present(&app, &robot.sign(&robot.claims(&app, "two"))).await, 200);
}

#[tokio::test]
async fn f_jti_of_many_replays_at_once_one_succeeds() {
    let app = app().await;
    let robot = std::sync::Arc::new(robot(&app).await);
    let assertion = robot.sign(&robot.claims(&app, "race"));
    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (app, robot, assertion) = (app.clone(), robot.clone(), assertion.clone());
        racing.spawn(async move { robot.present(&app, &assertion).await == 200 });
    }
    assert_eq!(racing.join_all().await.into_iter().filter(|won| *won).count(), 1);
}

#[tokio::test]
async fn an_assertion_for_somebody_else_or_another_time_is_refused() {
    let app = app().await;
    let (robot, other) = (robot(&app).await, robot(&app).await);
    let now = app.clock.now().unix_timestamp();
    for (what, member, value) in [
        ("another issuer", "iss", json!(other.id)),
        ("another audience", "aud", json!("https://evil.example")),
        ("an array of audiences", "aud", json!(["https://id.example.test"])),
        ("a longer audience", "aud", json!("https://id.example.test/")),
        ("expired", "exp", json!(now - 1)),
        ("too long", "exp", json!(now + 3_600)),
        ("no expiry", "exp", json!(null)),
        ("from the future", "iat", json!(now + 60)),
        ("not yet", "nbf", json!(now + 60)),
        ("no id", "jti", json!(null)),
        ("empty id", "jti", json!("")),
    ] {
        let mut claims = robot.claims(&app, what);
        claims[member] = value;
        assert_eq!(robot.present(&app, &robot.sign(&claims)).await, 401, "{what}");
    }
    let foreign = other.sign(&robot.claims(&app, "signed by another"));
    assert_eq!(robot.present(&app, &foreign).await, 401);
    let mut near = robot.claims(&app, "a clock a little ahead");
    near["iat"] = json!(now + 8);
    assert_eq!(robot.present(&app, &robot.sign(&near)).await, 200);
    let mut endpoint = robot.claims(&app, "the endpoint as audience");
    endpoint["aud"] = json!("https://id.example.test/connect/token");
    assert_eq!(robot.present(&app, &robot.sign(&endpoint)).await, 200);
}

#[tokio::test]
async fn only_the_registered_algorithm_is_taken() {
    let app = app().await;
    for (registered, status) in [("PS256", 401), ("ES256", 200)] {
        let robot = robot_with(&app, json!({"token_endpoint_auth_signing_alg": registered})).await;
        assert_eq!(
            robot.present(&app, &robot.sign(&robot.claims(&app, "own"))).await,
            status,
            "{registered}"
        );
    }
}

/// Keycloak CVE-2026-1180, Zitadel CVE-2026-27945: a client's key address made the server call its own network.
#[tokio::test]
async fn cve_2026_1180_a_key_address_never_reaches_a_private_host() {
    let app = app().await;
    let recorder = crate::fetch::Recorder::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let uri = format!("https://{host}:{}/jwks", recorder.port);
        let robot = robot_with(&app, json!({"jwks_uri": uri})).await;
        assert_eq!(robot.present(&app, &robot.sign(&robot.claims(&app, host))).await, 503, "{host}");
    }
    assert!(recorder.heard().is_empty(), "{:?}", recorder.heard());
}
