//! No API takes the issuer's identifier or a reserved permission name.

use http::Method;
use porteiro_service::oauth::{
    apis::{self, Api},
    clients::Trust,
};
use porteiro_testkit::{ORIGIN, TestApp};
use serde_json::{Value, json};

use crate::{
    oauth::{
        self,
        driver::{Relying, agree, person, verifier},
        encode, service,
    },
    organizations::driver::{call, get, platform_key},
};

const APIS: &str = "/v1/platform/apis";

fn api(identifier: &str, scope: &str) -> Value {
    let scope = json!({"name": scope, "open_to_unverified": true, "description": {"en": "x", "pt": "x"}});
    json!({"identifier": identifier, "name": "Ours", "scopes": [scope]})
}

#[tokio::test]
async fn no_api_is_registered_under_the_issuer_however_it_is_spelt() {
    let app = TestApp::new().await;
    let key = platform_key(&app, &["platform.apis:*"]).await;
    for spelt in [
        ORIGIN,
        "https://id.example.test/",
        "HTTPS://ID.example.TEST",
        "https://id.example.test:443",
        "https://id.example.test./",
        "https://id.example.test//",
        "https://id.example.test/?",
    ] {
        let answer = call(&app, Method::POST, APIS, &key, Some(&api(spelt, "things:read")), &[]).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["code"].as_str()),
            (422, Some("field_invalid")),
            "{spelt}"
        );
    }
    assert_eq!(app.count("SELECT count(*) FROM api").await, 0);
    let beside = api("https://id.example.test/payroll", "things:read");
    assert_eq!(call(&app, Method::POST, APIS, &key, Some(&beside), &[]).await.status, 201);
}

#[tokio::test]
async fn no_api_names_a_scope_like_a_permission_of_ours_neither_at_first_nor_later() {
    let app = TestApp::new().await;
    let key = platform_key(&app, &["platform.apis:*"]).await;
    let elsewhere = "https://api.example.test";
    let own = [
        "platform.api-keys:write",
        "organizations:administer",
        "members:impersonate",
        "members:read",
        "members:*",
        "roles:delete",
        "account",
        "openid",
    ];
    for scope in own {
        let answer = call(&app, Method::POST, APIS, &key, Some(&api(elsewhere, scope)), &[]).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["code"].as_str()),
            (422, Some("field_invalid")),
            "{scope}"
        );
    }
    let made = call(&app, Method::POST, APIS, &key, Some(&api(elsewhere, "things:read")), &[]).await;
    let path = made.header("location").to_owned();
    for scope in own {
        let tag = get(&app, &path, &key).await.header("etag").to_owned();
        let changed =
            call(&app, Method::PUT, &path, &key, Some(&api(elsewhere, scope)), &[("if-match", &tag)]).await;
        assert_eq!(changed.status, 422, "{scope}: {}", changed.text());
    }
}

/// What an older binary stored, or a hand in the database.
async fn stored(app: &TestApp, api: Value) {
    let api: Api = serde_json::from_value(api).unwrap();
    apis::register(&app.app.store, &api).await.unwrap();
}

#[tokio::test]
async fn an_api_stored_under_the_issuer_gives_an_unverified_client_nothing() {
    let app = oauth::app().await;
    let mut browser = person(&app).await;
    let client = Relying::with(&app, Trust::Unverified, json!({})).await;
    let robot = service(&app, "client_secret_post", json!({})).await;
    let (id, secret) = (robot["client_id"].as_str().unwrap(), robot["client_secret"].as_str().unwrap());
    for scope in ["things:read", "platform.api-keys:write"] {
        stored(&app, api(ORIGIN, scope)).await;
        for more in [vec![("scope", scope)], vec![("scope", scope), ("resource", ORIGIN)]] {
            let answer = client.ask(&mut browser, &verifier(), &more).await;
            let body = agree(&mut browser, answer.json()).await;
            assert_eq!(body["error"], "invalid_scope", "{more:?}: {body}");
        }
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", id),
            ("client_secret", secret),
            ("scope", scope),
        ];
        let answer = app.form("/connect/token", encode(&form)).await.json();
        assert_eq!(answer["error"], "invalid_scope", "{scope}: {answer}");
    }
}

#[tokio::test]
async fn an_api_stored_with_a_permission_of_ours_gives_no_token_that_carries_it() {
    let app = oauth::app().await;
    stored(&app, api("https://api.example.test", "members:write")).await;
    let mut browser = person(&app).await;
    let client = Relying::with(&app, Trust::Unverified, json!({})).await;
    let asked = [("scope", "members:write"), ("resource", "https://api.example.test")];
    let answer = client.ask(&mut browser, &verifier(), &asked).await;
    let body = agree(&mut browser, answer.json()).await;
    assert_eq!(body["error"], "invalid_scope", "{body}");
}
