//! The platform starts a recovery. Its owner, and nobody else, finishes it.

use http::Method;
use porteiro_protocol::id::AccountId;
use porteiro_testkit::{Answer, Browser, TestApp, nothing};
use serde_json::json;

use super::super::{app, register_with_passkey};
use crate::organizations::driver::{account_of, call, get, platform_key};

async fn start(app: &TestApp, key: &str, account: AccountId) -> Answer {
    let path = format!("/v1/platform/accounts/{account}/start-recovery");
    call(app, Method::POST, &path, key, Some(&json!({"reason": "lost phone, ticket 7"})), &[]).await
}

#[tokio::test]
async fn a_recovery_that_the_platform_starts_waits_and_is_finished_by_its_owner() {
    let app = app().await;
    let (mut ana, _) = register_with_passkey(&app, "ana@example.test").await;
    let account = account_of(&mut ana).await;
    let key = platform_key(&app, &["platform.accounts:write"]).await;
    let answer = start(&app, &key, account).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told: Vec<String> = answer.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(told, ["recovery_hold_until"], "no link, code or secret");
    let activity = ana.get("/v1/account/activity").await.text();
    assert!(activity.contains("recovery"), "{activity}");
    assert!(
        !activity.contains("ticket 7") && !activity.contains("\"by\""),
        "what the platform notes is its own: {activity}"
    );
    let hours = "SELECT round(extract(epoch FROM recovery_hold_until - now()) / 3600)::bigint FROM account";
    assert_eq!(app.count(hours).await, 72);
    let (subject, text) = app.mail("ana@example.test").await;
    assert_eq!(subject, "An administrator started the recovery of your account");
    assert!(!text.contains("https://"), "{text}");
    assert_eq!(ana.get("/v1/account").await.status, 200, "nothing ended");

    // Again: neither longer nor shorter, and no second mail.
    let mails = app.mails("ana@example.test").await.len();
    let again = start(&app, &key, account).await;
    assert_eq!(again.json(), answer.json());
    assert_eq!(app.mails("ana@example.test").await.len(), mails);
    let log = platform_key(&app, &["platform.log:read"]).await;
    let path = format!("/v1/platform/security-log?subject={account}&kind=account.administered");
    let noted = get(&app, &path, &log).await.json();
    let noted: Vec<_> = noted["items"].as_array().unwrap().iter().map(|one| &one["reason"]).collect();
    assert_eq!(noted, [&json!("lost phone, ticket 7")]);

    // The mailbox alone does nothing before the time, and afterwards binds a new way in.
    for (over, stage) in [(false, "raise"), (true, "enrol")] {
        if over {
            app.sql("UPDATE account SET recovery_hold_until = now()").await;
        }
        app.forget_limits().await;
        let mut browser = Browser::new(&app);
        let mut flow = browser.open(json!({"kind": "recover"})).await;
        flow.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
        let code = app.mailed_code("ana@example.test").await;
        flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
        assert_eq!(flow.stage(), stage);
    }
}

#[tokio::test]
async fn the_owner_stops_it_by_signing_in() {
    let app = app().await;
    let (mut ana, mut authenticator) = register_with_passkey(&app, "ana@example.test").await;
    let account = account_of(&mut ana).await;
    let key = platform_key(&app, &["platform.accounts:write"]).await;
    assert_eq!(start(&app, &key, account).await.status, 200);
    let mut flow = ana.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut ana, "passkey/begin", nothing()).await;
    let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut ana, "passkey/finish", json!({"credential": response})).await;
    assert_eq!(app.count("SELECT count(*) FROM account WHERE recovery_hold_until IS NOT NULL").await, 0);
}

#[tokio::test]
async fn a_recovery_is_not_started_for_nobody_nor_again_and_again() {
    let app = app().await;
    let (mut ana, _) = register_with_passkey(&app, "ana@example.test").await;
    let account = account_of(&mut ana).await;
    let key = platform_key(&app, &["platform.accounts:write"]).await;
    let reader = platform_key(&app, &["platform.accounts:read"]).await;
    assert_eq!(start(&app, &reader, account).await.status, 403);
    let path = format!("/v1/platform/accounts/{account}/start-recovery");
    for body in [json!({}), json!({"reason": " "}), json!({"reason": "x", "address": "mallory@example.test"})]
    {
        let answer = call(&app, Method::POST, &path, &key, Some(&body), &[]).await;
        assert!(matches!(answer.status.as_u16(), 400 | 422), "{body}: {}", answer.text());
    }
    let unknown: AccountId = "00000000-0000-4000-8000-000000000001".parse().unwrap();
    assert_eq!(start(&app, &key, unknown).await.status, 404);
    app.sql("UPDATE account SET state = 'disabled'").await;
    assert_eq!(start(&app, &key, account).await.status, 409);
    app.sql("UPDATE account SET state = 'active'; DELETE FROM credential WHERE kind = 'email'").await;
    assert_eq!(start(&app, &key, account).await.status, 409);
    assert_eq!(start(&app, &key, account).await.status, 409);
    let limited = start(&app, &key, account).await;
    assert_eq!(limited.status, 429, "{}", limited.text());
    assert_eq!(app.count("SELECT count(*) FROM account WHERE recovery_hold_until IS NOT NULL").await, 0);
}
