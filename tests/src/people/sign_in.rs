//! Signing in by mail: code and link, one challenge, consumed once, by the browser that began.

use http::Method;
use porteiro_testkit::{Browser, nothing};
use serde_json::json;

use super::{app, register};

#[tokio::test]
async fn by_mailed_code() {
    let app = app().await;
    register(&app, "ana@example.test").await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    assert_eq!(flow.stage(), "authenticate");
    assert_eq!(flow.now["account"], json!(null));
    flow.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    assert_eq!((flow.stage(), &flow.now["account"]), ("challenge", &json!(null)));
    let code = app.mailed_code("ana@example.test").await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    assert_eq!(flow.stage(), "enrol", "a passkey is offered to who has none");
    assert_eq!(flow.now["account"]["display_name"], "Ana");
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete");
    // A mailbox proves no NIST level.
    assert_eq!(browser.get("/v1/account").await.json()["assurance"]["have"], "none");
}

pub fn link_token(text: &str) -> String {
    let link = text.split_whitespace().find(|word| word.contains("/ui/link#")).expect("a link in the mail");
    link.rsplit('.').next().unwrap().trim_end_matches(['>', ')', '.']).to_owned()
}

/// A mail scanner fetches links, runs script and submits forms: in another browser all of it changes nothing.
#[tokio::test]
async fn a_link_is_consumed_only_by_the_browser_that_began() {
    let app = app().await;
    register(&app, "ana@example.test").await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let (_, text) = app.mail("ana@example.test").await;
    let token = link_token(&text);
    let path = format!("/v1/flows/{}/email_link/redeem", flow.id());

    let mut scanner = Browser::new(&app);
    scanner.open(json!({"kind": "sign_in"})).await;
    for method in [Method::GET, Method::HEAD] {
        assert_ne!(scanner.call(method, &path, None).await.status, 200);
    }
    let body = json!({"step": flow.now["step"], "token": token});
    assert_eq!(scanner.post(&path, &body).await.status, 404, "for another browser the flow does not exist");

    flow.act(&mut browser, "email_link/redeem", json!({"token": token})).await;
    assert_eq!(flow.stage(), "enrol");
    let again = flow.attempt(&mut browser, "email_link/redeem", json!({"token": token})).await;
    assert_eq!(again.status, 400);
}

#[tokio::test]
async fn asvs_6_6_2_a_code_answers_only_the_flow_and_the_sending_it_came_from() {
    let app = app().await;
    register(&app, "ana@example.test").await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    let mut first = browser.open(json!({"kind": "sign_in"})).await;
    first.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let old = app.mailed_code("ana@example.test").await;
    let mut second = browser.open(json!({"kind": "sign_in"})).await;
    second.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let new = app.mailed_code("ana@example.test").await;
    if old != new {
        assert_eq!(second.attempt(&mut browser, "email_code/check", json!({"code": old})).await.status, 422);
    }
    second.act(&mut browser, "email_code/check", json!({"code": new})).await;
    assert_eq!(second.stage(), "enrol");
}

#[tokio::test]
async fn an_expired_code_is_worthless_even_if_nothing_was_cleaned_up() {
    let app = app().await;
    register(&app, "ana@example.test").await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let code = app.mailed_code("ana@example.test").await;
    app.sql("UPDATE challenge SET expires_at = now()").await;
    assert_eq!(flow.attempt(&mut browser, "email_code/check", json!({"code": code})).await.status, 400);
}

#[tokio::test]
async fn an_expired_flow_accepts_nothing() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    for column in ["expires_at", "idle_expires_at"] {
        let mut flow = browser.open(json!({"kind": "sign_in"})).await;
        app.sql(&format!("UPDATE flow SET {column} = now()")).await;
        let answer =
            flow.attempt(&mut browser, "email_code/send", json!({"identifier": "a@example.test"})).await;
        assert_eq!((answer.status.as_u16(), answer.json()["code"].as_str()), (410, Some("flow_expired")));
        assert_eq!(flow.show(&mut browser).await.status, 410);
    }
}

#[tokio::test]
async fn sends_are_limited_in_a_flow_and_apart() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let to = json!({"identifier": "ana@example.test"});
    flow.act(&mut browser, "email_code/send", to.clone()).await;
    assert_eq!(
        flow.attempt(&mut browser, "email_code/send", to.clone()).await.status,
        429,
        "thirty seconds apart"
    );
    for expected in [200, 200, 429] {
        app.sql("UPDATE challenge SET created_at = created_at - interval '31 seconds'").await;
        let answer = flow.attempt(&mut browser, "email_code/send", to.clone()).await;
        assert_eq!(answer.status.as_u16(), expected, "three in a flow");
    }
}

#[tokio::test]
async fn every_new_sign_in_has_a_token_of_its_own_and_the_old_one_dies() {
    let app = app().await;
    let mut browser = register(&app, "ana@example.test").await;
    app.forget_limits().await;
    let before = browser.session().unwrap().clone();
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let code = app.mailed_code("ana@example.test").await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    let after = browser.session().unwrap().clone();
    assert_ne!(before, after);
    let mut thief = Browser::new(&app);
    thief.cookies.insert("__Host-session".into(), before);
    assert_eq!(thief.get("/v1/account").await.status, 401);
    assert_eq!(browser.get("/v1/account").await.status, 200);
}
