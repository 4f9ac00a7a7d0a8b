//! Registration and every way to sign in.

use porteiro_testkit::{Transcript, VirtualAuthenticator, nothing};
use serde_json::json;

use super::{
    super::{
        PASSWORD, app, enrol_totp, generate_recovery_codes, register, register_with_passkey,
        register_with_password, sign_in::link_token, step_now, text_sign_in,
    },
    recorded,
};

const ANA: &str = "ana@example.test";

pub async fn all(transcript: &Transcript) {
    register_by_mail_with_a_passkey(transcript).await;
    sign_in_with_a_passkey(transcript).await;
    sign_in_by_mailed_code(transcript).await;
    sign_in_by_magic_link(transcript).await;
    sign_in_by_text_message(transcript).await;
    sign_in_with_password_and_totp(transcript).await;
    sign_in_with_password_and_recovery_code(transcript).await;
    first_administrator(transcript).await;
}

async fn register_by_mail_with_a_passkey(transcript: &Transcript) {
    transcript.section("Registration by mail, with a passkey");
    let app = app().await;
    let mut browser = recorded(&app, transcript);
    let mut flow = browser.open(json!({"kind": "register"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    transcript.say(
        "The mail's subject begins with the code. Had Ana an account already, the answers would be the same up to here.",
    );
    let code = app.mailed_code(ANA).await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    flow.act(&mut browser, "profile/set", json!({"display_name": "Ana"})).await;
    transcript.say(
        "Nothing exists yet. A passkey, a password or neither: `enrol/skip` would complete the flow as well.",
    );
    flow.act(&mut browser, "passkey/enrol_begin", nothing()).await;
    transcript
        .say("`public_key` goes to `navigator.credentials.create` as it is, and what it gives comes back.");
    let mut authenticator = VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    let credential = authenticator.register(&flow.now["challenge"]["public_key"]);
    flow.act(&mut browser, "passkey/enrol_finish", json!({"credential": credential})).await;
    assert_eq!(flow.stage(), "complete");
    transcript.say("The account exists now, with its address and passkey, and the browser is signed in.");
    assert_eq!(browser.get("/v1/account").await.status, 200);
}

async fn sign_in_with_a_passkey(transcript: &Transcript) {
    transcript.section("Sign-in with a passkey");
    transcript.say("Two calls and no identifier: the first answer already carries the challenge.");
    let app = app().await;
    let (_, mut authenticator) = register_with_passkey(&app, ANA).await;
    let mut browser = recorded(&app, transcript);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let credential = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut browser, "passkey/finish", json!({"credential": credential})).await;
    assert_eq!(flow.stage(), "complete");
}

async fn sign_in_by_mailed_code(transcript: &Transcript) {
    transcript.section("Sign-in by mailed code");
    let app = app().await;
    register(&app, ANA).await;
    app.forget_limits().await;
    let mut browser = recorded(&app, transcript);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    transcript.say("A passkey is offered to who has none, once per flow.");
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete");
}

async fn sign_in_by_magic_link(transcript: &Transcript) {
    transcript.section("Sign-in by magic link");
    let app = app().await;
    register(&app, ANA).await;
    app.forget_limits().await;
    let mut browser = recorded(&app, transcript);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    transcript.say(
        "The same mail carries a link, `{base_url}/ui/link#{flow}.{token}`. What stands behind `#` never reaches a \
         server by itself: the page of the browser that began posts it. Opened anywhere else, the flow does not exist.",
    );
    let (_, text) = app.mail(ANA).await;
    flow.act(&mut browser, "email_link/redeem", json!({"token": link_token(&text)})).await;
    assert_eq!(flow.stage(), "enrol");
    flow.act(&mut browser, "enrol/skip", nothing()).await;
}

async fn sign_in_by_text_message(transcript: &Transcript) {
    transcript.section("Sign-in by text message");
    transcript.say(
        "Only where `sms_sign_in` is on. Ana added her number with `signs_in`. For an address without such a number the answers \
         are the same, and nobody gets a message.",
    );
    let app = text_sign_in::app().await;
    text_sign_in::with_number(&app, ANA, true).await;
    let mut browser = recorded(&app, transcript);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "sms_code/send", json!({"identifier": ANA})).await;
    let code = app.texted_code(text_sign_in::NUMBER).await;
    flow.act(&mut browser, "sms_code/check", json!({"code": code})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete");
}

async fn sign_in_with_password_and_totp(transcript: &Transcript) {
    transcript.section("Sign-in with a password, then TOTP");
    transcript
        .say("`level` says what the flow must reach; it is never lowered. Whoever has a second factor is asked for it whatever the level.");
    let app = app().await;
    let mut owner = register_with_password(&app, ANA).await;
    prove_password(&mut owner).await;
    let secret = enrol_totp(&mut owner).await;
    let mut browser = recorded(&app, transcript);
    let mut flow = browser.open(json!({"kind": "sign_in", "level": "aal2"})).await;
    let input = json!({"identifier": ANA, "password": PASSWORD});
    flow.act(&mut browser, "password/check", input).await;
    assert_eq!(flow.stage(), "raise");
    flow.act(&mut browser, "totp/check", json!({"code": secret.code(step_now(1))})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete");
}

async fn sign_in_with_password_and_recovery_code(transcript: &Transcript) {
    transcript.section("Sign-in with a password, then a recovery code");
    let app = app().await;
    let mut owner = register_with_password(&app, ANA).await;
    prove_password(&mut owner).await;
    let codes = generate_recovery_codes(&mut owner).await;
    let mut browser = recorded(&app, transcript);
    let mut flow = browser.open(json!({"kind": "sign_in", "level": "aal2"})).await;
    let input = json!({"identifier": ANA, "password": PASSWORD});
    flow.act(&mut browser, "password/check", input).await;
    flow.act(&mut browser, "recovery_code/check", json!({"code": codes[0]})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete");
}

async fn first_administrator(transcript: &Transcript) {
    transcript.section("The first administrator");
    transcript.say(
        "`porteiro bootstrap` prints a key. With it a register flow opens even where registration is closed, and the \
         account that it makes administers the platform. The key is spent at completion.",
    );
    let app = app().await;
    let armed = porteiro_service::bootstrap::arm(&app.app.store, &*app.app.entropy).await.unwrap();
    let porteiro_service::bootstrap::Armed::Key { key, .. } = armed else { panic!("no key") };
    let mut browser = recorded(&app, transcript);
    let open = json!({"kind": "register", "bootstrap_key": key.reveal().to_string()});
    let mut flow = browser.open(open).await;
    transcript.say("From here on as in any registration, until:");
    browser.transcript = None;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    flow.act(&mut browser, "profile/set", json!({"display_name": "Ana"})).await;
    browser.transcript = Some(transcript.clone());
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(browser.get("/v1/account").await.json()["platform_administrator"], true);
}

pub async fn prove_password(browser: &mut porteiro_testkit::Browser) {
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(flow.stage(), "complete");
}
