//! Ways an attacker with one mailbox, one stale cookie or good timing might take an account over. None may work.

use std::sync::Arc;

use porteiro_testkit::{Browser, Flow, TestApp, VirtualAuthenticator, nothing, wrong_code};
use serde_json::json;

use super::{
    PASSWORD, app, enrol, enrol_totp, register, register_to_enrolment, register_with_passkey,
    register_with_password,
};

async fn recover(app: &TestApp, browser: &mut Browser, address: &str) -> Flow {
    app.forget_limits().await;
    let mut flow = browser.open(json!({"kind": "recover"})).await;
    flow.act(browser, "email_code/send", json!({"identifier": address})).await;
    let code = app.mailed_code(address).await;
    flow.act(browser, "email_code/check", json!({"code": code})).await;
    flow
}

/// Signed in with a password proof of this minute.
async fn fresh(app: &Arc<TestApp>) -> Browser {
    let mut browser = register_with_password(app, "ana@example.test").await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    browser
}

async fn bind_passkey(flow: &mut Flow, browser: &mut Browser) -> u16 {
    let mut authenticator = VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    let begun = flow.attempt(browser, "passkey/enrol_begin", nothing()).await;
    if begun.status != 200 {
        return begun.status.as_u16();
    }
    let response = authenticator.register(&flow.now["challenge"]["public_key"]);
    flow.attempt(browser, "passkey/enrol_finish", json!({"credential": response})).await.status.as_u16()
}

async fn passkeys(app: &TestApp) -> i64 {
    app.count("SELECT count(*) FROM credential WHERE kind = 'passkey'").await
}

#[tokio::test]
async fn wearing_out_a_second_factor_does_not_make_a_mailbox_enough() {
    let app = app().await;
    let mut victim = fresh(&app).await;
    enrol_totp(&mut victim).await;
    let mut attacker = Browser::new(&app);
    let mut flow = recover(&app, &mut attacker, "ana@example.test").await;
    for _ in 0..32 {
        app.forget_limits().await;
        flow.attempt(&mut attacker, "totp/check", json!({"code": "000000"})).await;
        assert_eq!(flow.stage(), "raise");
    }
    assert_eq!(app.count("SELECT count(*) FROM credential WHERE state = 'exhausted'").await, 1);
    assert!(!flow.offers().contains(&"password/set"));

    // Nor by wearing everything out in an enrolment.
    let mut mailbox = Browser::new(&app);
    app.forget_limits().await;
    app.sql("UPDATE credential SET state = 'exhausted' WHERE kind = 'password'").await;
    let mut sign_in = mailbox.open(json!({"kind": "sign_in"})).await;
    sign_in.act(&mut mailbox, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let code = app.mailed_code("ana@example.test").await;
    sign_in.act(&mut mailbox, "email_code/check", json!({"code": code})).await;
    assert_eq!(sign_in.stage(), "denied", "a mailbox alone does not sign in either");
    let enrolment = mailbox.post("/v1/flows", &json!({"kind": "enrol", "enrol": "passkey"})).await;
    assert_eq!(enrolment.status, 401);
    assert_eq!(passkeys(&app).await, 0);
}

#[tokio::test]
async fn an_enrolment_ends_with_the_session_it_was_opened_in() {
    let app = app().await;
    let mut victim = fresh(&app).await;
    let mut attacker = Browser::new(&app);
    attacker.cookies.insert("__Host-session".into(), victim.session().unwrap().clone());
    let mut flow = attacker.open(json!({"kind": "enrol", "enrol": "passkey"})).await;
    assert_eq!(flow.stage(), "enrol");
    flow.act(&mut attacker, "passkey/enrol_begin", nothing()).await;
    let mut authenticator = VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    let response = authenticator.register(&flow.now["challenge"]["public_key"]);

    let sessions = victim.get("/v1/account/sessions").await.json();
    let own =
        sessions["items"].as_array().unwrap().iter().find(|session| session["current"] == true).unwrap();
    let ended = victim.delete(&format!("/v1/account/sessions/{}", own["id"].as_str().unwrap())).await;
    assert_eq!(ended.status, 204);
    let answer = flow.attempt(&mut attacker, "passkey/enrol_finish", json!({"credential": response})).await;
    assert_eq!(answer.status, 410, "{}", answer.text());
    assert_eq!(passkeys(&app).await, 0);
}

#[tokio::test]
async fn nor_does_it_outlive_the_token_that_opened_it() {
    let app = app().await;
    let mut victim = fresh(&app).await;
    let mut attacker = Browser::new(&app);
    attacker.cookies.insert("__Host-session".into(), victim.session().unwrap().clone());
    let mut flow = attacker.open(json!({"kind": "enrol", "enrol": "passkey"})).await;
    let mut again = victim.open(json!({"kind": "reauthenticate"})).await;
    again.act(&mut victim, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(bind_passkey(&mut flow, &mut attacker).await, 410);
    assert_eq!(passkeys(&app).await, 0);
}

#[tokio::test]
async fn a_proof_dies_with_its_credential_in_a_flow_under_way() {
    let app = app().await;
    register_with_password(&app, "ana@example.test").await;
    app.forget_limits().await;
    let mut attacker = Browser::new(&app);
    let mut flow = attacker.open(json!({"kind": "sign_in"})).await;
    let stolen = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut attacker, "password/check", stolen).await;
    assert_eq!(flow.stage(), "enrol");

    let mut victim = Browser::new(&app);
    let mut recovery = recover(&app, &mut victim, "ana@example.test").await;
    recovery.act(&mut victim, "password/set", json!({"new_password": "a brand new password"})).await;
    assert_eq!(recovery.stage(), "complete");

    assert_eq!(bind_passkey(&mut flow, &mut attacker).await, 410);
    assert_eq!(flow.attempt(&mut attacker, "enrol/skip", nothing()).await.status, 410);
    assert!(attacker.session().is_none());
    assert_eq!(passkeys(&app).await, 0);
}

#[tokio::test]
async fn a_proof_dies_with_its_credential_in_a_session() {
    let app = app().await;
    let mut victim = fresh(&app).await;
    app.forget_limits().await;
    let mut attacker = Browser::new(&app);
    let mut flow = attacker.open(json!({"kind": "sign_in"})).await;
    let stolen = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut attacker, "password/check", stolen).await;
    flow.act(&mut attacker, "enrol/skip", nothing()).await;
    assert_eq!(attacker.get("/v1/account").await.status, 200);

    let mut change = enrol(&mut victim, "password").await;
    let new = json!({"current_password": PASSWORD, "new_password": "something else entirely"});
    change.act(&mut victim, "password/set", new).await;
    assert_eq!(change.stage(), "complete");
    assert_eq!(attacker.get("/v1/account").await.status, 401, "the session rested on the old password alone");
    assert_eq!(victim.get("/v1/account").await.status, 200);
    assert_eq!(victim.get("/v1/account").await.json()["assurance"]["have"], "aal1");
}

#[tokio::test]
async fn a_removed_mailbox_recovers_nothing() {
    let app = app().await;
    let mut victim = register(&app, "ana@example.test").await;
    let mut add = enrol(&mut victim, "email").await;
    add.act(&mut victim, "email/add", json!({"address": "ana@second.test"})).await;
    let code = app.mailed_code("ana@second.test").await;
    add.act(&mut victim, "email/verify", json!({"code": code})).await;
    let mut attacker = Browser::new(&app);
    let mut flow = recover(&app, &mut attacker, "ana@second.test").await;
    assert_eq!(flow.stage(), "enrol");
    let listed = victim.get("/v1/account/credentials").await.json();
    let leaked = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .max_by_key(|item| item["created_at"].as_str().map(str::to_owned))
        .unwrap();
    assert_eq!(
        victim.delete(&format!("/v1/account/credentials/{}", leaked["id"].as_str().unwrap())).await.status,
        204
    );
    assert!(!app.mails("ana@second.test").await.is_empty(), "the removed address is told");
    let answer =
        flow.attempt(&mut attacker, "password/set", json!({"new_password": "attackers own password"})).await;
    assert_eq!(answer.status, 410, "{}", answer.text());
}

#[tokio::test]
async fn what_is_bound_meanwhile_counts_when_a_slow_step_is_applied() {
    let app = app().await;
    for round in 0..4 {
        app.forget_limits().await;
        let address = format!("ana{round}@example.test");
        let owner = register(&app, &address).await;
        let mut racing = tokio::task::JoinSet::new();
        for password in ["the first of two", "the second of two"] {
            let mut twin = Browser::new(&app);
            twin.cookies.clone_from(&owner.cookies);
            let mut flow = enrol(&mut twin, "password").await;
            racing.spawn(async move {
                flow.attempt(&mut twin, "password/set", json!({"new_password": password})).await.status == 200
            });
        }
        assert_eq!(racing.join_all().await.into_iter().filter(|won| *won).count(), 1);
    }
    let doubled = "SELECT count(*) FROM (SELECT 1 FROM credential WHERE kind = 'password' GROUP BY account_id HAVING count(*) > 1) d";
    assert_eq!(app.count(doubled).await, 0);
}

#[tokio::test]
async fn a_code_goes_to_the_spelling_its_owner_proved() {
    let app = app().await;
    register(&app, "νικος@example.test").await;
    app.forget_limits().await;
    app.sql("DELETE FROM job").await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let answer =
        flow.attempt(&mut browser, "email_code/send", json!({"identifier": "ΝΙΚΟσ@example.test"})).await;
    assert_eq!(answer.status, 200);
    assert_eq!(app.mails("νικος@example.test").await.len(), 1);
    assert!(app.mails("ΝΙΚΟσ@example.test").await.is_empty());
}

#[tokio::test]
async fn a_recovery_that_waits_ends_when_its_owner_shows_up_and_lapses_in_any_case() {
    let app = app().await;
    let (_, mut authenticator) = register_with_passkey(&app, "ana@example.test").await;
    let mut attacker = Browser::new(&app);
    let mut flow = recover(&app, &mut attacker, "ana@example.test").await;
    flow.act(&mut attacker, "recovery/hold", nothing()).await;
    let mut owner = Browser::new(&app);
    let mut sign_in = owner.open(json!({"kind": "sign_in"})).await;
    let response = authenticator.authenticate(&sign_in.now["challenge"]["public_key"]);
    sign_in.act(&mut owner, "passkey/finish", json!({"credential": response})).await;
    assert_eq!(app.count("SELECT count(*) FROM account WHERE recovery_hold_until IS NOT NULL").await, 0);

    app.sql("UPDATE account SET recovery_hold_until = now() - interval '8 days'").await;
    let flow = recover(&app, &mut attacker, "ana@example.test").await;
    assert_eq!(flow.stage(), "raise", "a door that stood open for a week is shut again");
    assert!(flow.offers().contains(&"recovery/hold"));
}

#[tokio::test]
async fn the_bootstrap_key_is_not_lost_to_a_registration_that_cannot_be() {
    use porteiro_service::bootstrap::{self, Armed};
    let app = app().await;
    let Armed::Key { key, .. } = bootstrap::arm(&app.app.store, &*app.app.entropy).await.unwrap() else {
        panic!("no key")
    };
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "register", "bootstrap_key": *key.reveal()})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "root@example.test"})).await;
    let code = app.mailed_code("root@example.test").await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    flow.act(&mut browser, "profile/set", json!({"display_name": "Root"})).await;
    app.forget_limits().await;
    register(&app, "root@example.test").await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "denied");
    assert_eq!(app.count("SELECT count(*) FROM bootstrap WHERE used_at IS NULL").await, 1);
    let junk = json!({"kind": "register", "bootstrap_key": format!("porteiro_bootstrap_{}", "A".repeat(43))});
    assert_eq!(browser.post("/v1/flows", &junk).await.status, 422, "a made-up key opens nothing");
}

#[tokio::test]
async fn nobody_chooses_whose_bucket_a_guess_empties() {
    let app = app().await;
    register(&app, "ana@example.test").await;
    app.forget_limits().await;
    for index in 0..4 {
        let mut attacker = Browser::new(&app);
        let mut flow = attacker.open(json!({"kind": "sign_in"})).await;
        let own = format!("evil{index}@second.test");
        flow.act(&mut attacker, "email_code/send", json!({"identifier": own})).await;
        for _ in 0..5 {
            let guess = json!({"code": "000000", "identifier": "ana@example.test"});
            flow.attempt(&mut attacker, "email_code/check", guess).await;
        }
    }
    let mut victim = Browser::new(&app);
    let mut flow = victim.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut victim, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let code = app.mailed_code("ana@example.test").await;
    let wrong = flow.attempt(&mut victim, "email_code/check", json!({"code": wrong_code(&code)})).await;
    assert_eq!(wrong.status, 422);
    flow.act(&mut victim, "email_code/check", json!({"code": code})).await;
}

#[tokio::test]
async fn a_flood_fills_neither_the_log_nor_other_peoples_buckets() {
    let app = app().await;
    let mut attacker = Browser::new(&app);
    let mut flow = attacker.open(json!({"kind": "sign_in"})).await;
    let too_soon = json!({"identifier": "ana@example.test"});
    flow.attempt(&mut attacker, "email_code/send", too_soon.clone()).await;
    for _ in 0..12 {
        assert_eq!(flow.attempt(&mut attacker, "email_code/send", too_soon.clone()).await.status, 429);
    }
    let mut owner = Browser::new(&app);
    owner.open(json!({"kind": "sign_in"})).await;
    let limited = "SELECT count(*) FROM security_log WHERE kind = 'proof.limited'";
    assert!(app.count(limited).await <= 1);
    app.sql("UPDATE challenge SET created_at = created_at - interval '31 seconds'").await;
    assert_eq!(
        flow.attempt(&mut attacker, "email_code/send", too_soon).await.status,
        200,
        "too soon cost nothing"
    );
}

#[tokio::test]
async fn a_replaced_token_ends_nobodys_session() {
    let app = app().await;
    let mut victim = register_with_password(&app, "ana@example.test").await;
    let stale = victim.session().unwrap().clone();
    let mut flow = victim.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut victim, "password/check", json!({"password": PASSWORD})).await;
    let mut attacker = Browser::new(&app);
    app.forget_limits().await;
    let mut flow = register_to_enrolment(&app, &mut attacker, "evil@second.test").await;
    attacker.cookies.insert("__Host-session".into(), stale);
    flow.act(&mut attacker, "enrol/skip", nothing()).await;
    assert_eq!(victim.get("/v1/account").await.status, 200);
}

#[tokio::test]
async fn reauthentication_always_asks_for_something() {
    let app = app().await;
    let mut browser = fresh(&app).await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    assert_eq!(flow.stage(), "raise");
    let before = browser.session().unwrap().clone();
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(flow.stage(), "complete");
    assert_ne!(browser.session().unwrap(), &before);
}

#[tokio::test]
async fn many_accounts_cannot_flood_one_mailbox() {
    let app = app().await;
    let mut statuses = Vec::new();
    for index in 0..7 {
        app.sql("DELETE FROM limit_bucket WHERE full_at < now() + interval '10 minutes'").await;
        let mut browser = register(&app, &format!("evil{index}@second.test")).await;
        let mut flow = enrol(&mut browser, "email").await;
        let answer = flow.attempt(&mut browser, "email/add", json!({"address": "victim@example.test"})).await;
        statuses.push(answer.status.as_u16());
    }
    assert!(statuses.contains(&429), "{statuses:?}");
}
