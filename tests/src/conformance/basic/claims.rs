//! Scopes, the claims they bring, and userinfo.

use axum::body::Body;
use http::{Method, Request, header};
use porteiro_testkit::{Answer, TestApp, nothing};
use serde_json::{Value, json};

use super::{
    super::{list, metadata, text},
    MODES, Visit,
};
use crate::{
    oauth::{driver::userinfo, encode},
    people::PASSWORD,
};

/// As JSON, about the right person, and nothing blank.
fn is_userinfo(answer: &Answer, sub: &Value) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.header("content-type").starts_with("application/json"));
    let claims = answer.json();
    assert_eq!(claims["sub"], *sub);
    for (name, value) in claims.as_object().unwrap() {
        match name.as_str() {
            "email_verified" | "phone_number_verified" => assert!(value.is_boolean(), "{name}"),
            "updated_at" => assert!(value.as_i64().is_some_and(|at| at > 1_000_000_000), "{name}"),
            _ => assert!(value.as_str().is_some_and(|text| !text.trim().is_empty()), "{name}"),
        }
    }
    claims
}

async fn post(app: &TestApp, authorization: Option<&str>, form: Option<&str>) -> Answer {
    let mut request = Request::builder().method(Method::POST).uri("/connect/userinfo");
    if let Some(token) = authorization {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let request = match form {
        Some(token) => request
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(encode(&[("access_token", token)]))),
        None => request.body(Body::empty()),
    };
    app.send(request.unwrap()).await
}

#[tokio::test]
async fn oidcc_userinfo_get() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        let tokens = visit.tokens(mode, &[]).await;
        let sub = visit.id(&tokens).await["sub"].clone();
        is_userinfo(&userinfo(&visit.app, text(&tokens, "access_token")).await, &sub);
    }
}

#[tokio::test]
async fn oidcc_userinfo_post_header() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        let tokens = visit.tokens(mode, &[]).await;
        let sub = visit.id(&tokens).await["sub"].clone();
        is_userinfo(&post(&visit.app, Some(text(&tokens, "access_token")), None).await, &sub);
    }
}

#[tokio::test]
async fn oidcc_userinfo_post_body() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        let tokens = visit.tokens(mode, &[]).await;
        let sub = visit.id(&tokens).await["sub"].clone();
        is_userinfo(&post(&visit.app, None, Some(text(&tokens, "access_token"))).await, &sub);
    }
}

/// What userinfo says for a scope; the ID token says none of it.
async fn told(visit: &mut Visit, mode: &str, more: &[(&str, &str)]) -> Value {
    let tokens = visit.tokens(mode, more).await;
    let sub = visit.id(&tokens).await["sub"].clone();
    is_userinfo(&userinfo(&visit.app, text(&tokens, "access_token")).await, &sub)
}

fn names(claims: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = claims.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn oidcc_scope_profile() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        let claims = told(&mut visit, mode, &[("scope", "openid profile")]).await;
        for name in ["name", "locale", "updated_at"] {
            assert!(claims.get(name).is_some(), "{name}: {claims}");
        }
        assert!(claims.get("email").is_none());
    }
}

#[tokio::test]
async fn oidcc_scope_email() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        let claims = told(&mut visit, mode, &[("scope", "openid email")]).await;
        assert_eq!(names(&claims), ["email", "email_verified", "sub"]);
        assert_eq!((&claims["email"], &claims["email_verified"]), (&json!("ana@example.test"), &json!(true)));
    }
}

async fn add_phone(visit: &mut Visit) {
    let browser = &mut visit.browser;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(browser, "password/check", json!({"password": PASSWORD})).await;
    let mut flow = browser.open(json!({"kind": "enrol", "enrol": "phone"})).await;
    flow.act(browser, "phone/add", json!({"number": "+351912345678"})).await;
    let code = visit.app.texted_code("+351912345678").await;
    flow.act(browser, "phone/verify", json!({"code": code})).await;
    assert_eq!(flow.stage(), "complete");
    // From now on the phone is asked for at every sign-in (decision record 0085).
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let input = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(browser, "password/check", input).await;
    flow.act(browser, "sms_code/send", nothing()).await;
    let code = visit.app.texted_code("+351912345678").await;
    flow.act(browser, "sms_code/check", json!({"code": code})).await;
    if flow.stage() == "enrol" {
        flow.act(browser, "enrol/skip", nothing()).await;
    }
    assert_eq!(flow.stage(), "complete");
}

#[tokio::test]
async fn oidcc_scope_phone() {
    let mut visit = Visit::new().await;
    add_phone(&mut visit).await;
    for mode in MODES {
        let claims = told(&mut visit, mode, &[("scope", "openid phone")]).await;
        assert_eq!(names(&claims), ["phone_number", "phone_number_verified", "sub"]);
        assert_eq!(claims["phone_number"], "+351912345678");
    }
}

#[tokio::test]
async fn oidcc_alternate_happy_flow() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        // What is given goes to the end of the query: another order of parameters, too.
        let id = visit.client.id.clone();
        let claims = told(&mut visit, mode, &[("scope", "email openid"), ("client_id", &id)]).await;
        assert_eq!(claims["email"], "ana@example.test");
    }
}

#[tokio::test]
async fn oidcc_claims_essential() {
    let mut visit = Visit::new().await;
    let asked = r#"{"userinfo":{"name":{"essential":true}}}"#;
    for mode in MODES {
        // A claim belongs to a scope, which is what the person is asked about.
        let claims = told(&mut visit, mode, &[("claims", asked)]).await;
        assert!(claims.get("name").is_none(), "{claims}");
        let claims = told(&mut visit, mode, &[("claims", asked), ("scope", "openid profile")]).await;
        assert_eq!(claims["name"], "Ana");
    }
}

#[tokio::test]
async fn oidcc_scope_all() {
    let mut visit = Visit::new().await;
    add_phone(&mut visit).await;
    let document = metadata(&visit.app).await;
    let known = list(&document, "scopes_supported");
    let standard = ["openid", "profile", "email", "address", "phone"];
    let asked: Vec<&str> = standard.into_iter().filter(|scope| known.contains(scope)).collect();
    for mode in MODES {
        let claims = told(&mut visit, mode, &[("scope", &asked.join(" "))]).await;
        for name in list(&document, "claims_supported") {
            assert!(claims.get(name).is_some(), "{name} is announced and not told: {claims}");
        }
    }
}

/// Not served, so not announced, and refused rather than left out: the suite skips it.
#[tokio::test]
async fn oidcc_scope_address() {
    let mut visit = Visit::new().await;
    assert!(!list(&metadata(&visit.app).await, "scopes_supported").contains(&"address"));
    for mode in MODES {
        let (callback, _) = visit.silently(mode, &[("scope", "openid address")]).await;
        super::super::is_error(&callback, &["invalid_scope"], Some("s-1"));
    }
}
