//! Registration: an address, a code, a name, and an account that did not exist a moment before.

use porteiro_testkit::{Browser, TestApp, nothing, wrong_code};
use serde_json::json;

use super::{app, register, register_to_enrolment, register_with_passkey};

#[tokio::test]
async fn an_account_exists_only_when_the_flow_completes() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = register_to_enrolment(&app, &mut browser, "ana@example.test").await;
    assert_eq!(app.count("SELECT count(*) FROM account").await, 0);
    assert!(browser.session().is_none());
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(app.count("SELECT count(*) FROM account WHERE state = 'active'").await, 1);
    assert_eq!(flow.now["continue"]["type"], "session");

    let account = browser.get("/v1/account").await;
    assert_eq!(account.json()["display_name"], "Ana");
    let kinds = app
        .count("SELECT count(*) FROM security_log WHERE kind IN ('account.created', 'sign_in.succeeded')")
        .await;
    assert_eq!(kinds, 2);
}

#[tokio::test]
async fn asvs_6_3_2_a_new_database_has_no_accounts() {
    let app = app().await;
    assert_eq!(app.count("SELECT count(*) FROM account").await, 0);
    assert_eq!(app.count("SELECT count(*) FROM credential").await, 0);
}

#[tokio::test]
async fn with_a_passkey_in_one_go() {
    let app = app().await;
    let (mut browser, mut authenticator) = register_with_passkey(&app, "ana@example.test").await;
    let credentials = browser.get("/v1/account/credentials").await.json();
    let kinds: Vec<&str> =
        credentials["items"].as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"passkey") && kinds.contains(&"email"), "{kinds:?}");

    let mut other = Browser::new(&app);
    let mut flow = other.open(json!({"kind": "sign_in"})).await;
    let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut other, "passkey/finish", json!({"credential": response})).await;
    assert_eq!(flow.stage(), "complete");
    assert_eq!(other.get("/v1/account").await.json()["assurance"]["have"], "aal2");
}

#[tokio::test]
async fn somebody_who_has_an_account_is_told_so_only_after_proving_the_mailbox() {
    let app = app().await;
    register(&app, "ana@example.test").await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "register"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "ANA@Example.test"})).await;
    assert_eq!(flow.now["notices"], json!([]));
    let code = app.mailed_code("ana@example.test").await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    assert_eq!(flow.now["kind"], "sign_in");
    assert!(flow.now["notices"].as_array().unwrap().contains(&json!("already_have_account")));
    assert_eq!(app.count("SELECT count(*) FROM account").await, 1);
}

#[tokio::test]
async fn closed_registration_creates_nobody() {
    let app = std::sync::Arc::new(
        TestApp::builder()
            .people()
            .settings(|settings| settings.registration = porteiro_service::settings::Registration::Closed)
            .start()
            .await,
    );
    let mut browser = Browser::new(&app);
    let refused = browser.post("/v1/flows", &json!({"kind": "register"})).await;
    assert_eq!(refused.status, 403);

    // An unknown address takes the ordinary path; its reader gets a note without a code.
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "nobody@example.test"})).await;
    assert_eq!(flow.stage(), "challenge");
    let (subject, text) = app.mail("nobody@example.test").await;
    assert!(!subject.chars().next().unwrap().is_ascii_digit(), "{subject}");
    assert!(!text.split_whitespace().any(|word| word.len() == 6 && word.bytes().all(|b| b.is_ascii_digit())));
}

#[tokio::test]
async fn two_people_cannot_take_one_address_at_once() {
    let app = app().await;
    let (mut first, mut second) = (Browser::new(&app), Browser::new(&app));
    let mut one = register_to_enrolment(&app, &mut first, "ana@example.test").await;
    app.forget_limits().await;
    let mut two = register_to_enrolment(&app, &mut second, "ana@example.test").await;
    one.act(&mut first, "enrol/skip", nothing()).await;
    assert_eq!(one.stage(), "complete");
    two.act(&mut second, "enrol/skip", nothing()).await;
    assert_eq!(two.stage(), "denied");
    assert_eq!(app.count("SELECT count(*) FROM account").await, 1);
}

#[tokio::test]
async fn a_wrong_code_is_counted_and_five_kill_the_challenge() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "register"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let code = app.mailed_code("ana@example.test").await;
    for _ in 0..5 {
        let answer = flow.attempt(&mut browser, "email_code/check", json!({"code": wrong_code(&code)})).await;
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert_eq!(answer.json()["code"], "refused");
    }
    let answer = flow.attempt(&mut browser, "email_code/check", json!({"code": code})).await;
    assert_eq!(answer.status, 400, "the right code comes too late: {}", answer.text());
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'proof.refused'").await, 5);
}

#[tokio::test]
async fn the_bootstrap_key_makes_one_administrator_even_while_registration_is_closed() {
    let app = std::sync::Arc::new(
        TestApp::builder()
            .people()
            .settings(|settings| settings.registration = porteiro_service::settings::Registration::Closed)
            .start()
            .await,
    );
    let armed = porteiro_service::bootstrap::arm(&app.app.store, &*app.app.entropy).await.unwrap();
    let porteiro_service::bootstrap::Armed::Key { key, .. } = armed else { panic!("no key") };
    let key = key.reveal().to_string();
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "register", "bootstrap_key": key})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "first@example.test"})).await;
    let code = app.mailed_code("first@example.test").await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    flow.act(&mut browser, "profile/set", json!({"display_name": "Root"})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete");
    assert_eq!(app.count("SELECT count(*) FROM account WHERE platform_administrator").await, 1);
    let mut second = Browser::new(&app);
    let again = second.post("/v1/flows", &json!({"kind": "register", "bootstrap_key": key})).await;
    assert_eq!(again.status, 422, "a spent key opens nothing");
}

#[tokio::test]
async fn a_registration_with_a_level_is_not_over_before_it_is_reached() {
    let app = app().await;
    for kind in ["register", "sign_in"] {
        app.forget_limits().await;
        let mut browser = Browser::new(&app);
        let mut flow = browser.open(json!({"kind": kind, "level": "aal2"})).await;
        flow.act(&mut browser, "email_code/send", json!({"identifier": "new@example.test"})).await;
        let code = app.mailed_code("new@example.test").await;
        flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
        flow.act(&mut browser, "profile/set", json!({"display_name": "Ana"})).await;
        assert_eq!(flow.stage(), "enrol", "{kind}");
        assert_eq!(flow.attempt(&mut browser, "enrol/skip", nothing()).await.status, 400, "{kind}");
        flow.act(&mut browser, "password/set", json!({"new_password": super::PASSWORD})).await;
        assert_eq!((flow.stage(), flow.offers().contains(&"password/set")), ("enrol", false), "{kind}");
        assert!(browser.session().is_none(), "{kind}");
    }
}
