//! Device authorization (RFC 8628): a device asks, a person with a browser decides.

mod codes;
mod lessons;
mod polling;
mod windows;

use std::sync::Arc;

use porteiro_protocol::id::OrganizationId;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, Browser, Flow, TestApp, nothing};
use serde_json::{Value, json};

use super::{
    app,
    driver::{Relying, person, userinfo},
};

use crate::organizations::driver::{account_of, join, organization, payroll, role};

pub const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Something that cannot open a browser.
pub async fn television(app: &TestApp, trust: Trust) -> Relying {
    let more =
        json!({"client_name": "Television", "redirect_uris": [], "grant_types": [GRANT, "refresh_token"]});
    Relying::with(app, trust, more).await
}

/// Somebody who may read salaries in an organization.
async fn clerk(app: &Arc<TestApp>) -> (Browser, OrganizationId) {
    payroll(app).await;
    let mut ana = person(app).await;
    let here = organization(app, "here").await;
    role(app, here, "clerk", &["salaries:read"]).await;
    let account = account_of(&mut ana).await;
    join(app, here, account, "clerk").await;
    (ana, here)
}

/// The codes a device gets.
pub struct Asked {
    pub device_code: String,
    pub user_code: String,
    pub answer: Value,
}

pub async fn asks(app: &TestApp, device: &Relying, more: &[(&str, &str)]) -> Asked {
    let answer = device.call(app, "/connect/device", more).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    let text = |name: &str| answer[name].as_str().unwrap().to_owned();
    Asked { device_code: text("device_code"), user_code: text("user_code"), answer }
}

pub async fn polls(app: &TestApp, device: &Relying, code: &str) -> Answer {
    device.token(app, GRANT, &[("device_code", code)]).await
}

/// The same, as one that has waited long enough.
pub async fn polls_in_time(app: &TestApp, device: &Relying, code: &str) -> Answer {
    app.sql("UPDATE device_request SET polled_at = polled_at - interval '2 minutes'").await;
    polls(app, device, code).await
}

/// Somebody who is signed in types the code.
pub async fn typed(browser: &mut Browser, code: &str) -> Flow {
    let mut flow = browser.open(json!({"kind": "confirm_device"})).await;
    assert_eq!(flow.stage(), "device", "{}", flow.now);
    flow.act(browser, "device/look", json!({"user_code": code})).await;
    flow
}

pub async fn allows(browser: &mut Browser, code: &str) {
    let mut flow = typed(browser, code).await;
    assert_eq!(flow.stage(), "consent", "{}", flow.now);
    flow.act(browser, "consent/allow", nothing()).await;
    assert_eq!(flow.now["continue"], json!({"type": "device", "outcome": "approved"}), "{}", flow.now);
}

pub fn error(answer: &Answer) -> String {
    assert_eq!(answer.status, 400, "{}", answer.text());
    answer.json()["error"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_device_is_let_in_by_a_person_with_a_browser() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let asked = asks(&app, &device, &[("scope", "openid email offline_access")]).await;
    let page = format!("{}/device", app.app.issuer());
    assert_eq!(asked.answer["verification_uri"], page);
    assert_eq!(asked.answer["verification_uri_complete"], format!("{page}?user_code={}", asked.user_code));
    assert_eq!((&asked.answer["expires_in"], &asked.answer["interval"]), (&json!(300), &json!(5)));
    assert_eq!(error(&polls(&app, &device, &asked.device_code).await), "authorization_pending");

    let mut ana = person(&app).await;
    let mut flow = typed(&mut ana, &asked.user_code.to_lowercase().replace('-', " ")).await;
    let request = &flow.now["request"];
    assert_eq!(request["client"]["name"], "Television");
    assert_eq!(request["client"]["trust"], "verified");
    assert_eq!(request["device"]["user_code"], asked.user_code.as_str());
    assert_eq!(request["device"]["same_network"], true);
    assert_eq!(request["redirect_host"], Value::Null);
    let scopes: Vec<&str> =
        request["scopes"].as_array().unwrap().iter().map(|scope| scope["name"].as_str().unwrap()).collect();
    assert_eq!(scopes, ["openid", "email", "offline_access"]);
    assert_eq!(error(&polls_in_time(&app, &device, &asked.device_code).await), "authorization_pending");
    flow.act(&mut ana, "consent/allow", nothing()).await;
    assert_eq!(flow.now["continue"], json!({"type": "device", "outcome": "approved"}));
    assert_eq!(flow.show(&mut ana).await.json()["continue"], flow.now["continue"], "a reload says the same");

    let answer = polls_in_time(&app, &device, &asked.device_code).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let tokens = answer.json();
    assert_eq!(tokens["scope"], "openid email offline_access");
    assert!(tokens["id_token"].is_string());
    let me = userinfo(&app, tokens["access_token"].as_str().unwrap()).await.json();
    assert_eq!(me["email"], "ana@example.test");
    let again = device.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(again.status, 200, "{}", again.text());
}

#[tokio::test]
async fn a_no_is_told_to_the_device() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    for way in ["consent/deny", "cancel"] {
        let asked = asks(&app, &device, &[("scope", "openid")]).await;
        let mut flow = typed(&mut ana, &asked.user_code).await;
        if way == "cancel" {
            let ended = ana.delete(&format!("/v1/flows/{}", flow.id())).await.json();
            assert_eq!(ended["continue"]["outcome"], "refused", "{ended}");
        } else {
            flow.act(&mut ana, way, nothing()).await;
            assert_eq!(
                flow.now["continue"],
                json!({"type": "device", "outcome": "refused", "error": "access_denied"})
            );
        }
        for _ in 0..2 {
            let answer = polls_in_time(&app, &device, &asked.device_code).await;
            assert_eq!(error(&answer), "access_denied", "{way}");
        }
        let mut late = ana.open(json!({"kind": "confirm_device"})).await;
        let answer = late.attempt(&mut ana, "device/look", json!({"user_code": asked.user_code})).await;
        assert_eq!(answer.status, 422, "decided is decided");
    }
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 0);
}

/// A stolen or guessed code, and a person who did not ask, are the danger: it is always asked, whoever the client is, and
/// a yes is not remembered for the next time.
#[tokio::test]
async fn a_person_is_asked_every_time() {
    let app = app().await;
    let mut ana = person(&app).await;
    for trust in [Trust::FirstParty, Trust::Verified] {
        let device = television(&app, trust).await;
        for _ in 0..2 {
            let asked = asks(&app, &device, &[("scope", "openid")]).await;
            allows(&mut ana, &asked.user_code).await;
        }
    }
    assert_eq!(app.count("SELECT count(*) FROM consent").await, 0);
}

#[tokio::test]
async fn people_hear_of_it_and_can_take_it_back() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    let asked = asks(&app, &device, &[("scope", "openid offline_access")]).await;
    allows(&mut ana, &asked.user_code).await;
    let (subject, text) = app.mail("ana@example.test").await;
    assert_eq!(subject, "A device was given access to your account");
    assert!(text.contains("Television"), "{text}");
    let tokens = polls(&app, &device, &asked.device_code).await.json();
    let apps = ana.get("/v1/account/grants").await.json();
    assert_eq!(apps["items"][0]["name"], "Television", "{apps}");
    let id = apps["items"][0]["client_id"].as_str().unwrap();
    assert_eq!(ana.delete(&format!("/v1/account/grants/{id}")).await.status, 204);
    let answer = device.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(error(&answer), "invalid_grant");
    let logged =
        "SELECT count(*) FROM security_log WHERE kind = 'grant.issued' AND (payload->>'device')::bool";
    assert_eq!(app.count(logged).await, 1);
}

/// What a device asks in detail, for an organization, at a level, is asked as at the authorization endpoint.
#[tokio::test]
async fn a_level_is_reached_before_anybody_is_asked() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let (mut ana, mut keys) = crate::people::register_with_passkey(&app, "ana@example.test").await;
    app.sql("UPDATE session SET seen_at = now() - interval '3 hours'").await;
    let more = [("scope", "openid"), ("acr_values", "aal2")];
    let asked = asks(&app, &device, &more).await;
    let mut flow = typed(&mut ana, &asked.user_code).await;
    assert_eq!(flow.stage(), "raise", "{}", flow.now);
    flow.act(&mut ana, "passkey/begin", nothing()).await;
    let response = keys.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut ana, "passkey/finish", json!({"credential": response})).await;
    assert_eq!(flow.stage(), "consent");
    let more = [("scope", "openid"), ("acr_values", "urn:example:unknown")];
    let answer = device.call(&app, "/connect/device", &more).await;
    assert_eq!(error(&answer), "unmet_authentication_requirements");
}

#[tokio::test]
async fn without_a_page_to_confirm_on_it_is_not_served() {
    let app = TestApp::builder().people().settings(|settings| settings.device_page_path = None).start().await;
    let app = Arc::new(app);
    let metadata = app.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["device_authorization_endpoint"], Value::Null);
    assert!(!metadata["grant_types_supported"].as_array().unwrap().contains(&json!(GRANT)));
    let device = television(&app, Trust::Verified).await;
    let answer = device.call(&app, "/connect/device", &[("scope", "openid")]).await;
    assert_eq!(error(&answer), "unauthorized_client");
    let answer = polls(&app, &device, "pt_dc_x").await;
    assert_eq!(error(&answer), "unsupported_grant_type");
    let served = super::app().await.get("/.well-known/openid-configuration").await.json();
    assert!(served["device_authorization_endpoint"].as_str().unwrap().ends_with("/connect/device"));
    assert!(served["grant_types_supported"].as_array().unwrap().contains(&json!(GRANT)));
}
