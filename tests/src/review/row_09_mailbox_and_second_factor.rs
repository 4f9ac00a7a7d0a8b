//! A mailbox proof alone does not sign in to an account with a second factor.

use std::sync::Arc;

use porteiro_testkit::{Browser, Flow, TestApp, nothing};
use serde_json::json;

use crate::{
    oauth::{
        device,
        driver::{Relying, parameter, verifier},
    },
    people::{
        PASSWORD, app, enrol, enrol_totp, generate_recovery_codes, register, register_with_passkey,
        register_with_password, step_now,
    },
};

const ANA: &str = "ana@example.test";

/// A new browser that has read the code in the mailbox.
async fn by_mail(app: &Arc<TestApp>, kind: &str) -> (Browser, Flow) {
    app.forget_limits().await;
    let mut browser = Browser::new(app);
    let mut flow = browser.open(json!({"kind": kind})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    (browser, flow)
}

#[tokio::test]
async fn with_totp_enrolled_a_mailed_code_leads_to_totp() {
    let app = app().await;
    let mut owner = register(&app, ANA).await;
    let secret = enrol_totp(&mut owner).await;
    for kind in ["sign_in", "register", "confirm_device"] {
        let (browser, flow) = by_mail(&app, kind).await;
        assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["totp/check"]), "{kind}");
        assert!(browser.session().is_none(), "{kind}");
    }
    let (mut browser, mut flow) = by_mail(&app, "sign_in").await;
    assert_eq!(flow.attempt(&mut browser, "enrol/skip", nothing()).await.status, 400);
    flow.act(&mut browser, "totp/check", json!({"code": secret.code(step_now(1))})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete");
    assert_eq!(browser.get("/v1/account").await.json()["assurance"]["have"], "aal1");
}

/// The same fault with the other single factor: a password that leaked is no more than a mailbox that is read.
#[tokio::test]
async fn with_totp_enrolled_a_password_leads_to_totp() {
    let app = app().await;
    let mut owner = register_with_password(&app, ANA).await;
    let mut flow = owner.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut owner, "password/check", json!({"password": PASSWORD})).await;
    enrol_totp(&mut owner).await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "password/check", json!({"identifier": ANA, "password": PASSWORD})).await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["totp/check"]));
    assert!(browser.session().is_none());
}

#[tokio::test]
async fn a_phone_is_a_second_factor_and_a_saved_code_stands_in_for_one() {
    let app = app().await;
    let mut owner = register(&app, ANA).await;
    let codes = generate_recovery_codes(&mut owner).await;
    let (_, flow) = by_mail(&app, "sign_in").await;
    assert_ne!(flow.stage(), "raise", "saved codes alone are not a second factor that somebody chose");
    let mut proved = owner.open(json!({"kind": "reauthenticate"})).await;
    proved.act(&mut owner, "recovery_code/check", json!({"code": codes[0]})).await;
    let mut adding = enrol(&mut owner, "phone").await;
    adding.act(&mut owner, "phone/add", json!({"number": "+351912345678"})).await;
    let code = app.texted_code("+351912345678").await;
    adding.act(&mut owner, "phone/verify", json!({"code": code})).await;
    let (mut browser, mut flow) = by_mail(&app, "sign_in").await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["sms_code/send", "recovery_code/check"]));
    flow.act(&mut browser, "recovery_code/check", json!({"code": codes[1]})).await;
    assert_ne!(flow.stage(), "raise");
}

/// A passkey is a way in by itself; e-mail stays the fallback of whoever does not have it at hand.
#[tokio::test]
async fn a_passkey_leaves_e_mail_as_the_fallback() {
    let app = app().await;
    register_with_passkey(&app, ANA).await;
    let (browser, flow) = by_mail(&app, "sign_in").await;
    assert_eq!(flow.stage(), "complete");
    assert!(browser.session().is_some());
}

#[tokio::test]
async fn a_session_that_rests_on_a_mailbox_is_asked_once_the_account_has_more() {
    let app = crate::oauth::app().await;
    let mut browser = register(&app, ANA).await;
    enrol_totp(&mut browser).await;
    let client = Relying::web(&app).await;
    let silent = client.ask(&mut browser, &verifier(), &[("prompt", "none")]).await.json();
    assert_eq!(parameter(&silent, "error").as_deref(), Some("login_required"));
    let flow = Flow::new(client.ask(&mut browser, &verifier(), &[]).await.json());
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["totp/check"]), "{}", flow.now);
    let television = device::television(&app, porteiro_service::oauth::clients::Trust::Verified).await;
    let asked = device::asks(&app, &television, &[("scope", "openid")]).await;
    let flow = browser.open(json!({"kind": "confirm_device", "user_code": asked.user_code})).await;
    assert_eq!(flow.stage(), "raise", "nobody lets a device in with less");
}

#[tokio::test]
async fn guessing_a_second_factor_away_does_not_make_a_mailbox_enough() {
    let app = app().await;
    let mut owner = register(&app, ANA).await;
    enrol_totp(&mut owner).await;
    app.sql("UPDATE credential SET state = 'exhausted' WHERE kind = 'totp'").await;
    let (browser, flow) = by_mail(&app, "sign_in").await;
    assert_eq!((flow.stage(), &flow.now["reason"]), ("denied", &json!("unmet_authentication_requirements")));
    assert!(browser.session().is_none());
}

/// Nobody is locked out for good: after the wait of decision record 0018, what was lost is not asked for again.
#[tokio::test]
async fn a_second_factor_that_was_lost_is_gone_after_a_recovery_by_waiting() {
    let app = app().await;
    let mut owner = register(&app, ANA).await;
    enrol_totp(&mut owner).await;
    let (mut browser, mut flow) = by_mail(&app, "recover").await;
    flow.act(&mut browser, "recovery/hold", nothing()).await;
    app.sql("UPDATE account SET recovery_hold_until = now()").await;
    let (mut browser, mut flow) = by_mail(&app, "recover").await;
    flow.act(&mut browser, "password/set", json!({"new_password": "a brand new password"})).await;
    assert_eq!(flow.stage(), "complete");
    assert_eq!(app.count("SELECT count(*) FROM credential WHERE kind = 'totp'").await, 0);
    let removed = "SELECT count(*) FROM security_log WHERE kind = 'credential.removed'";
    assert_eq!(app.count(removed).await, 1);
    app.forget_limits().await;
    let mut again = Browser::new(&app);
    let mut flow = again.open(json!({"kind": "sign_in"})).await;
    let input = json!({"identifier": ANA, "password": "a brand new password"});
    flow.act(&mut again, "password/check", input).await;
    assert_eq!(flow.stage(), "enrol", "a passkey is offered: they may change their account again");
}

/// Whoever proves it keeps it: only the wait gives something up.
#[tokio::test]
async fn a_second_factor_that_backs_a_recovery_stays() {
    let app = app().await;
    let mut owner = register(&app, ANA).await;
    let secret = enrol_totp(&mut owner).await;
    let (mut browser, mut flow) = by_mail(&app, "recover").await;
    flow.act(&mut browser, "totp/check", json!({"code": secret.code(step_now(1))})).await;
    flow.act(&mut browser, "password/set", json!({"new_password": "a brand new password"})).await;
    assert_eq!(flow.stage(), "complete");
    assert_eq!(app.count("SELECT count(*) FROM credential WHERE kind = 'totp'").await, 1);
}
