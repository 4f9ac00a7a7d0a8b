//! Passkeys through a software authenticator: every way to lie is refused.

use porteiro_testkit::{Browser, VirtualAuthenticator};
use serde_json::{Value, json};

use super::{app, register_with_passkey};

async fn attempt(browser: &mut Browser, response: impl FnOnce(&Value) -> Value) -> (u16, Value) {
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let response = response(&flow.now["challenge"]["public_key"]);
    let answer = flow.attempt(browser, "passkey/finish", json!({"credential": response})).await;
    (answer.status.as_u16(), answer.json())
}

#[tokio::test]
async fn two_calls_and_no_identifier() {
    let app = app().await;
    let (_, mut authenticator) = register_with_passkey(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let (status, body) = attempt(&mut browser, |options| {
        assert_eq!(options["userVerification"], "required");
        assert!(options["allowCredentials"].as_array().is_none_or(Vec::is_empty));
        authenticator.authenticate(options)
    })
    .await;
    assert_eq!((status, &body["stage"]), (200, &json!("complete")), "{body}");
}

#[tokio::test]
async fn lies_are_refused() {
    let app = app().await;
    let (_, mut honest) = register_with_passkey(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let mut lie = async |what: &str,
                         change: &dyn Fn(&mut VirtualAuthenticator),
                         undo: &dyn Fn(&mut VirtualAuthenticator)| {
        change(&mut honest);
        let (status, body) = attempt(&mut browser, |options| honest.authenticate(options)).await;
        assert_eq!((status, &body["code"]), (422, &json!("refused")), "{what}: {body}");
        undo(&mut honest);
    };
    lie("no user verification", &|a| a.user_verification = false, &|a| a.user_verification = true).await;
    lie("no user presence", &|a| a.user_presence = false, &|a| a.user_presence = true).await;
    lie("another origin", &|a| a.origin = "https://evil.example".into(), &|a| {
        a.origin = porteiro_testkit::ORIGIN.into();
    })
    .await;
    lie("another relying party", &|a| a.rp_id = "evil.example".into(), &|a| {
        a.rp_id = "id.example.test".into();
    })
    .await;

    let mut browser = Browser::new(&app);
    let (status, _) = attempt(&mut browser, |options| honest.authenticate(options)).await;
    assert_eq!(status, 200, "and the honest one still works");
}

#[tokio::test]
async fn an_answer_fits_only_its_own_challenge_and_only_once() {
    let app = app().await;
    let (_, mut authenticator) = register_with_passkey(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let first = browser.open(json!({"kind": "sign_in"})).await;
    let stale = authenticator.authenticate(&first.now["challenge"]["public_key"]);
    let (status, _) = attempt(&mut browser, |_| stale.clone()).await;
    assert_eq!(status, 422, "another flow's answer");

    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    let step = flow.now["step"].clone();
    flow.act(&mut browser, "passkey/finish", json!({"credential": response})).await;
    let again = json!({"credential": response, "step": step});
    let path = format!("/v1/flows/{}/passkey/finish", flow.id());
    assert_eq!(browser.post(&path, &again).await.status, 410, "the flow is over");
}

#[tokio::test]
async fn a_removed_or_unknown_key_is_named_so_that_its_provider_can_forget_it() {
    let app = app().await;
    let (mut browser, mut authenticator) = register_with_passkey(&app, "ana@example.test").await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    if flow.stage() == "raise" {
        flow.act(&mut browser, "passkey/begin", json!({})).await;
        let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
        flow.act(&mut browser, "passkey/finish", json!({"credential": response})).await;
    }
    let listed = browser.get("/v1/account/credentials").await.json();
    let id = listed["items"].as_array().unwrap().iter().find(|item| item["kind"] == "passkey").unwrap()["id"]
        .clone();
    let removed = browser.delete(&format!("/v1/account/credentials/{}", id.as_str().unwrap())).await;
    assert_eq!(removed.status, 204, "{}", removed.text());
    let mut other = Browser::new(&app);
    let (status, body) = attempt(&mut other, |options| authenticator.authenticate(options)).await;
    assert_eq!((status, &body["code"]), (422, &json!("credential_unknown")));
    assert!(body["signal"]["credential_id"].is_string());
}

/// CVE-2026-8830: what registration demands is checked by the server, whatever the browser did.
#[tokio::test]
async fn cve_2026_8830_registration_rules_are_checked_by_the_server() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = super::register_to_enrolment(&app, &mut browser, "ana@example.test").await;
    flow.act(&mut browser, "passkey/enrol_begin", json!({})).await;
    let options = flow.now["challenge"]["public_key"].clone();
    assert_eq!(options["authenticatorSelection"]["residentKey"], "required");
    assert_eq!(options["authenticatorSelection"]["userVerification"], "required");
    for (what, origin, verified) in
        [("origin", "https://evil.example", true), ("user verification", porteiro_testkit::ORIGIN, false)]
    {
        let mut liar = VirtualAuthenticator::new(origin, "id.example.test");
        liar.user_verification = verified;
        let response = liar.register(&options);
        let answer =
            flow.attempt(&mut browser, "passkey/enrol_finish", json!({"credential": response})).await;
        assert_eq!(answer.status, 422, "{what}: {}", answer.text());
    }
    assert_eq!(app.count("SELECT count(*) FROM credential").await, 0);
}

#[tokio::test]
async fn a_victim_under_attack_still_gets_in() {
    let app = app().await;
    let (_, mut authenticator) = register_with_passkey(&app, "ana@example.test").await;
    for guess in 0..15 {
        let mut attacker = Browser::new(&app);
        let mut flow = attacker.open(json!({"kind": "sign_in"})).await;
        let input =
            json!({"identifier": "ana@example.test", "password": format!("stuffed password {guess}")});
        flow.attempt(&mut attacker, "password/check", input).await;
    }
    let mut browser = Browser::new(&app);
    let (status, _) = attempt(&mut browser, |options| authenticator.authenticate(options)).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn related_origins_are_published_exactly_when_there_are_some() {
    let app = app().await;
    assert_eq!(app.get("/.well-known/webauthn").await.status, 404);
    let app = porteiro_testkit::TestApp::builder()
        .people()
        .settings(|settings| settings.passkey_origins = vec!["https://example.net".into()])
        .start()
        .await;
    let origins = app.get("/.well-known/webauthn").await.json();
    assert_eq!(origins["origins"], json!([porteiro_testkit::ORIGIN, "https://example.net"]));
    let app = std::sync::Arc::new(app);
    let (_, mut authenticator) = register_with_passkey(&app, "ana@example.test").await;
    authenticator.origin = "https://example.net".into();
    let mut browser = Browser::new(&app);
    let (status, _) = attempt(&mut browser, |options| authenticator.authenticate(options)).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn signals_tell_only_the_owner_which_keys_are_still_good() {
    let app = app().await;
    let (mut browser, authenticator) = register_with_passkey(&app, "ana@example.test").await;
    let listed = browser.get("/v1/account/credentials").await.json();
    assert_eq!(listed["signals"]["rp_id"], "id.example.test");
    assert_eq!(listed["signals"]["all_accepted_credential_ids"].as_array().unwrap().len(), 1);
    assert_eq!(authenticator.credential_ids().len(), 1);
}

#[tokio::test]
async fn a_passkey_made_without_asking_counts_only_once_it_was_verified() {
    let app = app().await;
    super::register_with_password(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let input = json!({"identifier": "ana@example.test", "password": super::PASSWORD});
    flow.act(&mut browser, "password/check", input).await;
    flow.act(&mut browser, "passkey/enrol_begin", json!({"conditional": true})).await;
    let mut authenticator = VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    authenticator.user_verification = false;
    authenticator.user_presence = false;
    let response = authenticator.register(&flow.now["challenge"]["public_key"]);
    flow.act(&mut browser, "passkey/enrol_finish", json!({"credential": response})).await;
    assert_eq!(flow.stage(), "complete");

    authenticator.user_presence = true;
    let mut other = Browser::new(&app);
    let (status, _) = attempt(&mut other, |options| authenticator.authenticate(options)).await;
    assert_eq!(status, 422, "never without verification");
    authenticator.user_verification = true;
    let (status, body) = attempt(&mut other, |options| authenticator.authenticate(options)).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(other.get("/v1/account").await.json()["assurance"]["have"], "aal2");
}
