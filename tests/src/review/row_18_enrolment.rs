//! Where a level is demanded and the person cannot reach it, enrolment is offered.

use std::sync::Arc;

use porteiro_testkit::{Browser, Flow, TestApp, VirtualAuthenticator, nothing};
use serde_json::{Value, json};

use crate::{
    oauth::driver::{Relying, parameter, verifier},
    organizations::driver::{account_of, house, join, organization},
    people::{
        PASSWORD, app, decode_base32, register, register_with_passkey, register_with_password, step_now,
    },
};

const ANA: &str = "ana@example.test";

async fn by_mail(app: &Arc<TestApp>, browser: &mut Browser, open: Value) -> Flow {
    app.forget_limits().await;
    let mut flow = browser.open(open).await;
    flow.act(browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    flow.act(browser, "email_code/check", json!({"code": code})).await;
    flow
}

async fn make_passkey(browser: &mut Browser, flow: &mut Flow) -> VirtualAuthenticator {
    let mut authenticator = VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    flow.act(browser, "passkey/enrol_begin", nothing()).await;
    let response = authenticator.register(&flow.now["challenge"]["public_key"]);
    flow.act(browser, "passkey/enrol_finish", json!({"credential": response})).await;
    authenticator
}

async fn add_totp(browser: &mut Browser, flow: &mut Flow) {
    flow.act(browser, "totp/enrol_begin", nothing()).await;
    let base32 = flow.now["challenge"]["secret"].as_str().unwrap().to_owned();
    let secret = porteiro_protocol::totp::TotpSecret::from_bytes(&decode_base32(&base32)).unwrap();
    flow.act(browser, "totp/enrol_finish", json!({"code": secret.code(step_now(0))})).await;
}

async fn level(browser: &mut Browser) -> Value {
    browser.get("/v1/account").await.json()["assurance"]["have"].clone()
}

#[tokio::test]
async fn who_has_nothing_but_a_mailbox_makes_a_passkey_and_goes_on() {
    let app = app().await;
    register(&app, ANA).await;
    let mut browser = Browser::new(&app);
    let mut flow = by_mail(&app, &mut browser, json!({"kind": "sign_in", "level": "aal2"})).await;
    assert_eq!(flow.stage(), "enrol", "{}", flow.now);
    assert!(!flow.offers().contains(&"enrol/skip"), "{:?}", flow.offers());
    let mut authenticator = make_passkey(&mut browser, &mut flow).await;
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
    assert_eq!(level(&mut browser).await, "aal2");
    let mut other = Browser::new(&app);
    let mut flow = other.open(json!({"kind": "sign_in", "level": "aal2"})).await;
    let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut other, "passkey/finish", json!({"credential": response})).await;
    assert_eq!(flow.stage(), "complete", "and next time it is asked for");
}

#[tokio::test]
async fn a_registration_with_a_level_makes_what_reaches_it() {
    for (wanted, ways) in [
        ("aal2", vec!["passkey"]),
        ("aal2", vec!["password", "totp"]),
        ("aal2", vec!["totp", "password"]),
        ("aal1", vec!["password"]),
    ] {
        let app = app().await;
        let mut browser = Browser::new(&app);
        let mut flow = by_mail(&app, &mut browser, json!({"kind": "register", "level": wanted})).await;
        flow.act(&mut browser, "profile/set", json!({"display_name": "Ana"})).await;
        for way in &ways {
            assert_eq!(flow.stage(), "enrol", "{ways:?}: {}", flow.now);
            assert!(!flow.offers().contains(&"enrol/skip"), "{:?}", flow.offers());
            match *way {
                "passkey" => drop(make_passkey(&mut browser, &mut flow).await),
                "totp" => add_totp(&mut browser, &mut flow).await,
                _password => {
                    let input = json!({"new_password": PASSWORD});
                    flow.act(&mut browser, "password/set", input).await;
                }
            }
        }
        assert_eq!(flow.stage(), "complete", "{ways:?}: {}", flow.now);
        assert_eq!(level(&mut browser).await, wanted, "{ways:?}");
    }
}

#[tokio::test]
async fn a_client_that_asks_for_a_level_waits_while_it_is_made_reachable() {
    let app = crate::oauth::app().await;
    let mut browser = register_with_password(&app, ANA).await;
    let client = Relying::web(&app).await;
    let verifier = verifier();
    let silent = client.ask(&mut browser, &verifier, &[("acr_values", "aal2"), ("prompt", "none")]).await;
    assert_eq!(parameter(&silent.json(), "error").as_deref(), Some("login_required"));
    let mut flow = Flow::new(client.ask(&mut browser, &verifier, &[("acr_values", "aal2")]).await.json());
    assert_eq!(
        (flow.stage(), flow.offers()),
        ("raise", vec!["password/check"]),
        "what they have comes first"
    );
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(flow.stage(), "enrol", "{}", flow.now);
    assert!(!flow.offers().contains(&"password/set"), "a second password reaches nothing");
    add_totp(&mut browser, &mut flow).await;
    flow.act(&mut browser, "consent/allow", nothing()).await;
    let code = parameter(&flow.now, "code").expect("a code");
    let tokens = client.redeem(&app, &code, &verifier).await.json();
    let id = porteiro_testkit::verify(
        tokens["id_token"].as_str().unwrap(),
        &app.get("/.well-known/jwks.json").await.json(),
    );
    assert_eq!(id.unwrap()["acr"], "http://idmanagement.gov/ns/assurance/aal/2");
}

#[tokio::test]
async fn an_organization_that_demands_a_level_leads_its_people_to_it() {
    let app = house().await;
    let mut browser = register(&app, ANA).await;
    let here = organization(&app, "here").await;
    join(&app, here, account_of(&mut browser).await, "owner").await;
    app.sql("UPDATE organization SET policy = '{\"min_level\": \"aal2\"}'").await;
    let client = Relying::web(&app).await;
    let asked = [("organization", "here")];
    let mut flow = Flow::new(client.ask(&mut browser, &verifier(), &asked).await.json());
    assert_eq!(flow.stage(), "enrol", "{}", flow.now);
    make_passkey(&mut browser, &mut flow).await;
    assert_eq!(flow.stage(), "consent", "{}", flow.now);
    let silent = [("organization", "here"), ("prompt", "none"), ("acr_values", "aal2")];
    let silent = client.ask(&mut browser, &verifier(), &silent).await.json();
    assert_ne!(parameter(&silent, "error").as_deref(), Some("unmet_authentication_requirements"));
}

/// What may be bound is bound by whoever may change how the account is entered, and by nobody else.
#[tokio::test]
async fn a_demanded_level_does_not_let_a_mailbox_add_to_what_an_account_has() {
    let app = app().await;
    register_with_password(&app, ANA).await;
    let mut browser = Browser::new(&app);
    let mut flow = by_mail(&app, &mut browser, json!({"kind": "sign_in", "level": "aal2"})).await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["password/check"]));
    for action in ["passkey/enrol_begin", "totp/enrol_begin", "password/set"] {
        let input = json!({"new_password": "another long password"});
        assert_eq!(flow.attempt(&mut browser, action, input).await.status, 400, "{action}");
    }
}

#[tokio::test]
async fn a_demanded_level_does_not_get_past_what_is_lost_or_worn_out() {
    let app = app().await;
    register_with_passkey(&app, ANA).await;
    let mut browser = Browser::new(&app);
    let flow = by_mail(&app, &mut browser, json!({"kind": "sign_in", "level": "aal2"})).await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["passkey/begin", "passkey/finish"]));
    app.sql("UPDATE credential SET state = 'exhausted' WHERE kind = 'passkey'").await;
    let flow = by_mail(&app, &mut browser, json!({"kind": "sign_in", "level": "aal2"})).await;
    assert_eq!((flow.stage(), &flow.now["reason"]), ("denied", &json!("unmet_authentication_requirements")));
}

#[tokio::test]
async fn an_old_proof_is_renewed_before_anything_is_bound() {
    let app = app().await;
    let mut browser = register(&app, ANA).await;
    app.sql("UPDATE session SET proofs = (SELECT jsonb_agg(jsonb_set(p, '{at}', to_jsonb((p->>'at')::bigint - 3600))) FROM jsonb_array_elements(proofs) p)").await;
    let flow = browser.open(json!({"kind": "reauthenticate", "level": "aal2"})).await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["email_code/send"]));
}
