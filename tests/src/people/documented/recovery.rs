//! Recovery, with something left and with nothing.

use porteiro_testkit::{Browser, Flow, TestApp, Transcript, nothing};
use serde_json::json;

use super::{
    super::{app, generate_recovery_codes, register_with_passkey, register_with_password},
    recorded,
    ways_in::prove_password,
};

const ANA: &str = "ana@example.test";

pub async fn all(transcript: &Transcript) {
    with_a_saved_code(transcript).await;
    with_nothing_left(transcript).await;
}

async fn prove_mailbox(app: &TestApp, browser: &mut Browser) -> Flow {
    app.forget_limits().await;
    let mut flow = browser.open(json!({"kind": "recover"})).await;
    flow.act(browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    flow.act(browser, "email_code/check", json!({"code": code})).await;
    flow
}

async fn with_a_saved_code(transcript: &Transcript) {
    transcript.section("Recovery with a saved code");
    let app = app().await;
    let mut owner = register_with_password(&app, ANA).await;
    prove_password(&mut owner).await;
    let codes = generate_recovery_codes(&mut owner).await;
    let mut browser = recorded(&app, transcript);
    let mut flow = prove_mailbox(&app, &mut browser).await;
    transcript
        .say("The mailbox alone is not enough for an account that has more than a mailbox and a password.");
    flow.act(&mut browser, "recovery_code/check", json!({"code": codes[0]})).await;
    transcript.say("A new way in comes before anything else, and cannot be skipped.");
    flow.act(&mut browser, "password/set", json!({"new_password": "a brand new password"})).await;
    assert_eq!(flow.stage(), "complete");
    transcript.say("Every other session of the account has ended, and its addresses are told.");
}

async fn with_nothing_left(transcript: &Transcript) {
    transcript.section("Recovery with nothing left: the hold");
    let app = app().await;
    register_with_passkey(&app, ANA).await;
    let mut browser = recorded(&app, transcript);
    let mut flow = prove_mailbox(&app, &mut browser).await;
    transcript.say("Ana lost the one passkey she had. She asks for the hold:");
    flow.act(&mut browser, "recovery/hold", nothing()).await;
    assert_eq!(flow.stage(), "denied");
    transcript.say(
        "Every address is told at once. Whoever still holds a credential can stop it: `DELETE /v1/account/recovery`, \
         after a step-up. Asking again does not shorten the wait. Seventy-two hours later the same person proves the \
         mailbox once more, in a new flow, and may bind a new way in:",
    );
    app.sql("UPDATE account SET recovery_hold_until = now()").await;
    browser.transcript = None;
    let mut flow = prove_mailbox(&app, &mut browser).await;
    browser.transcript = Some(transcript.clone());
    flow.show(&mut browser).await;
    flow.act(&mut browser, "password/set", json!({"new_password": "a brand new password"})).await;
    assert_eq!(flow.stage(), "complete");
}
