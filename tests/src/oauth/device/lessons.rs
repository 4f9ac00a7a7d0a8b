//! What went wrong with this grant elsewhere, and what must not be had through it.

use http::Method;
use porteiro_service::oauth::clients::Trust;
use serde_json::json;

use super::{
    super::{LEDGER, app, registration::REGISTER},
    GRANT, Relying, allows, asks, clerk, error, person, polls, polls_in_time, television,
};
use crate::organizations::driver::{account_of, call, platform_key};

/// authentik CVE-2024-52287: the token had the scopes the device asked for last, not those the person saw.
#[tokio::test]
async fn cve_2024_52287_scopes_are_those_that_were_shown() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    allows(&mut person(&app).await, &asked.user_code).await;
    let form = [("device_code", asked.device_code.as_str()), ("scope", "openid email offline_access")];
    let answer = device.token(&app, GRANT, &form).await.json();
    assert_eq!(answer["scope"], "openid", "{answer}");
    let token = answer["refresh_token"].as_str().unwrap();
    let wider = device.refresh(&app, token, &[("scope", "openid email")]).await;
    assert_eq!(error(&wider), "invalid_scope");
}

/// The same for the other parts of authority: another API at the poll is refused.
#[tokio::test]
async fn an_api_is_the_one_that_was_shown() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    allows(&mut person(&app).await, &asked.user_code).await;
    let form = [("device_code", asked.device_code.as_str()), ("resource", LEDGER)];
    assert_eq!(error(&device.token(&app, GRANT, &form).await), "invalid_target");
    assert_eq!(polls_in_time(&app, &device, &asked.device_code).await.status, 200, "nothing was used up");
}

/// authentik CVE-2024-38371: who may use an app was not asked at this grant.
#[tokio::test]
async fn cve_2024_38371_an_organization_keeps_a_client_out_here_too() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let (mut ana, here) = clerk(&app).await;
    let more = [("scope", "salaries:read"), ("organization", "here")];
    let asked = asks(&app, &device, &more).await;
    allows(&mut ana, &asked.user_code).await;
    let tokens = polls(&app, &device, &asked.device_code).await.json();
    assert_eq!(tokens["organization"], here.to_string());

    app.sql("UPDATE organization SET policy = '{\"third_party_clients\": \"listed\"}'").await;
    let asked = asks(&app, &device, &more).await;
    let flow = super::typed(&mut ana, &asked.user_code).await;
    assert_eq!((flow.stage(), &flow.now["reason"]), ("denied", &json!("request_refused")), "{}", flow.now);
    assert_eq!(error(&polls(&app, &device, &asked.device_code).await), "access_denied");
}

/// Keycloak CVE-2026-88770: an account that was locked meanwhile got its tokens through this grant.
#[tokio::test]
async fn cve_2026_88770_a_locked_account_gets_nothing() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    let account = account_of(&mut ana).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    allows(&mut ana, &asked.user_code).await;
    let operator = platform_key(&app, &["platform.accounts:write"]).await;
    for (verb, body) in [("disable", json!({"reason": "test"})), ("enable", json!({}))] {
        let path = format!("/v1/platform/accounts/{account}/{verb}");
        let why = [("porteiro-reason", "test")];
        let done = call(&app, Method::POST, &path, &operator, Some(&body), &why).await;
        assert!(done.status.is_success(), "{}", done.text());
        let answer = polls_in_time(&app, &device, &asked.device_code).await;
        assert_eq!(error(&answer), "invalid_grant", "{verb}");
    }
}

/// Zitadel, 2026: a device code of another client was taken.
#[tokio::test]
async fn a_device_code_is_its_clients() {
    let app = app().await;
    let (device, other) =
        (television(&app, Trust::Verified).await, television(&app, Trust::FirstParty).await);
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    assert_eq!(error(&polls(&app, &other, &asked.device_code).await), "invalid_grant");
    allows(&mut person(&app).await, &asked.user_code).await;
    assert_eq!(error(&polls(&app, &other, &asked.device_code).await), "invalid_grant");
    for junk in ["", "x", "pt_dc_", &asked.device_code[..asked.device_code.len() - 2], &asked.user_code] {
        let answer = polls(&app, &device, junk).await;
        assert!(matches!(error(&answer).as_str(), "invalid_grant" | "invalid_request"), "{junk}");
    }
    assert_eq!(polls(&app, &device, &asked.device_code).await.status, 200);
}

/// A client somebody had checked, and then thought better of it.
#[tokio::test]
async fn a_client_that_lost_its_trust_lets_no_device_in() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    app.sql("UPDATE client SET trust = 'unverified', changed_at = clock_timestamp()").await;
    let mut ana = person(&app).await;
    let mut flow = ana.open(json!({"kind": "confirm_device"})).await;
    let answer = flow.attempt(&mut ana, "device/look", json!({"user_code": asked.user_code})).await;
    assert_eq!(answer.status, 422, "{}", answer.text());
}

/// `default_max_age` of a client counts, although what it asks is known only when the person types the code.
#[tokio::test]
async fn a_client_that_wants_a_fresh_proof_gets_one() {
    let app = app().await;
    let more = json!({"redirect_uris": [], "grant_types": [GRANT], "default_max_age": 300});
    let device = Relying::with(&app, Trust::Verified, more).await;
    let mut ana = person(&app).await;
    app.sql(
        "UPDATE session SET proofs = (
             SELECT jsonb_agg(p || jsonb_build_object('at', (p->>'at')::int8 - 3600)) FROM jsonb_array_elements(proofs) p)",
    )
    .await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    let mut flow = super::typed(&mut ana, &asked.user_code).await;
    assert_eq!(flow.stage(), "raise", "{}", flow.now);
    flow.act(&mut ana, "password/check", json!({"password": crate::people::PASSWORD})).await;
    assert_eq!(flow.stage(), "consent", "{}", flow.now);
}

/// docs/decisions/0064: off unless an administrator gave it to a client that needs it, and nothing that administers.
#[tokio::test]
async fn the_grant_is_given_not_taken_and_administers_nothing() {
    let app = app().await;
    let web = Relying::web(&app).await;
    let answer = web.call(&app, "/connect/device", &[("scope", "openid")]).await;
    assert_eq!(error(&answer), "unauthorized_client");
    let body = json!({"client_name": "X", "grant_types": [GRANT], "redirect_uris": []});
    let answer = app.json(REGISTER, &body).await;
    assert_eq!(error(&answer), "invalid_client_metadata", "{}", answer.text());
    let house = television(&app, Trust::FirstParty).await;
    for scope in ["organization:read", "members:write", "platform.accounts:read", "account"] {
        let answer = house.call(&app, "/connect/device", &[("scope", scope)]).await;
        assert_eq!(error(&answer), "invalid_scope", "{scope}");
    }
    let fine = house.call(&app, "/connect/device", &[("scope", "invoices:read")]).await;
    assert_eq!(fine.status, 200, "{}", fine.text());
}

#[tokio::test]
async fn what_a_device_holds_ends_within_a_week() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let asked = asks(&app, &device, &[("scope", "openid offline_access")]).await;
    allows(&mut person(&app).await, &asked.user_code).await;
    assert_eq!(polls(&app, &device, &asked.device_code).await.status, 200);
    let days = "SELECT count(*) FROM oauth_grant
                WHERE ends_at <= created_at + interval '7 days' AND expires_at <= ends_at AND offline";
    assert_eq!(app.count(days).await, 1);
}
