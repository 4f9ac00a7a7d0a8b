//! What changes between a request, its approval and its redemption.

use std::sync::Arc;

use porteiro_protocol::assurance::Level;
use porteiro_service::oauth::apis;
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::json;
use tokio::sync::Barrier;

use super::{
    approvals::nodes,
    driver::{CIBA, Scene, action, ask, asked, ledger_with_payments, noticed, prove_two_factors},
};
use crate::people;

/// The API no longer has payments.
async fn without_payments(scene: &Scene) {
    let mut api = ledger_with_payments();
    api.details.retain(|kind| kind.name != "payment");
    apis::register(&scene.app.app.store, &api).await.unwrap();
    noticed().await;
}

#[tokio::test]
async fn a_type_that_is_removed_after_the_request_cannot_be_approved() {
    let mut scene = Scene::asking().await;
    let request = scene.asked(&[]).await;
    without_payments(&scene).await;
    let answer = scene.decide("approve", &json!({"number": request.number})).await;
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert_eq!(scene.poll(&request).await.json()["error"], "authorization_pending", "nothing was decided");
    assert_eq!(scene.decide("deny", &json!({})).await.json()["state"], "denied");
    assert_eq!(scene.poll(&request).await.json()["error"], "access_denied");
}

#[tokio::test]
async fn a_type_that_is_removed_after_the_approval_is_not_redeemed() {
    let mut scene = Scene::asking().await;
    let request = scene.asked(&[]).await;
    scene.approve(&request).await;
    without_payments(&scene).await;
    assert_eq!(scene.poll(&request).await.json()["error"], "invalid_grant");
    assert_eq!(scene.app.count("SELECT count(*) FROM oauth_grant WHERE terms ? 'approval'").await, 0);
}

#[tokio::test]
async fn what_a_person_allowed_below_a_level_that_is_required_since_gives_no_token() {
    let mut scene = Scene::asking().await;
    let request = scene.asked(&[]).await;
    scene.approve(&request).await;
    let token = scene.token("openid", None).await;
    let builder = TestApp::builder().people().settings(|settings| settings.minimum_level = Level::Aal2);
    scene.app = builder.restart(&scene.app).await;
    assert_eq!(scene.poll(&request).await.json()["error"], "invalid_grant");
    assert_eq!(scene.exchange(&token, &[]).await.json()["error"], "insufficient_user_authentication");
}

/// Seconds from the decision to the end of the newest approval.
const LEFT: &str = "SELECT extract(epoch FROM expires_at - decided_at)::bigint FROM approval
     WHERE state = 'approved' ORDER BY created_at DESC LIMIT 1";

#[tokio::test]
async fn an_approval_waits_two_minutes_for_its_client_and_one_that_cannot_be_undone_no_longer() {
    let mut scene = Scene::asking().await;
    let secret = people::enrol_totp(&mut scene.browser).await;
    let usual = scene.asked(&[]).await;
    scene.approve(&usual).await;
    let left = scene.app.count(LEFT).await;
    assert!((121..=300).contains(&left), "what is left of its five minutes: {left}");
    assert_eq!(scene.poll(&usual).await.status, 200);
    // Decided in the last moment: the client still has time to fetch it.
    let late = scene.asked(&[]).await;
    scene
        .app
        .sql("UPDATE approval SET expires_at = now() + interval '5 seconds' WHERE state = 'pending'")
        .await;
    scene.approve(&late).await;
    assert_eq!(scene.app.count(LEFT).await, 120);
    assert_eq!(scene.poll(&late).await.status, 200);
    let transfer = action("transfer", "10.00");
    let more = [("authorization_details", transfer.as_str()), ("requested_expiry", "3600")];
    let request = scene.asked(&more).await;
    prove_two_factors(&mut scene.browser, &secret).await;
    scene.approve(&request).await;
    assert_eq!(scene.app.count(LEFT).await, 120, "not the hour that the client asked for");
    scene.app.sql("UPDATE approval SET expires_at = expires_at - interval '121 seconds'").await;
    assert_eq!(scene.poll(&request).await.json()["error"], "expired_token");
}

/// The session in which it was approved ends while the client redeems: whichever is first, nothing counts afterwards.
#[tokio::test]
async fn no_token_outlives_a_session_that_ends_beside_its_redemption() {
    let (nodes, mut browser, agent, account) = nodes().await;
    for round in 0..8 {
        nodes[0].forget_limits().await;
        nodes[0].sql("DELETE FROM approval").await;
        let request = asked(&ask(&nodes[0], &agent, &account, &[]).await);
        let inbox = browser.get("/v1/account/approvals?state=pending").await.json();
        let path = format!("/v1/account/approvals/{}/approve", inbox["items"][0]["id"].as_str().unwrap());
        assert_eq!(browser.post(&path, &json!({"number": request.number})).await.status, 200, "{round}");
        let sessions = browser.get("/v1/account/sessions").await.json();
        let own = format!("/v1/account/sessions/{}", sessions["items"][0]["id"].as_str().unwrap());
        let start = Arc::new(Barrier::new(2));
        let redeeming = {
            let (node, agent, start) = (Arc::clone(&nodes[1 + round % 2]), agent.clone(), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                agent.token(&node, CIBA, &[("auth_req_id", &request.handle)]).await
            })
        };
        start.wait().await;
        assert_eq!(browser.delete(&own).await.status, 204);
        let answer = redeeming.await.unwrap();
        if let Some(token) = answer.json()["access_token"].as_str() {
            for node in &nodes {
                let told = agent.call(node, "/connect/introspect", &[("token", token)]).await;
                assert_eq!(told.json(), json!({"active": false}), "{round}");
            }
        }
        browser = Browser::new(&nodes[0]);
        let mut flow = browser.open(json!({"kind": "sign_in"})).await;
        let proof = json!({"identifier": "ana@example.test", "password": people::PASSWORD});
        flow.act(&mut browser, "password/check", proof).await;
        flow.act(&mut browser, "enrol/skip", nothing()).await;
        assert_eq!(flow.stage(), "complete", "{}", flow.now);
    }
}
