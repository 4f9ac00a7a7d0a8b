//! The deployment's minimum level (docs/decisions/0137): nobody is signed in below it, and whoever cannot reach it is led
//! to what it takes.

use std::sync::Arc;

use http::Method;
use porteiro_protocol::{assurance::Level, totp::TotpSecret};
use porteiro_service::{
    http::Access,
    management::platform::{Change, change_at_console},
};
use porteiro_testkit::{Answer, Browser, Flow, TestApp, VirtualAuthenticator, nothing};
use serde_json::{Value, json};

use super::{
    PASSWORD, app, decode_base32, enrol_totp, recovery::recover, register, register_with_passkey,
    register_with_password, step_now,
};
use crate::{
    oauth::driver::{Relying, agree, parameter, userinfo, verifier},
    organizations::{
        api_keys::person,
        driver::{account_of, get, house, join, organization, organization_key},
    },
};

const ANA: &str = "ana@example.test";
const AAL2: &str = "http://idmanagement.gov/ns/assurance/aal/2";

fn requiring(level: Level) -> porteiro_testkit::TestAppBuilder {
    TestApp::builder().people().settings(|settings| settings.minimum_level = level)
}

/// The operator requires the level from now on.
async fn raised(app: &TestApp, level: Level) -> Arc<TestApp> {
    app.forget_limits().await;
    requiring(level).restart(app).await
}

/// The same browser, at the deployment as it is now.
fn moved(browser: &Browser, app: &Arc<TestApp>) -> Browser {
    let mut moved = Browser::new(app);
    moved.cookies.clone_from(&browser.cookies);
    moved
}

async fn make_passkey(browser: &mut Browser, flow: &mut Flow) {
    let mut authenticator = VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    flow.act(browser, "passkey/enrol_begin", nothing()).await;
    let response = authenticator.register(&flow.now["challenge"]["public_key"]);
    flow.act(browser, "passkey/enrol_finish", json!({"credential": response})).await;
}

async fn make_totp(browser: &mut Browser, flow: &mut Flow) -> TotpSecret {
    flow.act(browser, "totp/enrol_begin", nothing()).await;
    let base32 = flow.now["challenge"]["secret"].as_str().unwrap().to_owned();
    let secret = TotpSecret::from_bytes(&decode_base32(&base32)).unwrap();
    flow.act(browser, "totp/enrol_finish", json!({"code": secret.code(step_now(0))})).await;
    secret
}

async fn level(browser: &mut Browser) -> Value {
    browser.get("/v1/account").await.json()["assurance"]["have"].clone()
}

fn must_enrol(flow: &Flow) {
    assert_eq!(flow.stage(), "enrol", "{}", flow.now);
    assert!(!flow.offers().contains(&"enrol/skip"), "{:?}", flow.offers());
}

#[tokio::test]
async fn asvs_6_3_3_nobody_signs_in_with_one_factor_where_the_deployment_requires_two() {
    let lax = app().await;
    register_with_password(&lax, ANA).await;
    let app = raised(&lax, Level::Aal2).await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "password/check", json!({"identifier": ANA, "password": PASSWORD})).await;
    must_enrol(&flow);
    assert_eq!(flow.now["assurance"]["need"], "aal2", "a client can say why");
    assert!(!flow.offers().contains(&"password/set") && !flow.offers().contains(&"phone/add"));
    assert_eq!(flow.attempt(&mut browser, "enrol/skip", nothing()).await.status, 400);
    assert!(browser.session().is_none(), "nobody is signed in yet");
    let secret = make_totp(&mut browser, &mut flow).await;
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
    assert_eq!(level(&mut browser).await, "aal2");
    let mut other = Browser::new(&app);
    let mut flow = other.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut other, "password/check", json!({"identifier": ANA, "password": PASSWORD})).await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["totp/check"]), "and next time it is asked for");
    flow.act(&mut other, "totp/check", json!({"code": secret.code(step_now(1))})).await;
    must_not_ask_more(&mut other, &mut flow).await;
}

/// A passkey may still be offered.
async fn must_not_ask_more(browser: &mut Browser, flow: &mut Flow) {
    if flow.stage() == "enrol" {
        flow.act(browser, "enrol/skip", nothing()).await;
    }
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
    assert_eq!(level(browser).await, "aal2");
}

#[tokio::test]
async fn whoever_registers_is_led_to_a_second_factor_before_there_is_an_account() {
    for ways in [vec!["passkey"], vec!["password", "totp"]] {
        let app = Arc::new(requiring(Level::Aal2).start().await);
        let mut browser = Browser::new(&app);
        let mut flow = browser.open(json!({"kind": "register"})).await;
        flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
        let code = app.mailed_code(ANA).await;
        flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
        flow.act(&mut browser, "profile/set", json!({"display_name": "Ana"})).await;
        for way in ways {
            must_enrol(&flow);
            assert_eq!(app.count("SELECT count(*) FROM account").await, 0);
            match way {
                "passkey" => make_passkey(&mut browser, &mut flow).await,
                "totp" => drop(make_totp(&mut browser, &mut flow).await),
                _password => {
                    flow.act(&mut browser, "password/set", json!({"new_password": PASSWORD})).await;
                }
            }
        }
        assert_eq!(flow.stage(), "complete", "{}", flow.now);
        assert_eq!(level(&mut browser).await, "aal2");
    }
}

#[tokio::test]
async fn a_session_from_before_opens_no_route_until_it_is_raised() {
    let lax = app().await;
    let before = register_with_password(&lax, ANA).await;
    let app = raised(&lax, Level::Aal2).await;
    let mut browser = moved(&before, &app);
    let nobody = "00000000-0000-4000-8000-000000000000";
    let routes = porteiro_service::table();
    let routes: Vec<_> = routes.iter().filter(|route| route.access == Access::Session).collect();
    assert!(routes.len() > 20, "{}", routes.len());
    for route in routes {
        let fill = |part| if str::starts_with(part, '{') { nobody } else { part };
        let path = route.path.split('/').map(fill).collect::<Vec<_>>().join("/");
        let body = (route.method != Method::GET).then(|| json!({}));
        let answer = browser.call(route.method.clone(), &path, body.as_ref()).await;
        let told = answer.json();
        assert_eq!((answer.status.as_u16(), &told["code"]), (403, &json!("step_up_required")), "{path}");
        assert_eq!(told["flow"]["body"], json!({"kind": "reauthenticate", "level": "aal2"}), "{path}");
    }
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    assert_eq!(
        (flow.stage(), flow.offers()),
        ("raise", vec!["password/check"]),
        "what they have comes first"
    );
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    must_enrol(&flow);
    make_totp(&mut browser, &mut flow).await;
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
    assert_eq!(level(&mut browser).await, "aal2");
    assert_eq!(moved(&before, &app).get("/v1/account").await.status, 401, "the old token is worth nothing");
}

#[tokio::test]
async fn the_higher_of_the_deployments_and_the_organizations_level_is_required() {
    let lax = house().await;
    let mut browser = register(&lax, ANA).await;
    let here = organization(&lax, "here").await;
    join(&lax, here, account_of(&mut browser).await, "owner").await;
    let client = Relying::web(&lax).await;
    for (deployment, place, need) in [
        (Level::None, "aal1", "aal1"),
        (Level::Aal1, "none", "aal1"),
        (Level::Aal1, "aal2", "aal2"),
        (Level::Aal2, "aal1", "aal2"),
    ] {
        let app = raised(&lax, deployment).await;
        app.sql(&format!("UPDATE organization SET policy = '{{\"min_level\": \"{place}\"}}'")).await;
        let mut browser = moved(&browser, &app);
        let flow = client.ask(&mut browser, &verifier(), &[("organization", "here")]).await.json();
        assert_eq!((&flow["stage"], &flow["assurance"]["need"]), (&json!("enrol"), &json!(need)), "{flow}");
        let alone = Browser::new(&app).open(json!({"kind": "sign_in"})).await;
        assert_eq!(alone.now["assurance"]["need"], deployment.as_str(), "without the organization");
    }
}

#[tokio::test]
async fn whoever_can_neither_prove_nor_enrol_is_refused_with_the_reason() {
    let lax = app().await;
    register_with_passkey(&lax, ANA).await;
    let app = raised(&lax, Level::Aal2).await;
    app.sql("UPDATE credential SET state = 'exhausted' WHERE kind = 'passkey'").await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    assert_eq!((flow.stage(), &flow.now["reason"]), ("denied", &json!("unmet_authentication_requirements")));
    assert!(browser.session().is_none());
}

fn steps_up(answer: &Answer) {
    let told = answer.json();
    assert_eq!(answer.status, 400, "{told}");
    assert_eq!(told["error"], "insufficient_user_authentication", "{told}");
    assert_eq!(told["acr_values"], AAL2, "{told}");
}

#[tokio::test]
async fn what_was_granted_below_the_level_is_refused_at_every_endpoint_and_nothing_is_used_up() {
    let lax = crate::oauth::app().await;
    let mut browser = register_with_password(&lax, ANA).await;
    let client = Relying::web(&lax).await;
    let tokens = client.tokens(&mut browser, &lax, &[]).await;
    let waiting = client.code(&mut browser, &[]).await;
    let [access, refresh] = ["access_token", "refresh_token"].map(|name| tokens[name].as_str().unwrap());
    let app = raised(&lax, Level::Aal2).await;
    for _ in 0..2 {
        steps_up(&client.refresh(&app, refresh, &[]).await);
    }
    steps_up(&client.redeem(&app, &waiting.0, &waiting.1).await);
    assert_eq!(userinfo(&app, access).await.json()["error"], "insufficient_user_authentication");
    for token in [access, refresh] {
        let told = client.call(&app, "/connect/introspect", &[("token", token)]).await.json();
        assert_eq!(told, json!({"active": false}));
    }
    assert_eq!(client.refresh(&lax, refresh, &[]).await.status, 200, "lowered again");

    let mut browser = moved(&browser, &app);
    let silent = client.ask(&mut browser, &verifier(), &[("prompt", "none")]).await.json();
    assert_eq!(parameter(&silent, "error").as_deref(), Some("login_required"), "{silent}");
    let verifier = verifier();
    let mut flow = Flow::new(client.ask(&mut browser, &verifier, &[]).await.json());
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["password/check"]));
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    must_enrol(&flow);
    make_totp(&mut browser, &mut flow).await;
    let done = agree(&mut browser, flow.now).await;
    let code = parameter(&done, "code").unwrap_or_else(|| panic!("no code in {done}"));
    let tokens = client.redeem(&app, &code, &verifier).await.json();
    let again = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(again.status, 200, "{}", again.text());
    assert_eq!(userinfo(&app, again.json()["access_token"].as_str().unwrap()).await.status, 200);
}

#[tokio::test]
async fn a_personal_key_made_below_the_level_is_refused_and_an_organizations_own_is_not() {
    let lax = app().await;
    let here = organization(&lax, "here").await;
    let mut ana = person(&lax, ANA, here, "admin").await;
    let made = ana.key("here", &["members:read"]).await;
    let key = made["secret"].as_str().unwrap();
    let own = organization_key(&lax, here, &["members:read"]).await;
    let members = format!("/v1/organizations/{here}/members");
    assert_eq!(get(&lax, &members, key).await.status, 200);
    let app = raised(&lax, Level::Aal2).await;
    let refused = get(&app, &members, key).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["code"]), (403, &json!("step_up_required")));
    assert_eq!(get(&app, &members, &own).await.status, 200);
    let read = moved(&ana.browser, &app).get(&members).await;
    assert_eq!((read.status.as_u16(), &read.json()["code"]), (403, &json!("step_up_required")));
}

#[tokio::test]
async fn a_platform_administrators_token_from_before_is_refused() {
    let lax = house().await;
    let mut browser = register_with_password(&lax, ANA).await;
    let account = account_of(&mut browser).await;
    let change = Change::Grant(vec!["platform.clients:read".parse().unwrap()]);
    let (store, now) = (&lax.app.store, lax.app.clock.now());
    change_at_console(store, now, &*lax.app.entropy, account, &change).await.unwrap().unwrap();
    let client = Relying::console(&lax).await;
    let tokens = client.tokens(&mut browser, &lax, &[("scope", "platform.clients:read")]).await;
    let token = tokens["access_token"].as_str().unwrap();
    assert_eq!(get(&lax, "/v1/platform/clients", token).await.status, 200);
    let app = raised(&lax, Level::Aal2).await;
    let refused = get(&app, "/v1/platform/clients", token).await;
    assert_eq!(refused.status, 401, "{}", refused.text());
    assert!(refused.header("www-authenticate").contains(AAL2), "{:?}", refused.headers);
}

#[tokio::test]
async fn a_recovery_ends_at_the_level_with_what_it_enrols() {
    let lax = app().await;
    register_with_password(&lax, ANA).await;
    let app = raised(&lax, Level::Aal2).await;
    let mut browser = Browser::new(&app);
    let mut flow = recover(&app, &mut browser, ANA).await;
    must_enrol(&flow);
    assert!(!flow.offers().contains(&"password/check"), "it is forgotten: {:?}", flow.offers());
    flow.act(&mut browser, "password/set", json!({"new_password": "a brand new password"})).await;
    must_enrol(&flow);
    make_totp(&mut browser, &mut flow).await;
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
    assert_eq!(level(&mut browser).await, "aal2");
}

#[tokio::test]
async fn a_recovery_after_the_wait_is_not_asked_for_the_factor_that_is_lost() {
    let lax = app().await;
    let mut before = register_with_password(&lax, ANA).await;
    let mut flow = before.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut before, "password/check", json!({"password": PASSWORD})).await;
    enrol_totp(&mut before).await;
    let app = raised(&lax, Level::Aal2).await;
    let mut browser = Browser::new(&app);
    let mut flow = recover(&app, &mut browser, ANA).await;
    assert_eq!(flow.stage(), "raise", "a second factor is not bypassed: {}", flow.now);
    flow.act(&mut browser, "recovery/hold", nothing()).await;
    app.sql("UPDATE account SET recovery_hold_until = now()").await;
    let mut flow = recover(&app, &mut browser, ANA).await;
    must_enrol(&flow);
    flow.act(&mut browser, "password/set", json!({"new_password": "a brand new password"})).await;
    must_enrol(&flow);
    make_passkey(&mut browser, &mut flow).await;
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
    assert_eq!(app.count("SELECT count(*) FROM credential WHERE kind = 'totp'").await, 0);
    assert_eq!(level(&mut browser).await, "aal2");
}
