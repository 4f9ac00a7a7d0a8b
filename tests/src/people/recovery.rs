//! Recovery: a mailbox alone never replaces a second factor; with nothing left, it waits.

use porteiro_testkit::{Browser, Flow, TestApp, nothing};
use serde_json::json;

use super::{PASSWORD, app, generate_recovery_codes, register_with_passkey, register_with_password};

pub async fn recover(app: &TestApp, browser: &mut Browser, address: &str) -> Flow {
    app.forget_limits().await;
    let mut flow = browser.open(json!({"kind": "recover"})).await;
    flow.act(browser, "email_code/send", json!({"identifier": address})).await;
    let code = app.mailed_code(address).await;
    flow.act(browser, "email_code/check", json!({"code": code})).await;
    flow
}

#[tokio::test]
async fn a_forgotten_password_is_replaced_and_other_sessions_end() {
    let app = app().await;
    let mut old = register_with_password(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let mut flow = recover(&app, &mut browser, "ana@example.test").await;
    assert_eq!(flow.stage(), "enrol", "a new way in comes first");
    assert!(!flow.offers().contains(&"enrol/skip"));
    flow.act(&mut browser, "password/set", json!({"new_password": "a brand new password"})).await;
    assert_eq!(flow.stage(), "complete");
    assert_eq!(old.get("/v1/account").await.status, 401, "ended by the recovery");
    assert_eq!(browser.get("/v1/account").await.status, 200);
    let (subject, _) = app.mail("ana@example.test").await;
    assert!(!subject.is_empty(), "the owner is told");
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'account.recovered'").await, 1);
}

/// Keycloak CVE-2026-18963 and ASVS 6.4.3.
#[tokio::test]
async fn cve_2026_18963_recovery_does_not_bypass_a_second_factor() {
    let app = app().await;
    register_with_passkey(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let mut flow = recover(&app, &mut browser, "ana@example.test").await;
    assert_eq!(flow.stage(), "raise");
    for action in ["password/set", "passkey/enrol_begin", "enrol/skip", "profile/set", "email_code/check"] {
        let answer =
            flow.attempt(&mut browser, action, json!({"new_password": "a brand new password"})).await;
        assert_eq!(answer.status, 400, "{action}: {}", answer.text());
    }
    assert!(browser.session().is_none());
}

#[tokio::test]
async fn a_saved_code_backs_a_recovery() {
    let app = app().await;
    let mut browser = register_with_password(&app, "ana@example.test").await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    let codes = generate_recovery_codes(&mut browser).await;
    let mut other = Browser::new(&app);
    let mut flow = recover(&app, &mut other, "ana@example.test").await;
    assert_eq!(flow.stage(), "raise");
    flow.act(&mut other, "recovery_code/check", json!({"code": codes[0]})).await;
    assert_eq!(flow.stage(), "enrol");
    flow.act(&mut other, "password/set", json!({"new_password": "a brand new password"})).await;
    assert_eq!(flow.stage(), "complete");
}

#[tokio::test]
async fn with_nothing_left_it_waits_three_days_and_the_owner_can_stop_it() {
    let app = app().await;
    let (mut owner, mut authenticator) = register_with_passkey(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let mut flow = recover(&app, &mut browser, "ana@example.test").await;
    flow.act(&mut browser, "recovery/hold", nothing()).await;
    assert_eq!((flow.stage(), &flow.now["reason"]), ("denied", &json!("recovery_held")));
    let hours = app
        .count("SELECT round(extract(epoch FROM recovery_hold_until - now()) / 3600)::bigint FROM account")
        .await;
    assert_eq!(hours, 72);

    let again = recover(&app, &mut browser, "ana@example.test").await;
    assert_eq!(again.stage(), "raise", "the wait is not over, and asking again does not shorten it");
    assert!(!again.offers().contains(&"recovery/hold"));

    let mut reauthenticate = owner.open(json!({"kind": "reauthenticate"})).await;
    reauthenticate.act(&mut owner, "passkey/begin", nothing()).await;
    let response = authenticator.authenticate(&reauthenticate.now["challenge"]["public_key"]);
    reauthenticate.act(&mut owner, "passkey/finish", json!({"credential": response})).await;
    assert_eq!(owner.delete("/v1/account/recovery").await.status, 204);
    assert_eq!(app.count("SELECT count(*) FROM account WHERE recovery_hold_until IS NOT NULL").await, 0);
}

#[tokio::test]
async fn after_the_wait_a_new_way_in_is_bound() {
    let app = app().await;
    register_with_passkey(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let mut flow = recover(&app, &mut browser, "ana@example.test").await;
    flow.act(&mut browser, "recovery/hold", nothing()).await;
    app.sql("UPDATE account SET recovery_hold_until = now()").await;
    let mut flow = recover(&app, &mut browser, "ana@example.test").await;
    assert_eq!(flow.stage(), "enrol");
    flow.act(&mut browser, "password/set", json!({"new_password": "a brand new password"})).await;
    assert_eq!(flow.stage(), "complete");
    assert_eq!(app.count("SELECT count(*) FROM account WHERE recovery_hold_until IS NOT NULL").await, 0);
}

#[tokio::test]
async fn an_unknown_address_learns_so_only_in_its_own_mailbox() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "recover"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "nobody@example.test"})).await;
    assert_eq!(flow.stage(), "challenge");
    let (subject, _) = app.mail("nobody@example.test").await;
    assert!(!subject.chars().next().unwrap().is_ascii_digit(), "{subject}");
}

#[tokio::test]
async fn a_waiting_recovery_is_announced_again_every_day() {
    let app = app().await;
    register_with_passkey(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let mut flow = recover(&app, &mut browser, "ana@example.test").await;
    flow.act(&mut browser, "recovery/hold", nothing()).await;
    app.sql("DELETE FROM job").await;
    porteiro_service::flow::remind_of_holds(&app.app).await.unwrap();
    assert_eq!(app.mails("ana@example.test").await.len(), 1);
    app.sql("DELETE FROM job; UPDATE account SET recovery_hold_until = now()").await;
    assert_eq!(porteiro_service::flow::remind_of_holds(&app.app).await.unwrap(), 0);
}
