//! Text messages have a budget and a country list; sub-addresses share one mailbox's limits.

use std::{net::Ipv4Addr, sync::Arc};

use porteiro_service::{
    jobs,
    sms::{self, Sms},
};
use porteiro_testkit::{Answer, Browser, TestApp, nothing};
use serde_json::json;

use crate::people::{PASSWORD, enrol, register, register_with_password};

const ANA: &str = "ana@example.test";
const BUDGET: u32 = 8;

async fn app() -> Arc<TestApp> {
    let builder = TestApp::builder().people().settings(|settings| {
        settings.sms_budget_per_day = BUDGET;
        settings.sms_countries = vec!["+55".into(), "+351".into()];
    });
    Arc::new(builder.start().await)
}

async fn messages(app: &TestApp) -> i64 {
    app.count("SELECT count(*) FROM job WHERE kind = 'sms.send'").await
}

/// Somebody new, on a network of their own, adds a number.
async fn add(app: &Arc<TestApp>, index: u8, number: &str) -> Answer {
    let app = app.from_address(Ipv4Addr::new(198, 18, 0, index));
    let mut browser = register(&app, &format!("person{index}@example.test")).await;
    let mut flow = enrol(&mut browser, "phone").await;
    flow.attempt(&mut browser, "phone/add", json!({"number": number})).await
}

#[tokio::test]
async fn numbers_outside_the_listed_countries_get_no_message_and_use_up_nothing() {
    let app = app().await;
    for index in 0..20 {
        let refused = add(&app, index, &format!("+88213000{index:04}")).await;
        assert_eq!(refused.status, 422, "{}", refused.text());
        assert!(refused.text().contains("number"), "{}", refused.text());
    }
    assert_eq!(messages(&app).await, 0);
    let sent = add(&app, 100, "+351912345678").await;
    assert_eq!(sent.status, 200, "{}", sent.text());
    assert_eq!(messages(&app).await, 1);
}

/// Somebody with a password and a number they verified.
async fn with_number(app: &Arc<TestApp>, number: &str) {
    let mut browser = register_with_password(app, ANA).await;
    let mut proved = browser.open(json!({"kind": "reauthenticate"})).await;
    proved.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    let mut flow = enrol(&mut browser, "phone").await;
    flow.act(&mut browser, "phone/add", json!({"number": number})).await;
    let code = app.texted_code(number).await;
    flow.act(&mut browser, "phone/verify", json!({"code": code})).await;
}

#[tokio::test]
async fn new_numbers_use_up_half_of_the_days_budget_and_leave_the_rest_to_verified_ones() {
    let app = app().await;
    with_number(&app, "+5511987654321").await;
    app.sql("DELETE FROM limit_bucket; DELETE FROM job").await;
    let mut statuses = Vec::new();
    for index in 10..22 {
        statuses.push(add(&app, index, &format!("+35191000{index:04}")).await.status.as_u16());
    }
    // Half of the budget is for new numbers; half of that at once, the rest over the day.
    let expected: Vec<u16> = [[200; 2].as_slice(), &[429; 10]].concat();
    assert_eq!(statuses, expected);
    assert_eq!(messages(&app).await, 2);

    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in", "level": "aal2"})).await;
    flow.act(&mut browser, "password/check", json!({"identifier": ANA, "password": PASSWORD})).await;
    flow.act(&mut browser, "sms_code/send", nothing()).await;
    assert_eq!(messages(&app).await, 3, "whoever has a number gets a message all the same");
}

#[tokio::test]
async fn the_whole_installation_sends_no_more_than_its_budget_in_a_day() {
    let app = app().await;
    with_number(&app, "+5511987654321").await;
    app.sql("DELETE FROM limit_bucket; DELETE FROM job").await;
    for index in 0..20 {
        // Everything that counts one person or one network is full again; only the budget is not.
        let bucket = app.app.secrets.limit_key("sms_send.everybody", b"");
        let keep = "DELETE FROM limit_bucket WHERE bucket_key <> $1";
        app.database.client().await.execute(keep, &[&bucket.as_slice()]).await.unwrap();
        let app = app.from_address(Ipv4Addr::new(198, 18, 1, index));
        let mut browser = Browser::new(&app);
        let mut flow = browser.open(json!({"kind": "sign_in", "level": "aal2"})).await;
        flow.act(&mut browser, "password/check", json!({"identifier": ANA, "password": PASSWORD})).await;
        let sent = flow.attempt(&mut browser, "sms_code/send", nothing()).await.status.as_u16();
        assert_eq!(sent, if index < 4 { 200 } else { 429 }, "{index}");
    }
    // Half of it at once; the other half comes back over the day.
    assert_eq!(messages(&app).await, i64::from(BUDGET / 2));
}

#[tokio::test]
async fn a_message_to_another_country_is_not_delivered_however_it_was_queued() {
    let app = app().await;
    jobs::run_due(&app.app).await.unwrap();
    let letter = Sms { to: "+8821300001".into(), text: "code".into(), not_after: None };
    let (service, letter) = (&app.app, &letter);
    let queued =
        service.store.run_tx("test.sms", |tx| async move { sms::enqueue(service, &tx, letter).await });
    queued.await.unwrap();
    jobs::run_due(&app.app).await.unwrap();
    let parked = jobs::parked(&app.app.store).await.unwrap();
    assert_eq!(parked[0].last_error.as_deref(), Some("the number is not in any of sms_countries"));
}

#[tokio::test]
async fn sub_addresses_count_as_the_mailbox_they_reach() {
    let app = app().await;
    let mut statuses = Vec::new();
    for index in 0..12 {
        let app = app.from_address(Ipv4Addr::new(198, 18, 2, index));
        let mut browser = Browser::new(&app);
        let mut flow = browser.open(json!({"kind": "register"})).await;
        let victim = format!("Victim+{index}@example.test");
        let answer = flow.attempt(&mut browser, "email_code/send", json!({"identifier": victim})).await;
        statuses.push(answer.status.as_u16());
    }
    let expected: Vec<u16> = [[200; 5].as_slice(), &[429; 7]].concat();
    assert_eq!(statuses, expected, "five mails to one mailbox");
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "register"})).await;
    let plain = json!({"identifier": "victim@example.test"});
    assert_eq!(flow.attempt(&mut browser, "email_code/send", plain).await.status, 429);
    let other = json!({"identifier": "other@example.test"});
    assert_eq!(flow.attempt(&mut browser, "email_code/send", other).await.status, 200);
}
