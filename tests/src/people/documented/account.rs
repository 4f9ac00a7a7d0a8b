//! Step-up, binding more, and what a person sees of their sessions.

use porteiro_testkit::{Browser, Transcript, VirtualAuthenticator, nothing};
use serde_json::json;

use super::{
    super::{
        PASSWORD, app, decode_base32, register, register_with_passkey, register_with_password, step_now,
    },
    ways_in::prove_password,
};

const ANA: &str = "ana@example.test";

pub async fn all(transcript: &Transcript) {
    step_up(transcript).await;
    add_a_passkey(transcript).await;
    change_a_password(transcript).await;
    add_totp(transcript).await;
    make_recovery_codes(transcript).await;
    add_an_address(transcript).await;
    add_a_phone_number(transcript).await;
    sessions(transcript).await;
}

async fn step_up(transcript: &Transcript) {
    transcript.section("Step-up");
    transcript.say(
        "A change to how the account is entered needs proofs of the last ten minutes, at the best level the account \
         can reach. Without them it is refused, and the refusal says which flow to open.",
    );
    let app = app().await;
    let (mut browser, mut authenticator) = register_with_passkey(&app, ANA).await;
    let listed = browser.get("/v1/account/credentials").await.json();
    let passkey = listed["items"].as_array().unwrap().iter().find(|item| item["kind"] == "passkey").unwrap();
    let path = format!("/v1/account/credentials/{}", passkey["id"].as_str().unwrap());
    browser.transcript = Some(transcript.clone());
    let refused = browser.delete(&path).await;
    assert_eq!(refused.json()["code"], "step_up_required");
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "passkey/begin", nothing()).await;
    let credential = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut browser, "passkey/finish", json!({"credential": credential})).await;
    transcript.say("The session stays and has a new token; the old one is dead. Now the change is allowed:");
    assert_eq!(browser.delete(&path).await.status, 204);
}

/// Somebody with a password who proved it just now, and whose next calls are written down.
async fn owner(transcript: &Transcript) -> (std::sync::Arc<porteiro_testkit::TestApp>, Browser) {
    let app = app().await;
    let mut browser = register_with_password(&app, ANA).await;
    prove_password(&mut browser).await;
    app.forget_limits().await;
    browser.transcript = Some(transcript.clone());
    (app, browser)
}

async fn add_a_passkey(transcript: &Transcript) {
    transcript.section("Adding a passkey");
    transcript.say("`enrol` names the one kind that is bound. Ana proved her password a moment ago.");
    let (_app, mut browser) = owner(transcript).await;
    let mut flow = browser.open(json!({"kind": "enrol", "enrol": "passkey"})).await;
    flow.act(&mut browser, "passkey/enrol_begin", nothing()).await;
    let mut authenticator = VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    let credential = authenticator.register(&flow.now["challenge"]["public_key"]);
    flow.act(&mut browser, "passkey/enrol_finish", json!({"credential": credential})).await;
    assert_eq!(flow.stage(), "complete");
    transcript.say("Every address of the account gets a mail about it.");
}

async fn change_a_password(transcript: &Transcript) {
    transcript.section("Changing a password");
    transcript.say("Takes the current one too, however fresh the session is.");
    let (_app, mut browser) = owner(transcript).await;
    let mut flow = browser.open(json!({"kind": "enrol", "enrol": "password"})).await;
    let input = json!({"current_password": PASSWORD, "new_password": "another long password"});
    flow.act(&mut browser, "password/set", input).await;
    assert_eq!(flow.stage(), "complete");
}

async fn add_totp(transcript: &Transcript) {
    transcript.section("Adding TOTP");
    let (_app, mut browser) = owner(transcript).await;
    let mut flow = browser.open(json!({"kind": "enrol", "enrol": "totp"})).await;
    flow.act(&mut browser, "totp/enrol_begin", nothing()).await;
    transcript.say("The secret is shown this once. A code of it shows that it arrived, and is used up.");
    let base32 = flow.now["challenge"]["secret"].as_str().unwrap().to_owned();
    let secret = porteiro_protocol::totp::TotpSecret::from_bytes(&decode_base32(&base32)).unwrap();
    flow.act(&mut browser, "totp/enrol_finish", json!({"code": secret.code(step_now(0))})).await;
    assert_eq!(flow.stage(), "complete");
}

async fn make_recovery_codes(transcript: &Transcript) {
    transcript.section("Making recovery codes");
    transcript.say("Ten codes, shown once; a new set replaces the old one.");
    let (_app, mut browser) = owner(transcript).await;
    let mut flow = browser.open(json!({"kind": "enrol", "enrol": "recovery_codes"})).await;
    flow.act(&mut browser, "recovery_code/generate", nothing()).await;
    assert_eq!(flow.stage(), "complete");
}

async fn add_an_address(transcript: &Transcript) {
    transcript.section("Adding an address");
    let (app, mut browser) = owner(transcript).await;
    let mut flow = browser.open(json!({"kind": "enrol", "enrol": "email"})).await;
    flow.act(&mut browser, "email/add", json!({"address": "ana@second.test"})).await;
    let code = app.mailed_code("ana@second.test").await;
    flow.act(&mut browser, "email/verify", json!({"code": code})).await;
    assert_eq!(flow.stage(), "complete");
}

async fn add_a_phone_number(transcript: &Transcript) {
    transcript.section("Adding a phone number");
    let (app, mut browser) = owner(transcript).await;
    let mut flow = browser.open(json!({"kind": "enrol", "enrol": "phone"})).await;
    flow.act(&mut browser, "phone/add", json!({"number": "+351912345678"})).await;
    let code = app.texted_code("+351912345678").await;
    flow.act(&mut browser, "phone/verify", json!({"code": code})).await;
    assert_eq!(flow.stage(), "complete");
}

async fn sessions(transcript: &Transcript) {
    transcript.section("Sessions: listing and ending them");
    let app = app().await;
    register(&app, ANA).await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    for agent in ["Second/1.0", "Third/1.0"] {
        browser = Browser::new(&app);
        browser.user_agent = agent.into();
        let mut flow = browser.open(json!({"kind": "sign_in"})).await;
        flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
        let code = app.mailed_code(ANA).await;
        flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
        flow.act(&mut browser, "enrol/skip", nothing()).await;
    }
    browser.transcript = Some(transcript.clone());
    let listed = browser.get("/v1/account/sessions").await.json();
    let id = |current: bool| {
        let all = listed["items"].as_array().unwrap();
        all.iter().find(|item| item["current"] == current).unwrap()["id"].as_str().unwrap().to_owned()
    };
    transcript.say("Ending another session needs a fresh proof, as here a mailbox proved a moment ago:");
    assert_eq!(browser.delete(&format!("/v1/account/sessions/{}", id(false))).await.status, 204);
    transcript.say("All but this one:");
    assert_eq!(browser.delete("/v1/account/sessions").await.status, 200);
    transcript.say("Signing out is ending one's own session, and needs nothing more:");
    assert_eq!(browser.delete(&format!("/v1/account/sessions/{}", id(true))).await.status, 204);
    assert_eq!(browser.get("/v1/account").await.status, 401);
}
