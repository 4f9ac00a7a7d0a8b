//! Tokens that speak for one organization (docs/decisions/0034).

use std::sync::Arc;

use porteiro_protocol::id::OrganizationId;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Browser, Flow, TestApp};
use serde_json::{Value, json};

use super::driver::{
    PAYROLL, account_of, claims, get, house, join, organization, organization_key, role, set_status,
};
use crate::oauth::{
    driver::{Relying, agree, parameter, person, userinfo, verifier},
    service,
};

const SALARIES: &str = "openid salaries:read";

/// Ana, an accountant in one organization.
pub(super) async fn accountant() -> (Arc<TestApp>, Browser, Relying, OrganizationId) {
    let app = house().await;
    let mut browser = person(&app).await;
    let here = organization(&app, "here").await;
    role(&app, here, "accountant", &["salaries:*", "reports:read"]).await;
    join(&app, here, account_of(&mut browser).await, "accountant").await;
    let client = Relying::web(&app).await;
    (app, browser, client, here)
}

async fn error(client: &Relying, browser: &mut Browser, more: &[(&str, &str)]) -> String {
    let answer = client.ask(browser, &verifier(), more).await;
    let body = agree(browser, answer.json()).await;
    parameter(&body, "error").unwrap_or_else(|| panic!("no error in {body}"))
}

pub(super) fn text<'a>(tokens: &'a Value, name: &str) -> &'a str {
    tokens[name].as_str().unwrap_or_else(|| panic!("no {name} in {tokens}"))
}

#[tokio::test]
async fn a_token_names_the_member_and_the_organization_and_everything_agrees() {
    let (app, mut browser, client, here) = accountant().await;
    let account = account_of(&mut browser).await.to_string();
    let asked = [("scope", SALARIES), ("organization", "here")];
    let tokens = client.tokens(&mut browser, &app, &asked).await;
    assert_eq!(tokens["organization"], here.to_string());
    let access = claims(text(&tokens, "access_token"));
    assert_eq!((&access["org"], &access["role"]), (&json!(here), &json!("accountant")));
    assert_eq!((&access["aud"], &access["scope"]), (&json!(PAYROLL), &json!(SALARIES)));
    let subject = access["sub"].as_str().unwrap();
    assert_ne!(subject, account, "the member, not the account");
    let id_token = claims(text(&tokens, "id_token"));
    assert_eq!(id_token["sub"], subject);
    assert!(id_token["org"].is_null() && id_token["role"].is_null(), "docs/decisions/0034");
    assert_eq!(userinfo(&app, text(&tokens, "access_token")).await.json()["sub"], subject);
    for (token, more) in [("access_token", "role"), ("refresh_token", "sub")] {
        let told = client.call(&app, "/connect/introspect", &[("token", text(&tokens, token))]).await.json();
        assert_eq!((&told["active"], &told["org"]), (&json!(true), &json!(here)), "{token}: {told}");
        assert_eq!((&told["sub"], told[more].is_string()), (&json!(subject), true));
    }
    let next = client.refresh(&app, text(&tokens, "refresh_token"), &[]).await.json();
    let next = claims(text(&next, "access_token"));
    assert_eq!(
        (&next["sub"], &next["org"], &next["role"]),
        (&access["sub"], &access["org"], &access["role"])
    );
    // Without an organization the same person is somebody else to the client.
    let plain = client.tokens(&mut browser, &app, &[]).await;
    let plain = claims(text(&plain, "access_token"));
    assert_eq!((&plain["sub"], plain.get("org"), plain.get("role")), (&json!(account), None, None));
    // The hint may be either, and means the same person.
    let hint = [("prompt", "none"), ("id_token_hint", text(&tokens, "id_token"))];
    client.code(&mut browser, &hint).await;
}

#[tokio::test]
async fn whatever_is_wrong_with_an_organization_has_one_answer_and_only_for_somebody_proved() {
    let (app, mut browser, client, _) = accountant().await;
    let account = account_of(&mut browser).await;
    organization(&app, "foreign").await;
    let suspended = organization(&app, "suspended").await;
    join(&app, suspended, account, "owner").await;
    set_status(&app, suspended, "suspended").await;
    let disabled = organization(&app, "disabled").await;
    let member = join(&app, disabled, account, "owner").await;
    let database = app.database.client().await;
    let disable = "UPDATE membership SET state = 'disabled' WHERE membership_id = $1";
    database.execute(disable, &[&member.uuid()]).await.unwrap();
    for name in ["nowhere", "foreign", "suspended", "disabled", "00000000-0000-4000-8000-000000000000"] {
        let asked = [("scope", "openid"), ("organization", name)];
        assert_eq!(error(&client, &mut browser, &asked).await, "access_denied", "{name}");
        let silent = [("scope", "openid"), ("organization", name), ("prompt", "none")];
        assert_eq!(error(&client, &mut browser, &silent).await, "access_denied", "{name}");
        let mut stranger = Browser::new(&app);
        let answer = client.ask(&mut stranger, &verifier(), &asked).await;
        assert_eq!(answer.json()["stage"], "authenticate", "nobody is proved: nothing is said about {name}");
    }
}

#[tokio::test]
async fn without_a_name_the_only_one_is_used_several_are_chosen_from_and_none_is_refused() {
    let (app, mut browser, client, here) = accountant().await;
    let asked = [("scope", SALARIES)];
    let tokens = client.tokens(&mut browser, &app, &asked).await;
    assert_eq!(tokens["organization"], here.to_string(), "the only one");
    let there = organization(&app, "there").await;
    join(&app, there, account_of(&mut browser).await, "owner").await;
    // A suspended one cannot be chosen, and is not looked for in vain.
    let closed = organization(&app, "closed").await;
    join(&app, closed, account_of(&mut browser).await, "owner").await;
    set_status(&app, closed, "suspended").await;
    let silent = [("scope", SALARIES), ("prompt", "none")];
    assert_eq!(error(&client, &mut browser, &silent).await, "interaction_required");
    let verifier = verifier();
    let answer = client.ask(&mut browser, &verifier, &asked).await.json();
    assert_eq!(answer["stage"], "organization");
    let offered: Vec<&Value> =
        answer["organizations"].as_array().unwrap().iter().map(|it| &it["slug"]).collect();
    assert_eq!(offered, ["here", "there", "closed"]);
    let unavailable = |at: usize| answer["organizations"][at].get("unavailable");
    assert_eq!((unavailable(0), unavailable(2)), (None, Some(&json!("suspended"))));
    let mut flow = Flow::new(answer);
    for unoffered in ["nowhere", "closed"] {
        let said = json!({"organization": unoffered});
        let foreign = flow.attempt(&mut browser, "organization/choose", said).await;
        assert_eq!(foreign.status, 422, "{}", foreign.text());
    }
    flow.act(&mut browser, "organization/choose", json!({"organization": "there"})).await;
    assert_eq!(flow.now["request"]["organization"]["slug"], "there", "consent says for whom");
    let body = agree(&mut browser, flow.now).await;
    let code = parameter(&body, "code").unwrap();
    let tokens = client.redeem(&app, &code, &verifier).await.json();
    assert_eq!(claims(text(&tokens, "access_token"))["org"], there.to_string());
    let mut nobody = crate::people::register_with_password(&app, "bo@example.test").await;
    assert_eq!(error(&client, &mut nobody, &asked).await, "access_denied", "belongs to none");
}

#[tokio::test]
async fn what_is_not_held_there_is_refused_and_never_left_out() {
    let (app, mut browser, client, here) = accountant().await;
    role(&app, here, "accountant", &["salaries:read"]).await;
    for scope in ["openid salaries:write", "salaries:read reports:read", "openid members:read"] {
        let asked = [("scope", scope), ("organization", "here")];
        assert_eq!(error(&client, &mut browser, &asked).await, "invalid_scope", "{scope}");
    }
    let asked = [("scope", "salaries:read"), ("organization", "here")];
    let tokens = client.tokens(&mut browser, &app, &asked).await;
    assert_eq!(tokens["scope"], "salaries:read");
    // What is the account's own is nobody's organization's.
    let own = Relying::with(&app, Trust::FirstParty, json!({})).await;
    for scope in ["openid account", "platform.accounts:read"] {
        let asked = [("scope", scope), ("organization", "here")];
        assert_eq!(error(&own, &mut browser, &asked).await, "invalid_scope", "{scope}");
    }
    // A client nobody has checked manages nothing.
    let unchecked = Relying::with(&app, Trust::Unverified, json!({})).await;
    let answer = unchecked.ask(&mut browser, &verifier(), &[("scope", "members:read")]).await;
    assert_eq!(answer.json()["code"].as_str().or(answer.json()["error"].as_str()), Some("invalid_scope"));
}

#[tokio::test]
async fn a_refresh_asks_what_is_held_now_and_keeps_the_family() {
    let (app, mut browser, client, here) = accountant().await;
    let asked = [("scope", "salaries:read salaries:write"), ("organization", "here")];
    let mut tokens = client.tokens(&mut browser, &app, &asked).await;
    role(&app, here, "accountant", &["salaries:read"]).await;
    let told =
        client.call(&app, "/connect/introspect", &[("token", text(&tokens, "access_token"))]).await.json();
    assert_eq!(told, json!({"active": false}), "it carries what is not held");
    let refused = client.refresh(&app, text(&tokens, "refresh_token"), &[]).await;
    assert_eq!(refused.json()["error"], "invalid_scope");
    for _ in 0..2 {
        let less = [("scope", "salaries:read")];
        let answer = client.refresh(&app, text(&tokens, "refresh_token"), &less).await;
        assert_eq!(answer.status, 200, "less is held: {}", answer.text());
        tokens = answer.json();
        assert_eq!(tokens["scope"], "salaries:read");
    }
    role(&app, here, "accountant", &["salaries:*"]).await;
    let answer = client.refresh(&app, text(&tokens, "refresh_token"), &[]).await;
    assert_eq!(answer.json()["scope"], "salaries:read salaries:write", "held again, as granted");
    let next = client.refresh(&app, text(&answer.json(), "refresh_token"), &[]).await;
    assert_eq!(next.status, 200, "and remembered");
}

#[tokio::test]
async fn a_suspended_organization_confers_nothing_and_the_family_waits() {
    let (app, mut browser, client, here) = accountant().await;
    let asked = [("scope", SALARIES), ("organization", "here")];
    let (code, verifier) = client.code(&mut browser, &asked).await;
    let tokens = client.tokens(&mut browser, &app, &asked).await;
    set_status(&app, here, "suspended").await;
    for token in ["access_token", "refresh_token"] {
        let told = client.call(&app, "/connect/introspect", &[("token", text(&tokens, token))]).await.json();
        assert_eq!(told, json!({"active": false}), "{token}");
    }
    assert_eq!(userinfo(&app, text(&tokens, "access_token")).await.status, 401);
    assert_eq!(client.redeem(&app, &code, &verifier).await.json()["error"], "invalid_grant");
    for _ in 0..2 {
        let refused = client.refresh(&app, text(&tokens, "refresh_token"), &[]).await;
        assert_eq!(refused.json()["error"], "invalid_grant");
    }
    let (account, session) = (browser.get("/v1/account").await, client.tokens(&mut browser, &app, &[]).await);
    assert_eq!((account.status.as_u16(), session["scope"].as_str()), (200, Some("openid")), "only there");
    set_status(&app, here, "enabled").await;
    let next = client.refresh(&app, text(&tokens, "refresh_token"), &[]).await;
    assert_eq!(next.status, 200, "not rotated, not revoked: {}", next.text());
}

#[tokio::test]
async fn a_grant_never_moves_to_another_organization() {
    let (app, mut browser, client, _) = accountant().await;
    let there = organization(&app, "there").await;
    join(&app, there, account_of(&mut browser).await, "owner").await;
    let tokens = client.tokens(&mut browser, &app, &[("scope", SALARIES), ("organization", "here")]).await;
    for name in ["there", "nowhere", &there.to_string()] {
        let moved = client.refresh(&app, text(&tokens, "refresh_token"), &[("organization", name)]).await;
        assert_eq!(moved.json()["error"], "invalid_target", "{name}");
    }
    let same = client.refresh(&app, text(&tokens, "refresh_token"), &[("organization", "here")]).await;
    assert_eq!(same.status, 200, "nothing was used up: {}", same.text());
    let plain = client.tokens(&mut browser, &app, &[]).await;
    let gained = client.refresh(&app, text(&plain, "refresh_token"), &[("organization", "here")]).await;
    assert_eq!(gained.json()["error"], "invalid_target", "from none to one is moving too");
    // Consent to act for one is not consent to act for the other.
    let known = client.ask(&mut browser, &verifier(), &[("scope", SALARIES), ("organization", "here")]).await;
    assert!(parameter(&known.json(), "code").is_some(), "{}", known.text());
    let other =
        client.ask(&mut browser, &verifier(), &[("scope", SALARIES), ("organization", "there")]).await;
    assert_eq!(other.json()["stage"], "consent");
}

#[tokio::test]
async fn an_organization_may_ask_for_more_than_the_client_does() {
    let (app, mut browser, client, here) = accountant().await;
    let database = app.database.client().await;
    let set = "UPDATE organization SET policy = $2 WHERE organization_id = $1";
    let asked = [("scope", SALARIES), ("organization", "here")];
    database.execute(set, &[&here.uuid(), &json!({"min_level": "aal2"})]).await.unwrap();
    let answer = client.ask(&mut browser, &verifier(), &asked).await.json();
    let body = agree(&mut browser, answer).await;
    assert!(
        body["stage"] == "raise"
            || parameter(&body, "error").as_deref() == Some("unmet_authentication_requirements"),
        "{body}"
    );
    database.execute(set, &[&here.uuid(), &json!({"max_age": 60})]).await.unwrap();
    client.code(&mut browser, &asked).await;
    app.sql(
        "UPDATE session SET proofs = (SELECT jsonb_agg(jsonb_set(proof, '{at}', to_jsonb((proof->>'at')::bigint - 120)))
         FROM jsonb_array_elements(proofs) proof)",
    )
    .await;
    let silent = [("scope", SALARIES), ("organization", "here"), ("prompt", "none")];
    assert_eq!(error(&client, &mut browser, &silent).await, "login_required", "too long ago for them");
    client.code(&mut browser, &[]).await;
}

#[tokio::test]
async fn a_client_has_what_its_own_membership_holds_and_no_more() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let robot = service(&app, "client_secret_post", json!({})).await;
    let (id, secret) = (robot["client_id"].as_str().unwrap(), robot["client_secret"].as_str().unwrap());
    let ask = async |more: &[(&str, &str)]| {
        let form = [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret)];
        app.form("/connect/token", crate::oauth::encode(&[&form, more].concat())).await.json()
    };
    let wanted = [("scope", "salaries:read"), ("organization", "here")];
    assert_eq!(ask(&wanted).await["error"], "invalid_target", "not a member");
    assert_eq!(
        ask(&[("scope", "salaries:read")]).await["error"],
        "invalid_scope",
        "permissions need a place"
    );
    role(&app, here, "reader", &["salaries:read"]).await;
    let member = super::driver::join_client(&app, here, id, "reader").await;
    let tokens = ask(&wanted).await;
    let said = claims(text(&tokens, "access_token"));
    assert_eq!((&said["sub"], &said["client_id"]), (&json!(member), &json!(id)));
    assert_eq!((&said["org"], &said["role"]), (&json!(here), &json!("reader")));
    let more = [("scope", "salaries:read salaries:write"), ("organization", "here")];
    assert_eq!(ask(&more).await["error"], "invalid_scope");
    let form = [("client_id", id), ("client_secret", secret), ("token", text(&tokens, "access_token"))];
    let form = crate::oauth::encode(&form);
    assert_eq!(app.form("/connect/introspect", form.clone()).await.json()["active"], true);
    set_status(&app, here, "suspended").await;
    assert_eq!(app.form("/connect/introspect", form).await.json(), json!({"active": false}));
    assert_eq!(ask(&wanted).await["error"], "invalid_target", "suspended");
}

fn reference_in(description: &str) -> String {
    let (_, rest) = description.split_once("(reference ").unwrap_or_else(|| panic!("none in {description}"));
    rest.trim_end_matches(')').to_owned()
}

#[tokio::test]
async fn a_refusal_is_explained_to_whoever_may_read_the_trail_and_to_nobody_else() {
    let (app, mut browser, client, here) = accountant().await;
    let there = organization(&app, "there").await;
    let (reader, stranger) = (
        organization_key(&app, here, &["audit:read"]).await,
        organization_key(&app, there, &["audit:read"]).await,
    );
    let tokens = client.tokens(&mut browser, &app, &[("scope", "salaries:read salaries:write")]).await;
    role(&app, here, "accountant", &["reports:read", "salaries:read"]).await;
    // At the authorization endpoint, silently and after a step; and at the token endpoint.
    let mut references = Vec::new();
    for more in [&[][..], &[("prompt", "none")][..]] {
        let asked = [&[("scope", "salaries:read salaries:write"), ("organization", "here")], more].concat();
        let answer = client.ask(&mut browser, &verifier(), &asked).await;
        references.push(reference_in(&parameter(&answer.json(), "error_description").unwrap()));
    }
    let refused = client.refresh(&app, text(&tokens, "refresh_token"), &[]).await.json();
    references.push(refused["reference"].as_str().unwrap().to_owned());
    for reference in &references {
        let path = format!("/v1/organizations/{here}/refusals/{reference}");
        let told = get(&app, &path, &reader).await;
        assert_eq!(told.status, 200, "{}", told.text());
        let told = told.json();
        assert_eq!(told["rule"], "permission_not_held", "{told}");
        assert_eq!(told["asked"], json!(["salaries:read", "salaries:write"]));
        assert_eq!(told["held"][0]["by"], "accountant");
        let would_pass = told["would_pass"].as_str().unwrap();
        assert!(
            would_pass.contains("salaries:write") && !would_pass.contains("salaries:read"),
            "{would_pass}"
        );
        assert_eq!(get(&app, &path, &stranger).await.status, 404, "another organization's business");
        let elsewhere = format!("/v1/organizations/{there}/refusals/{reference}");
        assert_eq!(get(&app, &elsewhere, &stranger).await.status, 404);
    }
    let wider = [("scope", "salaries:read reports:read")];
    let refused = client.refresh(&app, text(&tokens, "refresh_token"), &wider).await.json();
    let path = format!("/v1/organizations/{here}/refusals/{}", refused["reference"].as_str().unwrap());
    assert_eq!(get(&app, &path, &reader).await.json()["rule"], "scope_widened");
    // Of an organization that is not theirs nobody there hears.
    let asked = [("scope", "openid"), ("organization", "there")];
    let answer = client.ask(&mut browser, &verifier(), &asked).await;
    let reference = reference_in(&parameter(&answer.json(), "error_description").unwrap());
    let path = format!("/v1/organizations/{there}/refusals/{reference}");
    assert_eq!(get(&app, &path, &stranger).await.status, 404);
    assert_eq!(app.count("SELECT count(*) FROM trail WHERE kind = 'authority.refused'").await, 4);
}
