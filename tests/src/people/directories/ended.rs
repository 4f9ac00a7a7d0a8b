//! Disabling a connection ends everything that rested on it, on every node and for ever (docs/decisions/0121).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use porteiro_service::jobs;
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Asked, World, world_of_three};
use crate::{
    oauth::driver::{parameter, userinfo, verifier},
    people::PASSWORD,
};

const OFFLINE: [(&str, &str); 1] = [("scope", "openid offline_access")];
const SILENT: [(&str, &str); 2] = [("organization", "acme"), ("prompt", "none")];

async fn linked() -> (World, Vec<Arc<TestApp>>) {
    let (world, nodes) = world_of_three().await;
    world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    (world, nodes)
}

async fn signed_in(world: &World) -> (Browser, Value) {
    let mut asked = world.vouched("ana-there", &OFFLINE).await;
    let tokens = world.tokens(&mut asked).await;
    (asked.browser, tokens)
}

fn text<'a>(tokens: &'a Value, name: &str) -> &'a str {
    tokens[name].as_str().unwrap_or_else(|| panic!("no {name} in {tokens}"))
}

async fn is_active(world: &World, node: &TestApp, token: &str) -> Value {
    world.client.call(node, "/connect/introspect", &[("token", token)]).await.json()["active"].clone()
}

/// Every door at which tokens or the session of a sign-in could open something, on this node.
async fn is_out(world: &World, node: &Arc<TestApp>, browser: &mut Browser, tokens: &Value) {
    world.app.forget_limits().await;
    let refreshed = world.client.refresh(node, text(tokens, "refresh_token"), &[]).await;
    assert_eq!(refreshed.json()["error"], "invalid_grant", "{}", refreshed.text());
    assert_eq!(userinfo(node, text(tokens, "access_token")).await.status, 401);
    for name in ["access_token", "refresh_token"] {
        assert_eq!(is_active(world, node, text(tokens, name)).await, false, "{name}");
    }
    let silent = world.client.ask(browser, &verifier(), &SILENT).await.json();
    assert_eq!(parameter(&silent, "error").as_deref(), Some("login_required"), "{silent}");
}

async fn set_enabled(world: &World, enabled: bool) {
    let changed = world.change(json!({"enabled": enabled})).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
}

#[tokio::test]
async fn disabling_ends_sessions_and_grants_at_once_on_every_node_and_enabling_revives_none() {
    let (world, nodes) = linked().await;
    let (mut browser, tokens) = signed_in(&world).await;
    assert_eq!(is_active(&world, &nodes[2], text(&tokens, "access_token")).await, true);
    set_enabled(&world, false).await;
    for node in &nodes {
        is_out(&world, node, &mut browser, &tokens).await;
    }
    set_enabled(&world, true).await;
    for node in &nodes {
        is_out(&world, node, &mut browser, &tokens).await;
    }

    // Before the job has run, and not concerned by it.
    let (mut later, new) = signed_in(&world).await;
    jobs::run_due(&nodes[1].app).await.unwrap();
    is_out(&world, &nodes[1], &mut browser, &tokens).await;
    assert_eq!(is_active(&world, &nodes[2], text(&new, "access_token")).await, true);
    let silent = world.client.ask(&mut later, &verifier(), &SILENT).await.json();
    assert!(parameter(&silent, "code").is_some(), "{silent}");
    let revoked = "SELECT count(*) FROM oauth_grant WHERE revoke_reason = 'directory_ended'";
    assert!(world.app.count(revoked).await >= 1);
    let ended = "SELECT count(*) FROM session WHERE end_reason = 'directory_ended'";
    assert_eq!(world.app.count(ended).await, 1);
    assert_eq!(world.app.count("SELECT count(*) FROM grant_ending").await, 0);
}

/// What the account proved itself stays, and so does what rests on that alone.
#[tokio::test]
async fn disabling_ends_nothing_that_rests_on_the_account_alone() {
    let (world, nodes) = linked().await;
    let mut asked = world.ask(Browser::new(&world.app), &[]).await;
    let mut other_tab = asked.browser.open(json!({"kind": "sign_in"})).await;
    let proof = json!({"identifier": "ana@example.test", "password": PASSWORD});
    other_tab.act(&mut asked.browser, "password/check", proof).await;
    other_tab.act(&mut asked.browser, "enrol/skip", nothing()).await;
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    world.tokens(&mut asked).await;
    let here = [("organization", "acme"), OFFLINE[0]];
    let tokens = world.client.tokens(&mut asked.browser, &world.app, &here).await;
    set_enabled(&world, false).await;
    jobs::run_due(&nodes[1].app).await.unwrap();
    assert_eq!(asked.browser.get("/v1/account").await.status, 200);
    let refreshed = world.client.refresh(&nodes[2], text(&tokens, "refresh_token"), &[]).await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.text());
}

/// Refreshes on all nodes while the connection is disabled: none that began after the call returned succeeds.
#[tokio::test]
async fn no_refresh_succeeds_after_the_call_that_disabled_the_connection() {
    let (world, nodes) = linked().await;
    let mut running = JoinSet::new();
    for node in nodes.iter().cycle().take(6) {
        let (_, tokens) = signed_in(&world).await;
        let (client, node) = (world.client.clone(), Arc::clone(node));
        let mut token = text(&tokens, "refresh_token").to_owned();
        running.spawn(async move {
            let mut last = None;
            loop {
                let began = Instant::now();
                let answer = client.refresh(&node, &token, &[]).await;
                if answer.status != 200 {
                    return (last, token);
                }
                last = Some(began);
                token = text(&answer.json(), "refresh_token").to_owned();
            }
        });
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    set_enabled(&world, false).await;
    let returned = Instant::now();
    set_enabled(&world, true).await;
    while let Some(ended) = running.join_next().await {
        let (last, token) = ended.unwrap();
        assert!(last.is_none_or(|began| began < returned), "a refresh began later and succeeded");
        assert_eq!(world.client.refresh(&nodes[0], &token, &[]).await.status, 400);
    }
}

/// The directory's word was given before: neither consent nor a link follows from it.
#[tokio::test]
async fn a_flow_in_which_the_directory_vouched_before_is_not_completed_with_its_word() {
    let (world, _) = linked().await;
    let mut consenting = world.vouched("ana-there", &[]).await;
    assert_eq!(consenting.flow.stage(), "consent");
    world.member("ben@example.test").await;
    let mut claiming = world.vouched("ben-there", &[]).await;
    set_enabled(&world, false).await;
    set_enabled(&world, true).await;
    let Asked { browser, flow, .. } = &mut consenting;
    let late = flow.attempt(browser, "consent/allow", nothing()).await;
    assert_ne!(late.status, 200, "{}", late.text());
    let Asked { browser, flow, .. } = &mut claiming;
    flow.act(browser, "claim/existing", nothing()).await;
    let proof = json!({"identifier": "ben@example.test", "password": PASSWORD});
    flow.act(browser, "password/check", proof).await;
    let late = flow.attempt(browser, "claim/attach", nothing()).await;
    assert_ne!(late.status, 200, "{}", late.text());
    assert_eq!(world.app.count("SELECT count(*) FROM directory_identity").await, 1);
}
