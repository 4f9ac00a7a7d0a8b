//! Client credentials: a token for one API, with what was asked for and nothing else.

use http::StatusCode;
use porteiro_testkit::{Answer, TestApp, verify};
use serde_json::{Value, json};

use porteiro_service::oauth::clients::{self, Trust};

use super::{LEDGER, app, create, encode, service};

async fn ask(app: &TestApp, client: &Value, more: &[(&str, &str)]) -> Answer {
    let mut pairs = vec![
        ("grant_type", "client_credentials"),
        ("client_id", client["client_id"].as_str().unwrap()),
        ("client_secret", client["client_secret"].as_str().unwrap()),
    ];
    pairs.extend_from_slice(more);
    app.form("/connect/token", encode(&pairs)).await
}

#[tokio::test]
async fn the_token_says_exactly_what_was_asked() {
    let app = app().await;
    let client = service(&app, "client_secret_post", json!({})).await;
    let answer = ask(&app, &client, &[("scope", "invoices:read"), ("resource", LEDGER)]).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    assert_eq!(answer.header("cache-control"), "no-store");
    let body = answer.json();
    assert_eq!(
        (&body["token_type"], &body["expires_in"], &body["scope"]),
        (&json!("Bearer"), &json!(300), &json!("invoices:read"))
    );
    assert!(body.get("refresh_token").is_none());
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let claims = verify(body["access_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(claims["iss"], "https://id.example.test");
    assert_eq!(claims["aud"], LEDGER);
    assert_eq!(claims["sub"], client["client_id"]);
    assert_eq!(claims["client_id"], client["client_id"]);
    assert_eq!(claims["scope"], "invoices:read");
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 300);
    assert!(claims["jti"].is_string());
    assert!(claims.get("act").is_none() && claims.get("org").is_none());
}

#[tokio::test]
async fn more_than_held_is_refused_never_reduced() {
    let app = app().await;
    let narrow = service(&app, "client_secret_post", json!({"scope": "invoices:read"})).await;
    for (what, more, error) in [
        ("beyond what was registered", vec![("scope", "invoices:read invoices:write")], "invalid_scope"),
        ("a scope nobody has", vec![("scope", "no:such")], "invalid_scope"),
        ("a person's scope", vec![("scope", "openid")], "invalid_scope"),
        ("no scope", vec![], "invalid_scope"),
        (
            "another API",
            vec![("scope", "invoices:read"), ("resource", "https://other.example")],
            "invalid_target",
        ),
        ("an unreadable scope", vec![("scope", "a\"b")], "invalid_scope"),
    ] {
        let answer = ask(&app, &narrow, &more).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["error"].as_str()),
            (400, Some(error)),
            "{what}: {}",
            answer.text()
        );
    }
    let wide = service(&app, "client_secret_post", json!({})).await;
    assert_eq!(ask(&app, &wide, &[("scope", "invoices:write invoices:read")]).await.status, 200);
}

#[tokio::test]
async fn grants_that_do_not_exist_are_not_served() {
    let app = app().await;
    let client = service(&app, "client_secret_post", json!({})).await;
    for grant in ["password", "implicit", "urn:example:other"] {
        let form = [
            ("grant_type", grant),
            ("client_id", client["client_id"].as_str().unwrap()),
            ("client_secret", client["client_secret"].as_str().unwrap()),
        ];
        let answer = app.form("/connect/token", encode(&form)).await;
        assert_eq!(answer.json()["error"], "unsupported_grant_type");
    }
    for metadata in [
        json!({"grant_types": ["password"], "token_endpoint_auth_method": "client_secret_post"}),
        json!({"grant_types": ["client_credentials"], "token_endpoint_auth_method": "none"}),
        json!({"grant_types": ["client_credentials"], "token_endpoint_auth_method": "client_secret_jwt"}),
    ] {
        let made = clients::create(&app.app.store, &*app.app.entropy, &metadata, Trust::Verified).await;
        assert!(made.is_err(), "{metadata}");
    }
}

#[tokio::test]
async fn a_client_nobody_has_checked_gets_only_what_is_open_to_it() {
    let app = app().await;
    let metadata =
        json!({"grant_types": ["client_credentials"], "token_endpoint_auth_method": "client_secret_post"});
    let client = create(&app, Trust::Unverified, &metadata).await;
    assert_eq!(ask(&app, &client, &[("scope", "invoices:read")]).await.status, 200);
    let answer = ask(&app, &client, &[("scope", "invoices:write")]).await;
    assert_eq!(answer.json()["error"], "invalid_scope");
}

#[tokio::test]
async fn a_disabled_client_is_nobody() {
    let app = app().await;
    let client = service(&app, "client_secret_post", json!({})).await;
    assert!(clients::disable(&app.app.store, client["client_id"].as_str().unwrap()).await.unwrap());
    let answer = ask(&app, &client, &[("scope", "invoices:read")]).await;
    assert_eq!((answer.status.as_u16(), answer.json()["error"].as_str()), (401, Some("invalid_client")));
}

#[tokio::test]
async fn repeated_parameters_and_foreign_bodies_are_refused() {
    let app = app().await;
    let client = service(&app, "client_secret_post", json!({})).await;
    let good = encode(&[
        ("grant_type", "client_credentials"),
        ("client_id", client["client_id"].as_str().unwrap()),
        ("client_secret", client["client_secret"].as_str().unwrap()),
        ("scope", "invoices:read"),
    ]);
    let twice = app.form("/connect/token", format!("{good}&scope=invoices%3Aread")).await;
    assert_eq!((twice.status.as_u16(), twice.json()["error"].as_str()), (400, Some("invalid_request")));
    let typed = app.post("/connect/token", "application/json", "{}").await;
    assert_eq!((typed.status.as_u16(), typed.json()["error"].as_str()), (400, Some("invalid_request")));
    assert_eq!(app.form("/connect/token", good).await.status, 200);
}
