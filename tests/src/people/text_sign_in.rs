//! A text message as the first step of a sign-in (docs/decisions/0138).

use std::{net::Ipv4Addr, sync::Arc};

use porteiro_protocol::assurance::Level;
use porteiro_service::{
    jobs,
    sms::{self, Sms},
};
use porteiro_testkit::{Answer, Browser, Flow, TestApp, TestAppBuilder, nothing, wrong_code};
use serde_json::{Value, json};

use super::{PASSWORD, enrol, enrol_totp, register, register_with_passkey, register_with_password, step_now};
use crate::{oauth::driver::Relying, organizations::driver::claims};

const ANA: &str = "ana@example.test";
const BIA: &str = "bia@example.test";
pub const NUMBER: &str = "+351912345678";

fn builder() -> TestAppBuilder {
    TestApp::builder().people().settings(|settings| settings.sms_sign_in = true)
}

pub async fn app() -> Arc<TestApp> {
    Arc::new(builder().start().await)
}

/// Adds a number in a flow that may: to sign in with, or as a second factor.
async fn add(app: &TestApp, browser: &mut Browser, flow: &mut Flow, signs_in: bool) {
    let input = json!({"number": NUMBER, "signs_in": signs_in});
    flow.act(browser, "phone/add", input).await;
    let code = app.texted_code(NUMBER).await;
    flow.act(browser, "phone/verify", json!({"code": code})).await;
    assert_eq!(flow.stage(), "complete");
    app.sql("DELETE FROM job WHERE kind = 'sms.send'; DELETE FROM limit_bucket").await;
}

/// Somebody with a mailbox and a number.
pub async fn with_number(app: &Arc<TestApp>, address: &str, signs_in: bool) -> Browser {
    let mut browser = register(app, address).await;
    let mut flow = enrol(&mut browser, "phone").await;
    add(app, &mut browser, &mut flow, signs_in).await;
    browser
}

/// The same with a password.
pub async fn with_password_and_number(app: &Arc<TestApp>, address: &str) -> Browser {
    let mut browser = register_with_password(app, address).await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    let mut flow = enrol(&mut browser, "phone").await;
    add(app, &mut browser, &mut flow, true).await;
    browser
}

async fn ask(app: &Arc<TestApp>, request: &Value, address: &str) -> (Browser, Flow, Answer) {
    let mut browser = Browser::new(app);
    let mut flow = browser.open(request.clone()).await;
    let answer = flow.attempt(&mut browser, "sms_code/send", json!({"identifier": address})).await;
    (browser, flow, answer)
}

/// A new browser that typed the address and the code from the text message.
async fn by_text(app: &Arc<TestApp>, request: Value, address: &str) -> (Browser, Flow) {
    let (mut browser, mut flow, _) = ask(app, &request, address).await;
    assert_eq!(flow.stage(), "challenge");
    let code = app.texted_code(NUMBER).await;
    flow.act(&mut browser, "sms_code/check", json!({"code": code})).await;
    (browser, flow)
}

/// The same by mail.
async fn by_mail(app: &TestApp, browser: &mut Browser) -> Flow {
    let mut flow = browser.open(sign_in()).await;
    flow.act(browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    flow.act(browser, "email_code/check", json!({"code": code})).await;
    flow
}

fn sign_in() -> Value {
    json!({"kind": "sign_in"})
}

/// The recipients of the text messages in the outbox; of those that nobody gets, there is a row too.
async fn recipients(app: &TestApp) -> Vec<String> {
    let select = "SELECT payload FROM job WHERE kind = 'sms.send'";
    let rows = app.database.client().await.query(select, &[]).await.unwrap();
    let letters = rows.iter().map(|row| app.app.secrets.open_letter(sms::JOB, &row.get(0)));
    letters.map(|letter: Option<Sms>| letter.unwrap().to).filter(|to| to != sms::NOBODY).collect()
}

async fn level(browser: &mut Browser) -> Value {
    browser.get("/v1/account").await.json()["assurance"]["have"].clone()
}

#[tokio::test]
async fn a_text_message_signs_in_at_aal1_and_amr_says_so() {
    let app = app().await;
    with_number(&app, ANA, true).await;
    let (mut browser, mut flow) = by_text(&app, sign_in(), ANA).await;
    assert!(flow.offers().contains(&"passkey/enrol_begin"), "ASVS 6.6.1: something stronger is offered");
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!((flow.stage(), level(&mut browser).await), ("complete", json!("aal1")));
    let tokens = Relying::web(&app).await.tokens(&mut browser, &app, &[]).await;
    let said = claims(tokens["id_token"].as_str().unwrap());
    assert_eq!((&said["amr"], &said["acr"]), (&json!(["sms"]), &json!(Level::Aal1.acr())));
}

#[tokio::test]
async fn it_is_off_by_default() {
    let app = super::app().await;
    let mut browser = register(&app, ANA).await;
    let mut flow = enrol(&mut browser, "phone").await;
    let refused = flow.attempt(&mut browser, "phone/add", json!({"number": NUMBER, "signs_in": true})).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
    assert_eq!(refused.json()["errors"][0]["pointer"], "/signs_in");
    for request in [sign_in(), json!({"kind": "confirm_device"})] {
        let (_, flow, refused) = ask(&app, &request, ANA).await;
        assert!(!flow.offers().contains(&"sms_code/send"));
        assert_eq!((refused.status.as_u16(), &refused.json()["code"]), (400, &json!("unknown_action")));
    }
    // A number from a time when it was on signs nobody in once it is off.
    let on = builder().restart(&app).await;
    with_number(&on, BIA, true).await;
    assert_eq!(ask(&app, &sign_in(), BIA).await.2.status, 400);
}

/// The invariant: whoever has a second factor enters as before.
#[tokio::test]
async fn switching_it_on_makes_no_second_factor_a_way_in() {
    let off = super::app().await;
    with_number(&off, ANA, false).await;
    let app = builder().restart(&off).await;
    let (_, flow, sent) = ask(&app, &sign_in(), ANA).await;
    assert_eq!((sent.status.as_u16(), flow.stage()), (200, "challenge"), "as for anybody");
    assert!(recipients(&app).await.is_empty());
    app.forget_limits().await;
    let flow = by_mail(&app, &mut Browser::new(&app)).await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["sms_code/send"]));
}

#[tokio::test]
async fn the_numbers_of_an_account_are_all_ways_in_or_all_second_factors() {
    let app = app().await;
    for (address, first) in [(ANA, true), (BIA, false)] {
        let mut browser = with_number(&app, address, first).await;
        let mut flow = enrol(&mut browser, "phone").await;
        flow.act(&mut browser, "sms_code/send", nothing()).await;
        let code = app.texted_code(NUMBER).await;
        flow.act(&mut browser, "sms_code/check", json!({"code": code})).await;
        let other = json!({"number": NUMBER, "signs_in": !first});
        let refused = flow.attempt(&mut browser, "phone/add", other).await;
        assert_eq!(refused.status, 422, "{}", refused.text());
        let listed = browser.get("/v1/account/credentials").await.json();
        let phone = listed["items"].as_array().unwrap().iter().find(|item| item["kind"] == "phone");
        assert_eq!(phone.unwrap()["signs_in"], first);
    }
}

/// Two flows of one person add a number at once, one for each use: one of them loses.
#[tokio::test]
async fn numbers_that_are_added_at_once_have_one_use() {
    let app = Arc::new(builder().connections(4).start().await);
    let one = register(&app, ANA).await;
    app.forget_limits().await;
    let mut other = Browser::new(&app);
    let mut flow = by_mail(&app, &mut other).await;
    flow.act(&mut other, "enrol/skip", nothing()).await;
    let mut adding = Vec::new();
    for (mut browser, number, signs_in) in [(one, NUMBER, true), (other, "+351912345679", false)] {
        let mut flow = enrol(&mut browser, "phone").await;
        flow.act(&mut browser, "phone/add", json!({"number": number, "signs_in": signs_in})).await;
        adding.push((browser, flow, app.texted_code(number).await));
    }
    let mut racing = tokio::task::JoinSet::new();
    for (mut browser, mut flow, code) in adding {
        racing.spawn(async move {
            flow.attempt(&mut browser, "phone/verify", json!({"code": code})).await.status == 200
        });
    }
    assert_eq!(racing.join_all().await.into_iter().filter(|won| *won).count(), 1);
    assert_eq!(app.count("SELECT count(*) FROM credential WHERE kind = 'phone'").await, 1);
}

#[tokio::test]
async fn totp_is_still_asked_for_and_leads_no_higher() {
    let app = app().await;
    let mut owner = register(&app, ANA).await;
    let secret = enrol_totp(&mut owner).await;
    let mut flow = enrol(&mut owner, "phone").await;
    flow.act(&mut owner, "totp/check", json!({"code": secret.code(step_now(1))})).await;
    add(&app, &mut owner, &mut flow, true).await;
    for kind in ["sign_in", "confirm_device"] {
        let (browser, flow) = by_text(&app, json!({"kind": kind}), ANA).await;
        assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["totp/check"]), "{kind}");
        assert!(browser.session().is_none(), "{kind}");
    }
    // Whoever reads the mail cannot let the text message be the second factor either.
    app.forget_limits().await;
    let flow = by_mail(&app, &mut Browser::new(&app)).await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["totp/check"]));
    app.sql("UPDATE credential SET counter = -1 WHERE kind = 'totp'; DELETE FROM limit_bucket").await;
    let (mut browser, mut flow) = by_text(&app, sign_in(), ANA).await;
    flow.act(&mut browser, "totp/check", json!({"code": secret.code(step_now(0))})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!((flow.stage(), level(&mut browser).await), ("complete", json!("aal1")));
}

#[tokio::test]
async fn with_a_password_it_reaches_aal2_and_without_it_changes_nothing() {
    let app = app().await;
    with_password_and_number(&app, ANA).await;
    let request = json!({"kind": "sign_in", "level": "aal2"});
    let (mut browser, mut flow) = by_text(&app, request, ANA).await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["password/check"]));
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(level(&mut browser).await, "aal2");
    app.forget_limits().await;
    let (mut browser, flow) = by_text(&app, sign_in(), ANA).await;
    assert_eq!(flow.stage(), "complete", "no offer to add a credential");
    for kind in ["passkey", "totp", "email"] {
        let flow = enrol(&mut browser, kind).await;
        assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["password/check"]), "{kind}");
    }
}

#[tokio::test]
async fn a_text_message_does_not_add_to_an_account_that_has_a_passkey() {
    let app = app().await;
    let (mut owner, mut authenticator) = register_with_passkey(&app, ANA).await;
    let mut flow = owner.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut owner, "passkey/begin", nothing()).await;
    let credential = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut owner, "passkey/finish", json!({"credential": credential})).await;
    let mut flow = enrol(&mut owner, "phone").await;
    add(&app, &mut owner, &mut flow, true).await;
    let (mut browser, flow) = by_text(&app, sign_in(), ANA).await;
    assert_eq!((flow.stage(), level(&mut browser).await), ("complete", json!("aal1")));
    let flow = enrol(&mut browser, "password").await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["passkey/begin", "passkey/finish"]));
}

#[tokio::test]
async fn a_minimum_level_leads_on_as_usual() {
    let earlier = app().await;
    with_number(&earlier, ANA, true).await;
    let app = builder().settings(|settings| settings.minimum_level = Level::Aal2).restart(&earlier).await;
    let (browser, flow) = by_text(&app, sign_in(), ANA).await;
    assert_eq!(flow.stage(), "enrol");
    assert!(!flow.offers().contains(&"enrol/skip") && flow.offers().contains(&"passkey/enrol_begin"));
    assert!(browser.session().is_none());
}

/// Several people of a household may share a number: the address says whose account it is.
#[tokio::test]
async fn a_shared_number_signs_in_the_person_whose_address_was_typed() {
    let app = app().await;
    for address in [ANA, BIA] {
        with_number(&app, address, true).await;
    }
    for (address, masked) in [(ANA, "a•••@e•••.test"), (BIA, "b•••@e•••.test")] {
        app.sql("DELETE FROM limit_bucket; DELETE FROM job WHERE kind = 'sms.send'").await;
        let (_, flow) = by_text(&app, sign_in(), address).await;
        assert_eq!(flow.now["account"]["masked_address"], masked);
    }
}

#[tokio::test]
async fn a_recovery_begins_with_a_mailbox_as_before() {
    let app = app().await;
    with_number(&app, ANA, true).await;
    for kind in ["recover", "register"] {
        assert_eq!(ask(&app, &json!({"kind": kind}), ANA).await.2.status, 400, "{kind}");
    }
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "recover"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["sms_code/send", "recovery/hold"]));
}

/// `enumeration.rs` compares the answers byte by byte.
#[tokio::test]
async fn nobody_gets_a_message_for_an_address_without_a_number_and_the_same_rows_are_written() {
    let app = app().await;
    with_number(&app, ANA, true).await;
    register(&app, BIA).await;
    let mut written = Vec::new();
    for address in [ANA, BIA, "nobody@example.test"] {
        app.sql("DELETE FROM limit_bucket; DELETE FROM job WHERE kind = 'sms.send'; DELETE FROM challenge")
            .await;
        let (mut browser, mut flow, sent) = ask(&app, &sign_in(), address).await;
        assert_eq!((sent.status.as_u16(), flow.stage()), (200, "challenge"));
        assert_eq!(flow.now["challenge"], json!({"module": "sms_code"}), "no number is shown");
        let sent_to = recipients(&app).await;
        assert_eq!(sent_to.len(), usize::from(address == ANA), "{sent_to:?}");
        let mut counts = Vec::new();
        for table in ["challenge", "job WHERE kind = 'sms.send'", "limit_bucket"] {
            counts.push(app.count(&format!("SELECT count(*) FROM {table}")).await);
        }
        written.push(counts);
        for _ in 0..2 {
            let refused = flow.attempt(&mut browser, "sms_code/check", json!({"code": "000000"})).await;
            assert_eq!(refused.status, 422);
        }
    }
    assert!(written.iter().all(|counts| *counts == written[0]), "{written:?}");
    jobs::run_due(&app.app).await.unwrap();
    assert!(jobs::parked(&app.app.store).await.unwrap().is_empty());
}

/// Asks again and again, each time from another network and with every other limit full again.
async fn flood(app: &Arc<TestApp>, address: &str, rule: &str, whom: &[u8], times: u8) {
    let kept = app.app.secrets.limit_key(rule, whom);
    for index in 0..times {
        let delete = "DELETE FROM limit_bucket WHERE bucket_key <> $1";
        app.database.client().await.execute(delete, &[&kept.as_slice()]).await.unwrap();
        let there = app.from_address(Ipv4Addr::new(198, 18, 3, index));
        assert_eq!(ask(&there, &sign_in(), address).await.2.status, 200, "{index}");
    }
}

/// A stranger learns nothing from a limit that only numbers have, and spends no more than it allows.
#[tokio::test]
async fn limits_of_the_number_and_the_budget_hold_and_are_not_told() {
    let earlier = app().await;
    with_number(&earlier, ANA, true).await;
    let app = builder().settings(|settings| settings.sms_budget_per_day = 8).restart(&earlier).await;
    let number = app.app.secrets.identifier_key("phone", NUMBER.as_bytes());
    flood(&app, ANA, "sms_send.subject", &number, 6).await;
    assert_eq!(recipients(&app).await.len(), 3);
    app.sql("DELETE FROM limit_bucket; DELETE FROM job WHERE kind = 'sms.send'").await;
    // Addresses that nobody has use up nothing that others need.
    flood(&app, "nobody@example.test", "sms_send_new.everybody", b"", 6).await;
    assert!(recipients(&app).await.is_empty());
    flood(&app, ANA, "sms_send_new.everybody", b"", 6).await;
    assert_eq!(recipients(&app).await.len(), 2, "half of what strangers can cause, at once");
}

#[tokio::test]
async fn the_typed_address_is_limited_whoever_has_it() {
    let app = app().await;
    with_number(&app, ANA, true).await;
    for address in [ANA, "nobody@example.test"] {
        let mut statuses = Vec::new();
        for index in 0..5 {
            let there = app.from_address(Ipv4Addr::new(198, 18, 4, index));
            statuses.push(ask(&there, &sign_in(), address).await.2.status.as_u16());
        }
        assert_eq!(statuses, [200, 200, 200, 429, 429], "{address}");
    }
}

#[tokio::test]
async fn wrong_codes_wear_the_number_out_and_a_code_works_once() {
    let app = app().await;
    with_number(&app, ANA, true).await;
    let (mut browser, mut flow, _) = ask(&app, &sign_in(), ANA).await;
    let code = app.texted_code(NUMBER).await;
    for _ in 0..5 {
        let wrong = json!({"code": wrong_code(&code)});
        assert_eq!(flow.attempt(&mut browser, "sms_code/check", wrong).await.status, 422);
    }
    let late = flow.attempt(&mut browser, "sms_code/check", json!({"code": code})).await;
    assert_eq!(late.status, 400, "five tries");
    assert_eq!(app.count("SELECT failures::int8 FROM credential WHERE kind = 'phone'").await, 5);
    app.sql("UPDATE credential SET failures = 29 WHERE kind = 'phone'; DELETE FROM limit_bucket").await;
    let (mut browser, mut flow, _) = ask(&app, &sign_in(), ANA).await;
    let code = app.texted_code(NUMBER).await;
    let wrong = json!({"code": wrong_code(&code)});
    assert_eq!(flow.attempt(&mut browser, "sms_code/check", wrong).await.status, 422);
    let right = flow.attempt(&mut browser, "sms_code/check", json!({"code": code})).await;
    assert_eq!(right.status, 422, "{}", right.text());
}

/// A message for one person, and the proof of another in the same flow.
#[tokio::test]
async fn a_code_for_somebody_else_proves_nothing_about_oneself() {
    let app = app().await;
    with_number(&app, ANA, true).await;
    with_password_and_number(&app, BIA).await;
    let (mut browser, mut flow, _) = ask(&app, &json!({"kind": "sign_in", "level": "aal2"}), ANA).await;
    let code = app.texted_code(NUMBER).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": BIA})).await;
    let mailed = app.mailed_code(BIA).await;
    flow.act(&mut browser, "email_code/check", json!({"code": mailed})).await;
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    let refused = flow.attempt(&mut browser, "sms_code/check", json!({"code": code})).await;
    assert!(matches!(refused.status.as_u16(), 400 | 422), "{}", refused.text());
    assert_ne!(flow.stage(), "complete");
}
