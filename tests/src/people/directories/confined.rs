//! What a directory vouches for is worth nothing outside its organization, and ends with it.

use http::Method;
use porteiro_protocol::assurance::Level;
use porteiro_testkit::{Browser, TestApp, VirtualAuthenticator, nothing};
use serde_json::json;

use super::{Asked, World, world};
use crate::{
    oauth::driver::{parameter, verifier},
    organizations::driver::{call, get, join, organization, organization_key},
    people::{PASSWORD, register_with_password},
};

/// The organization's directory vouched for Ana, and nobody else did.
async fn confined(world: &World) -> Browser {
    let mut asked = world.vouched("ana-there", &[]).await;
    world.tokens(&mut asked).await;
    asked.browser
}

async fn linked() -> World {
    let world = world().await;
    world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    world
}

async fn asks(world: &World, browser: &mut Browser, more: &[(&str, &str)]) -> serde_json::Value {
    world.app.forget_limits().await;
    world.client.ask(browser, &verifier(), more).await.json()
}

#[tokio::test]
async fn a_confined_session_serves_its_organization_silently_and_nothing_else() {
    let world = world().await;
    let (_, account, _) = world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    let other = organization(&world.app, "other").await;
    join(&world.app, other, account, "owner").await;
    let mut browser = confined(&world).await;
    let here = [("organization", "acme"), ("prompt", "none")];
    let answer = asks(&world, &mut browser, &here).await;
    assert!(parameter(&answer, "code").is_some(), "{answer}");
    for more in [&[("organization", "other"), ("prompt", "none")][..], &[("prompt", "none")]] {
        let answer = asks(&world, &mut browser, more).await;
        assert_eq!(parameter(&answer, "error").as_deref(), Some("login_required"), "{answer}");
    }
    for more in [&[("organization", "other")][..], &[]] {
        let answer = asks(&world, &mut browser, more).await;
        assert_eq!((&answer["stage"], &answer["account"]), (&json!("authenticate"), &json!(null)));
    }
    for path in ["/v1/account", "/v1/account/credentials", "/v1/organizations"] {
        assert_eq!(browser.get(path).await.status, 401, "{path}");
    }
    assert_eq!(browser.post("/v1/account/export", &json!({})).await.status, 401);
    for path in ["/v1/account", "/v1/account/deletion"] {
        assert_eq!(browser.delete(path).await.status, 401, "{path}");
    }
    let enrol = json!({"kind": "enrol", "enrol": "passkey"});
    assert_eq!(browser.post("/v1/flows", &enrol).await.status, 401);
}

#[tokio::test]
async fn a_request_that_wants_a_new_proof_or_a_choice_is_not_answered_by_the_session() {
    let world = linked().await;
    let mut browser = confined(&world).await;
    for more in [("prompt", "login"), ("prompt", "select_account"), ("max_age", "0")] {
        tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        let answer = asks(&world, &mut browser, &[("organization", "acme"), more]).await;
        assert_eq!(answer["stage"], "authenticate", "{more:?}: {answer}");
    }
}

#[tokio::test]
async fn an_organization_that_requires_more_than_a_directorys_word_gets_it_from_the_account() {
    let world = linked().await;
    let path = format!("/v1/organizations/{}/policy", world.place);
    let tag = get(&world.app, &path, &world.key).await.headers["etag"].to_str().unwrap().to_owned();
    let body = json!({"min_level": "aal2"});
    let set = call(&world.app, Method::PUT, &path, &world.key, Some(&body), &[("if-match", &tag)]).await;
    assert_eq!(set.status, 200, "{}", set.text());
    let asked = world.vouched("ana-there", &[]).await;
    assert_eq!(asked.flow.stage(), "authenticate", "{}", asked.flow.now);
    assert!(asked.browser.session().is_none());
}

#[tokio::test]
async fn a_deployment_that_requires_two_factors_does_not_take_a_directorys_word_for_them() {
    let mut world = linked().await;
    let mut before = confined(&world).await;
    let builder = TestApp::builder().people().connections(4).private_hosts(vec![world.provider.host()]);
    let app = builder.settings(|settings| settings.minimum_level = Level::Aal2).restart(&world.app).await;
    world.provider.agree(&app);
    world.app = app;
    let asked = world.vouched("ana-there", &[]).await;
    assert_eq!(asked.flow.stage(), "authenticate", "{}", asked.flow.now);
    assert!(asked.browser.confined_session().is_none() && asked.browser.session().is_none());
    let mut browser = Browser::new(&world.app);
    browser.cookies.append(&mut before.cookies);
    let silent = asks(&world, &mut browser, &[("organization", "acme"), ("prompt", "none")]).await;
    assert_eq!(parameter(&silent, "error").as_deref(), Some("login_required"), "{silent}");
}

/// The door that a directory opens closes with the membership, in the call that ends it.
#[tokio::test]
async fn a_disabled_member_is_out_at_once() {
    let world = linked().await;
    let mut asked = world.vouched("ana-there", &[]).await;
    let tokens = world.tokens(&mut asked).await;
    let key = organization_key(&world.app, world.place, &["members:*", "organization:*"]).await;
    let members = format!("/v1/organizations/{}/members", world.place);
    let listed = get(&world.app, &members, &key).await.json();
    let id = listed["items"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("{members}/{id}/disable");
    let gone = call(&world.app, Method::POST, &path, &key, Some(&json!({})), &[]).await;
    assert!(gone.status.is_success(), "{}", gone.text());
    let refreshed = world.client.refresh(&world.app, tokens["refresh_token"].as_str().unwrap_or("x"), &[]);
    assert_eq!(refreshed.await.status, 400);
    let alive = "SELECT count(*) FROM session WHERE ended_at IS NULL AND NOT proofs @? '$[*].method'";
    assert_eq!(world.app.count(alive).await, 0);
    let left = "SELECT count(*) FROM session WHERE ended_at IS NULL AND proofs @? '$[*].organization'";
    assert_eq!(world.app.count(left).await, 0, "not in sessions of the account either");
    let here = [("organization", "acme"), ("prompt", "none")];
    let answer = asks(&world, &mut asked.browser, &here).await;
    assert_eq!(parameter(&answer, "error").as_deref(), Some("login_required"), "{answer}");
    let asked = world.vouched("ana-there", &[]).await;
    assert_eq!(parameter(&asked.flow.now, "error").as_deref(), Some("access_denied"), "{}", asked.flow.now);
}

#[tokio::test]
async fn a_disabled_connection_vouches_for_nobody_any_more() {
    let world = linked().await;
    let mut browser = confined(&world).await;
    let mut waiting = world.ask(Browser::new(&world.app), &[]).await;
    let answer = world.go(&mut waiting, "ana-there").await;
    let changed = world.change(json!({"enabled": false})).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let late = waiting.flow.attempt(&mut waiting.browser, "federated/finish", answer).await;
    assert_ne!(late.status, 200, "{}", late.text());
    let silent = asks(&world, &mut browser, &[("organization", "acme"), ("prompt", "none")]).await;
    assert_eq!(parameter(&silent, "error").as_deref(), Some("login_required"), "{silent}");
    let asked = world.ask(Browser::new(&world.app), &[]).await;
    assert!(asked.flow.now.get("connections").is_none());
}

#[tokio::test]
async fn a_suspended_organization_offers_no_directory() {
    let world = linked().await;
    crate::organizations::driver::set_status(&world.app, world.place, "suspended").await;
    let asked = world.ask(Browser::new(&world.app), &[]).await;
    assert!(asked.flow.now.get("connections").is_none());
}

/// The session of the same account that the browser has gets the proof, and loses nothing.
#[tokio::test]
async fn a_directorys_proof_joins_the_session_of_the_account_without_making_it_stronger() {
    let world = linked().await;
    let mut asked = world.ask(Browser::new(&world.app), &[]).await;
    let mut other_tab = asked.browser.open(json!({"kind": "sign_in"})).await;
    let proof = json!({"identifier": "ana@example.test", "password": PASSWORD});
    other_tab.act(&mut asked.browser, "password/check", proof).await;
    other_tab.act(&mut asked.browser, "enrol/skip", nothing()).await;
    let before = asked.browser.get("/v1/account").await.json();
    let token = asked.browser.session().unwrap().to_owned();
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    world.tokens(&mut asked).await;
    assert_ne!(*asked.browser.session().unwrap(), token, "a new token for a new proof");
    let after = asked.browser.get("/v1/account").await.json();
    assert_eq!(after["assurance"], before["assurance"]);
    let both = "SELECT count(*) FROM session WHERE ended_at IS NULL AND proofs @? '$[*].organization'
                AND proofs @? '$[*].method'";
    assert_eq!(world.app.count(both).await, 1);
}

/// The level that the organization requires is not reached by an account that is made on the way.
#[tokio::test]
async fn whoever_registers_in_the_flow_is_not_the_member_for_whom_the_directory_vouched() {
    let world = linked().await;
    let mut asked = world.vouched("ana-there", &[("acr_values", "aal2")]).await;
    let Asked { browser, flow, .. } = &mut asked;
    assert_eq!(flow.stage(), "authenticate", "{}", flow.now);
    flow.act(browser, "email_code/send", json!({"identifier": "new@example.test"})).await;
    let code = world.app.mailed_code("new@example.test").await;
    flow.act(browser, "email_code/check", json!({"code": code})).await;
    flow.act(browser, "profile/set", json!({"display_name": "New"})).await;
    let mut authenticator = VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    flow.act(browser, "passkey/enrol_begin", nothing()).await;
    let response = authenticator.register(&flow.now["challenge"]["public_key"]);
    flow.act(browser, "passkey/enrol_finish", json!({"credential": response})).await;
    if flow.stage() == "consent" {
        flow.act(browser, "consent/allow", nothing()).await;
    }
    assert_eq!(parameter(&flow.now, "error").as_deref(), Some("access_denied"), "{}", flow.now);
}

/// What a directory's administrator allows as the member is not what the account allowed.
#[tokio::test]
async fn consent_given_by_a_directory_is_not_the_accounts() {
    let world = world().await;
    let (mut own, ..) = world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    let here = [("organization", "acme"), ("prompt", "none")];
    let answer = asks(&world, &mut own, &here).await;
    assert_eq!(parameter(&answer, "error").as_deref(), Some("consent_required"), "{answer}");
    let mut browser = confined(&world).await;
    let answer = asks(&world, &mut browser, &here).await;
    assert!(parameter(&answer, "code").is_some(), "{answer}");
    let answer = asks(&world, &mut own, &here).await;
    assert_eq!(parameter(&answer, "error").as_deref(), Some("consent_required"), "{answer}");
    let delegations = "SELECT count(*) FROM delegation";
    assert_eq!(world.app.count(delegations).await, 0);
}

/// Each organization counts its own: a directory signs nobody out elsewhere.
#[tokio::test]
async fn many_sign_ins_by_one_directory_end_no_session_of_another_organization() {
    let world = linked().await;
    let mut browser = confined(&world).await;
    world
        .app
        .sql(
            "UPDATE session SET proofs = replace(proofs::text, (SELECT organization_id::text FROM organization
                 WHERE slug = 'acme'), '00000000-0000-4000-8000-000000000001')::jsonb
             WHERE NOT proofs @? '$[*].method'",
        )
        .await;
    let elsewhere = browser.confined_session().unwrap().to_owned();
    for _ in 0..52 {
        confined(&world).await;
    }
    let left = "SELECT count(*) FROM session WHERE ended_at IS NULL AND NOT proofs @? '$[*].method'";
    assert_eq!(world.app.count(left).await, 51);
    assert_eq!(*browser.confined_session().unwrap(), elsewhere);
    let there = "SELECT count(*) FROM session WHERE ended_at IS NULL
                 AND proofs::text LIKE '%00000000-0000-4000-8000-000000000001%'";
    assert_eq!(world.app.count(there).await, 1);
    asks(&world, &mut browser, &[("organization", "acme"), ("prompt", "none")]).await;
}

#[tokio::test]
async fn a_removed_member_who_is_added_again_links_the_identity_again() {
    let world = world().await;
    let (_, account, member) = world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    let key = organization_key(&world.app, world.place, &["members:*", "organization:*"]).await;
    let one = format!("/v1/organizations/{}/members/{member}", world.place);
    let tag = get(&world.app, &one, &key).await.headers["etag"].to_str().unwrap().to_owned();
    let gone = call(&world.app, Method::DELETE, &one, &key, None, &[("if-match", &tag)]).await;
    assert!(gone.status.is_success(), "{}", gone.text());
    join(&world.app, world.place, account, "member").await;
    let asked = world.vouched("ana-there", &[]).await;
    assert_eq!(asked.flow.stage(), "claim", "{}", asked.flow.now);
}

/// A browser in which somebody is signed in to their account: a directory signs nobody out.
#[tokio::test]
async fn a_directorys_sign_in_as_somebody_else_leaves_the_session_of_the_account() {
    let world = linked().await;
    let mut ben = register_with_password(&world.app, "ben@example.test").await;
    let token = ben.session().unwrap().to_owned();
    let account = ben.get("/v1/account").await.json()["id"].clone();
    let mut asked = world.ask(ben, &[]).await;
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    let tokens = world.tokens(&mut asked).await;
    let mut browser = asked.browser;
    assert_eq!(*browser.session().unwrap(), token);
    assert_eq!(browser.get("/v1/account").await.json()["id"], account, "still Ben");
    let here = [("organization", "acme"), ("prompt", "none")];
    let answer = asks(&world, &mut browser, &here).await;
    assert!(parameter(&answer, "code").is_some(), "Ana, in her organization: {answer}");

    // Ana's client signs her out, and Ben stays.
    let hint = tokens["id_token"].as_str().unwrap();
    let left = browser.get(&format!("/connect/logout?id_token_hint={hint}")).await;
    assert_eq!(left.status, 200, "{}", left.text());
    assert!(browser.confined_session().is_none());
    let answer = asks(&world, &mut browser, &here).await;
    assert_eq!(parameter(&answer, "error").as_deref(), Some("access_denied"), "Ben is no member: {answer}");
    assert_eq!(browser.get("/v1/account").await.json()["id"], account);
}

/// After a step-up the browser has two sessions of the same person.
#[tokio::test]
async fn a_client_signs_its_person_out_of_both_of_their_sessions() {
    let world = linked().await;
    let mut asked = world.vouched("ana-there", &[]).await;
    world.tokens(&mut asked).await;
    let mut asked = world.ask(asked.browser, &[("prompt", "login")]).await;
    let proof = json!({"identifier": "ana@example.test", "password": PASSWORD});
    asked.flow.act(&mut asked.browser, "password/check", proof).await;
    if asked.flow.stage() == "enrol" {
        asked.flow.act(&mut asked.browser, "enrol/skip", nothing()).await;
    }
    let tokens = world.tokens(&mut asked).await;
    let mut browser = asked.browser;
    assert!(browser.session().is_some() && browser.confined_session().is_some());
    let hint = tokens["id_token"].as_str().unwrap();
    assert_eq!(browser.get(&format!("/connect/logout?id_token_hint={hint}")).await.status, 200);
    assert!(browser.session().is_none() && browser.confined_session().is_none());
    let answer = asks(&world, &mut browser, &[("organization", "acme"), ("prompt", "none")]).await;
    assert_eq!(parameter(&answer, "error").as_deref(), Some("login_required"), "{answer}");
    let open = "SELECT count(*) FROM session WHERE ended_at IS NULL AND NOT proofs @? '$[*].method'";
    assert_eq!(world.app.count(open).await, 0, "no confined one is left");
}

/// Both sessions end when the person says so on our page.
#[tokio::test]
async fn whoever_signs_out_of_the_browser_signs_out_of_both_sessions() {
    let world = linked().await;
    let ben = register_with_password(&world.app, "ben@example.test").await;
    let mut asked = world.ask(ben, &[]).await;
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    world.tokens(&mut asked).await;
    let mut browser = asked.browser;
    browser.headers.push(("accept", "application/json".into()));
    let question = browser.get("/connect/logout").await.json();
    let confirm = question["confirm"].as_str().unwrap();
    let left = browser.get(&format!("/connect/logout?confirm={confirm}")).await;
    assert_eq!(left.json()["stage"], "complete", "{}", left.text());
    assert!(browser.session().is_none() && browser.confined_session().is_none());
    let open = "SELECT count(*) FROM session WHERE ended_at IS NULL AND (NOT proofs @? '$[*].method'
                OR account_id = (SELECT account_id FROM account ORDER BY created_at DESC LIMIT 1))";
    assert_eq!(world.app.count(open).await, 0);
}
