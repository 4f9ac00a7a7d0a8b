//! A session that rests on a replaced credential ends.

use std::sync::Arc;

use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::json;

use crate::people::{PASSWORD, app, enrol, enrol_totp, register_with_password, step_now};

/// Password and one-time code, in another browser.
async fn sign_in(app: &Arc<TestApp>, code: &str) -> Browser {
    app.forget_limits().await;
    let mut browser = Browser::new(app);
    let mut flow = browser.open(json!({"kind": "sign_in", "level": "aal2"})).await;
    let login = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut browser, "password/check", login).await;
    flow.act(&mut browser, "totp/check", json!({"code": code})).await;
    if flow.stage() != "complete" {
        flow.act(&mut browser, "enrol/skip", nothing()).await;
    }
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
    assert_eq!(browser.get("/v1/account").await.json()["assurance"]["have"], "aal2");
    browser
}

/// A person with a password, proved a moment ago.
async fn registered(app: &Arc<TestApp>) -> Browser {
    let mut browser = register_with_password(app, "ana@example.test").await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(flow.stage(), "complete");
    browser
}

/// As much as the account can prove, a moment ago.
async fn reauthenticate(app: &TestApp, browser: &mut Browser, code: &str) {
    app.forget_limits().await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(browser, "password/check", json!({"password": PASSWORD})).await;
    if flow.stage() != "complete" {
        flow.act(browser, "totp/check", json!({"code": code})).await;
    }
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
}

#[tokio::test]
async fn a_new_password_ends_a_session_of_the_old_one_and_a_second_factor() {
    let app = app().await;
    let mut owner = registered(&app).await;
    let secret = enrol_totp(&mut owner).await;
    // As if the codes of this moment had not been used: there are only three of them.
    app.sql("UPDATE credential SET counter = -1 WHERE kind = 'totp'").await;
    let mut thief = sign_in(&app, &secret.code(step_now(0))).await;
    reauthenticate(&app, &mut owner, &secret.code(step_now(1))).await;
    let mut flow = enrol(&mut owner, "password").await;
    let change = json!({"new_password": "another long password", "current_password": PASSWORD});
    flow.act(&mut owner, "password/set", change).await;
    assert_eq!(flow.stage(), "complete", "{}", flow.now);

    assert_eq!(thief.get("/v1/account").await.status, 401, "it rested on the old password, too");
    assert_eq!(owner.get("/v1/account").await.status, 200);
    let ended = "SELECT count(*) FROM session WHERE end_reason = 'credential_changed'";
    assert_eq!(app.count(ended).await, 1);
}

#[tokio::test]
async fn a_removed_second_factor_ends_the_sessions_it_raised() {
    let app = app().await;
    let mut owner = registered(&app).await;
    let secret = enrol_totp(&mut owner).await;
    // As if the codes of this moment had not been used: there are only three of them.
    app.sql("UPDATE credential SET counter = -1 WHERE kind = 'totp'").await;
    let mut thief = sign_in(&app, &secret.code(step_now(0))).await;
    reauthenticate(&app, &mut owner, &secret.code(step_now(1))).await;
    let all = owner.get("/v1/account/credentials").await.json();
    let totp = all["items"].as_array().unwrap().iter().find(|one| one["kind"] == "totp").unwrap();
    let path = format!("/v1/account/credentials/{}", totp["id"].as_str().unwrap());
    assert_eq!(owner.delete(&path).await.status, 204);
    assert_eq!(thief.get("/v1/account").await.status, 401, "it rested on what was removed");
    assert_eq!(owner.get("/v1/account").await.status, 200, "the session in which its owner did it goes on");
}
