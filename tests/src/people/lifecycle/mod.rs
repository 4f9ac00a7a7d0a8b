//! The life of an account: its name, what is stored about its owner, its end, and a recovery that the platform starts.

mod deletion;
mod erasure;
mod export;
mod gains;
mod owners;
mod profile;
mod recovery;
mod sources;
mod strangers;

use http::Method;
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::{Value, json};

use super::PASSWORD;

/// The person proves the password again.
async fn prove(app: &TestApp, browser: &mut Browser) {
    app.forget_limits().await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
}

/// Signs in with the password, in a new browser.
async fn sign_in(app: &std::sync::Arc<TestApp>, address: &str) -> Browser {
    app.forget_limits().await;
    let mut browser = Browser::new(app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "password/check", json!({"identifier": address, "password": PASSWORD})).await;
    if flow.offers().contains(&"enrol/skip") {
        flow.act(&mut browser, "enrol/skip", nothing()).await;
    }
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
    browser
}

/// Asks for the deletion and gives what was answered.
async fn delete(browser: &mut Browser) -> Value {
    let answer = browser.delete("/v1/account").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

async fn export(browser: &mut Browser) -> Value {
    let answer = browser.call(Method::POST, "/v1/account/export", None).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"account.json\"");
    answer.json()
}
