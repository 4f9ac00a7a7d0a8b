//! Anonymous signature verification is bounded and off the async threads.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{jose::Algorithm, time::Clock};
use porteiro_service::oauth::{clients::Trust, verifying};
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use crate::oauth::{
    LEDGER, app,
    driver::{CALLBACK, Relying, challenge, verifier},
    encode,
    signing::ClientKey,
};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

fn object(app: &TestApp, client: &Relying) -> Value {
    let now = app.clock.now().unix_timestamp();
    json!({
        "iss": client.id, "aud": "https://id.example.test", "iat": now, "nbf": now, "exp": now + 300,
        "client_id": client.id, "redirect_uri": CALLBACK, "response_type": "code", "scope": "openid",
        "code_challenge": challenge(&verifier()), "code_challenge_method": "S256",
    })
}

async fn ask(app: &TestApp, client: &Relying, object: &str) -> Answer {
    let pairs = [("client_id", client.id.as_str()), ("response_type", "code"), ("request", object)];
    app.get(&format!("/connect/authorize?{}", encode(&pairs))).await
}

fn error(answer: &Answer) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    body["error"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn rsa_keys_beyond_4096_bits_are_not_registered() {
    let app = app().await;
    for (bytes, status) in [(512, 201), (513, 400), (1_024, 400)] {
        let key =
            json!({"kty": "RSA", "e": "AQAB", "n": URL_SAFE_NO_PAD.encode(vec![0xff_u8; bytes]), "kid": "a"});
        let metadata = json!({"redirect_uris": [CALLBACK], "jwks": {"keys": [key]},
                              "token_endpoint_auth_method": "private_key_jwt"});
        let answer = app.json("/connect/register", &metadata).await;
        assert_eq!(answer.status, status, "{bytes} bytes: {}", answer.text());
    }
}

#[tokio::test]
async fn where_a_client_has_several_keys_kid_is_needed() {
    let app = app().await;
    let (first, second) = (ClientKey::new(), ClientKey::new());
    let keys = json!({"keys": [first.jwk(), second.jwk()]});
    let client = Relying::with(&app, Trust::Verified, json!({"jwks": keys})).await;
    let unnamed = second.sign(&json!({"alg": "ES256"}), &object(&app, &client));
    assert_eq!(error(&ask(&app, &client, &unnamed).await), "invalid_request_object");
    let named = second.request_object(&object(&app, &client));
    assert_ne!(error(&ask(&app, &client, &named).await), "invalid_request_object");
    let alone = Relying::with(&app, Trust::Verified, json!({"jwks": second.jwks()})).await;
    let unnamed = second.sign(&json!({"alg": "ES256"}), &object(&app, &alone));
    assert_ne!(error(&ask(&app, &alone, &unnamed).await), "invalid_request_object", "one key needs no name");
}

#[tokio::test]
async fn request_objects_are_limited_by_network_before_they_are_verified() {
    let app = app().await;
    let (key, other) = (ClientKey::new(), ClientKey::new());
    let client = Relying::with(&app, Trust::Verified, json!({"jwks": key.jwks()})).await;
    let mut foreign = other.jwk();
    foreign["kid"] = key.jwk()["kid"].clone();
    let header = json!({"alg": "ES256", "kid": foreign["kid"]});
    let junk = other.sign(&header, &object(&app, &client));
    assert_eq!(error(&ask(&app, &client, &junk).await), "invalid_request_object");
    super::empty(&app, "true").await;
    assert_eq!(ask(&app, &client, &junk).await.status, 429);
    let good = key.request_object(&object(&app, &client));
    assert_eq!(ask(&app, &client, &good).await.status, 429, "not looked at");
    let elsewhere = app.from_address([198, 51, 100, 20]);
    assert_ne!(ask(&elsewhere, &client, &good).await.status, 429, "another network is not concerned");
}

#[tokio::test]
async fn unknown_clients_cost_no_verification_and_no_row() {
    let app = app().await;
    let key = ClientKey::new();
    let before = app.count("SELECT count(*) FROM limit_bucket").await;
    for number in 0..5 {
        let client =
            Relying { id: format!("nobody-{number}"), secret: None, redirect_uri: CALLBACK.to_owned() };
        let answer = ask(&app, &client, &key.request_object(&object(&app, &client))).await;
        assert_eq!(answer.status, 400);
    }
    assert_eq!(app.count("SELECT count(*) FROM limit_bucket").await, before);
}

struct Robot {
    id: String,
    key: ClientKey,
}

async fn robot(app: &TestApp, trust: Trust) -> Robot {
    let key = ClientKey::new();
    let grants = match trust {
        Trust::Unverified => json!(["authorization_code"]),
        Trust::Verified | Trust::FirstParty => json!(["client_credentials"]),
    };
    let metadata = json!({"redirect_uris": [CALLBACK], "grant_types": grants, "jwks": key.jwks(),
                          "token_endpoint_auth_method": "private_key_jwt"});
    let client = crate::oauth::create(app, trust, &metadata).await;
    Robot { id: client["client_id"].as_str().unwrap().to_owned(), key }
}

impl Robot {
    async fn present(&self, app: &TestApp, number: u32, by: &ClientKey) -> Answer {
        let now = app.clock.now().unix_timestamp();
        let claims = json!({"iss": self.id, "sub": self.id, "aud": "https://id.example.test",
                            "iat": now, "exp": now + 60, "jti": format!("jti-{number}")});
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": self.key.jwk()["kid"]});
        let form = [
            ("grant_type", "client_credentials"),
            ("scope", "invoices:read"),
            ("resource", LEDGER),
            ("client_assertion_type", ASSERTION),
            ("client_assertion", &by.sign(&header, &claims)),
        ];
        app.form("/connect/token", encode(&form)).await
    }
}

#[tokio::test]
async fn assertions_of_unverified_clients_are_limited_before_they_are_verified() {
    let app = app().await;
    let robot = robot(&app, Trust::Unverified).await;
    robot.present(&app, 1, &robot.key).await;
    super::empty(&app, "true").await;
    assert_eq!(robot.present(&app, 2, &robot.key).await.status, 429);
    assert_eq!(app.count("SELECT count(*) FROM assertion_seen").await, 1, "rows are bounded too");
}

#[tokio::test]
async fn wrong_assertions_for_a_verified_client_are_refused_unread_when_there_are_too_many() {
    let app = app().await;
    let (robot, stranger) = (robot(&app, Trust::Verified).await, ClientKey::new());
    assert_eq!(robot.present(&app, 1, &stranger).await.status, 401);
    // That of the network and the client: one every ten seconds.
    super::empty(&app, "full_at > now() + interval '5 seconds'").await;
    assert_eq!(robot.present(&app, 100, &stranger).await.status, 429);
    assert_eq!(robot.present(&app, 101, &robot.key).await.status, 429, "not even looked at");
    let elsewhere = app.from_address([198, 51, 100, 21]);
    assert_eq!(robot.present(&elsewhere, 102, &robot.key).await.status, 200);
}

#[tokio::test]
async fn a_verified_client_may_prove_itself_as_often_as_it_likes() {
    let app = app().await;
    let robot = robot(&app, Trust::Verified).await;
    assert_eq!(robot.present(&app, 1, &robot.key).await.status, 200);
    assert_eq!(app.count("SELECT count(*) FROM limit_bucket").await, 0, "it takes from nothing");
}

#[tokio::test]
async fn rsa_signatures_are_verified_beside_the_async_threads() {
    let here = std::thread::current().id();
    for algorithm in Algorithm::ALL {
        let header = URL_SAFE_NO_PAD.encode(json!({"alg": algorithm.as_str()}).to_string());
        let token = format!("{header}.e30.AA");
        let there = verifying::run(&token, || std::thread::current().id()).await.unwrap();
        assert_eq!(there != here, algorithm.is_slow(), "{algorithm}");
    }
}
