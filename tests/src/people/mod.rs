//! People: every flow end to end by JSON alone, one file per flow.

mod account;
mod asvs;
mod breached;
mod directories;
mod documented;
mod engine;
mod enumeration;
mod faults;
mod federation;
mod flood;
mod lessons;
mod lifecycle;
mod minimum_level;
mod once;
mod passkey;
mod password;
mod property;
mod reach;
pub mod recovery;
mod registration;
mod second_factor;
mod sign_in;
mod stuffing;
mod takeover;
mod text_sign_in;

use std::sync::Arc;

use porteiro_testkit::{Browser, Flow, TestApp, VirtualAuthenticator, nothing};
use serde_json::json;

pub const PASSWORD: &str = "correct horse battery";

/// The long forms of the proofs: `just prove`.
pub fn long() -> bool {
    porteiro_testkit::variable("PORTEIRO_TEST_LONG").is_some()
}

/// Whether every application was given one connection, to find what waits for itself: proofs about load are not for that.
pub fn single_connection() -> bool {
    porteiro_testkit::variable("PORTEIRO_TEST_POOL").is_some_and(|size| size == "1")
}

/// Every bucket stays full and every challenge takes as many answers as come, for proofs that limits would hide.
pub async fn lift_limits(app: &TestApp) {
    app.sql(
        "CREATE OR REPLACE FUNCTION stay_full() RETURNS trigger LANGUAGE plpgsql
             AS 'BEGIN NEW.full_at := now() - interval ''1 hour''; RETURN NEW; END';
         CREATE OR REPLACE TRIGGER stay_full BEFORE INSERT OR UPDATE ON limit_bucket
             FOR EACH ROW EXECUTE FUNCTION stay_full();
         DELETE FROM limit_bucket;
         UPDATE challenge SET max_attempts = 1000",
    )
    .await;
}

pub async fn app() -> Arc<TestApp> {
    Arc::new(TestApp::builder().people().start().await)
}

/// A person who registered by mail and skipped everything else.
pub async fn register(app: &Arc<TestApp>, address: &str) -> Browser {
    let mut browser = Browser::new(app);
    let mut flow = register_to_enrolment(app, &mut browser, address).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete");
    browser
}

/// Registration up to the offer of a passkey or password.
pub async fn register_to_enrolment(app: &Arc<TestApp>, browser: &mut Browser, address: &str) -> Flow {
    let mut flow = browser.open(json!({"kind": "register"})).await;
    flow.act(browser, "email_code/send", json!({"identifier": address})).await;
    let code = app.mailed_code(address).await;
    flow.act(browser, "email_code/check", json!({"code": code})).await;
    assert_eq!(flow.stage(), "profile");
    flow.act(browser, "profile/set", json!({"display_name": "Ana"})).await;
    assert_eq!(flow.stage(), "enrol");
    flow
}

pub async fn register_with_password(app: &Arc<TestApp>, address: &str) -> Browser {
    let mut browser = Browser::new(app);
    let mut flow = register_to_enrolment(app, &mut browser, address).await;
    flow.act(&mut browser, "password/set", json!({"new_password": PASSWORD})).await;
    assert_eq!(flow.stage(), "complete");
    browser
}

pub async fn register_with_passkey(app: &Arc<TestApp>, address: &str) -> (Browser, VirtualAuthenticator) {
    let mut browser = Browser::new(app);
    let mut authenticator = VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    let mut flow = register_to_enrolment(app, &mut browser, address).await;
    flow.act(&mut browser, "passkey/enrol_begin", nothing()).await;
    let response = authenticator.register(&flow.now["challenge"]["public_key"]);
    flow.act(&mut browser, "passkey/enrol_finish", json!({"credential": response})).await;
    assert_eq!(flow.stage(), "complete");
    (browser, authenticator)
}

/// Binds something to the account a browser is signed in to; its proofs must be fresh.
pub async fn enrol(browser: &mut Browser, kind: &str) -> Flow {
    browser.open(json!({"kind": "enrol", "enrol": kind})).await
}

/// Binds a TOTP secret and gives it.
pub async fn enrol_totp(browser: &mut Browser) -> porteiro_protocol::totp::TotpSecret {
    let mut flow = enrol(browser, "totp").await;
    assert_eq!(flow.stage(), "enrol", "{}", flow.now);
    flow.act(browser, "totp/enrol_begin", nothing()).await;
    let base32 = flow.now["challenge"]["secret"].as_str().unwrap().to_owned();
    let secret = porteiro_protocol::totp::TotpSecret::from_bytes(&decode_base32(&base32)).unwrap();
    let code = secret.code(step_now(0));
    flow.act(browser, "totp/enrol_finish", json!({"code": code})).await;
    assert_eq!(flow.stage(), "complete");
    secret
}

/// The current TOTP step, by the machine's clock, which is the database's.
pub fn step_now(offset: i64) -> i64 {
    let seconds = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    i64::try_from(seconds / 30).unwrap() + offset
}

pub async fn generate_recovery_codes(browser: &mut Browser) -> Vec<String> {
    let mut flow = enrol(browser, "recovery_codes").await;
    flow.act(browser, "recovery_code/generate", nothing()).await;
    let codes = flow.now["challenge"]["codes"].as_array().unwrap();
    codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect()
}

pub fn decode_base32(text: &str) -> Vec<u8> {
    let bits: Vec<String> = text
        .chars()
        .map(|c| format!("{:05b}", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".find(c).unwrap()))
        .collect();
    let bits = bits.concat();
    bits.as_bytes()
        .chunks_exact(8)
        .map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap())
        .collect()
}
