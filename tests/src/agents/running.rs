//! What attacks on the running service found (docs/security/review.md, seventh review).

use http::Method;
use porteiro_service::{jobs, oauth::apis};
use serde_json::json;

use super::driver::{Scene, action, ledger_with_payments, noticed, prove_two_factors};
use crate::{
    organizations::driver::{call, get, organization_key},
    people,
};

/// Payments cannot be undone any more.
async fn payments_become_irreversible(scene: &Scene) {
    let mut api = ledger_with_payments();
    for kind in &mut api.details {
        kind.irreversible = true;
    }
    apis::register(&scene.app.app.store, &api).await.unwrap();
    noticed().await;
}

#[tokio::test]
async fn what_becomes_irreversible_after_the_request_needs_two_factors() {
    let mut scene = Scene::asking().await;
    let secret = people::enrol_totp(&mut scene.browser).await;
    let (approved, waits) = (scene.asked(&[]).await, scene.asked(&[]).await);
    // The newest comes first in the inbox.
    scene.approve(&waits).await;
    payments_become_irreversible(&scene).await;
    assert_eq!(scene.poll(&waits).await.json()["error"], "invalid_grant", "approved with less");
    let answer = scene.decide("approve", &json!({"number": approved.number})).await;
    assert_eq!(answer.json()["code"], "step_up_required", "{}", answer.text());
    assert_eq!(answer.json()["flow"]["body"]["level"], "aal2");
    prove_two_factors(&mut scene.browser, &secret).await;
    scene.approve(&approved).await;
    assert_eq!(scene.poll(&approved).await.status, 200);
}

#[tokio::test]
async fn a_character_that_nobody_sees_is_refused_in_what_people_approve() {
    let scene = Scene::asking().await;
    for name in ["Bea\u{200b}", "Bea \u{202e}99", "B\u{ad}ea", "Be\u{2066}a"] {
        let details = json!([{"type": "payment", "amount": "1.00", "to": name}]).to_string();
        let answer = scene.ask(&scene.agent, &[("authorization_details", &details)]).await;
        assert_eq!(answer.json()["error"], "invalid_authorization_details", "{name:?}");
    }
    let details = json!([{"type": "payment", "amount": "1.00", "to": "Ana ❤️ Bea and José"}]).to_string();
    scene.asked(&[("authorization_details", &details)]).await;
}

/// More delegations than one statement revokes: the client is refused at once, and a job does the rest.
#[tokio::test]
async fn an_organization_blocks_a_client_whatever_its_members_delegated_to_it() {
    const LIVE: &str =
        "SELECT count(*) FROM delegation WHERE organization_id IS NOT NULL AND revoked_at IS NULL";
    let mut scene = Scene::asking().await;
    scene.delegated("openid salaries:read", Some("here")).await;
    let subject = scene.token("openid salaries:read", Some("here")).await;
    let exchanged = super::driver::exchanged(&scene.app, &scene.agent, &subject, &[]).await;
    scene
        .app
        .sql(&format!(
            "INSERT INTO delegation (owner_id, delegation_id, account_id, organization_id, membership_id, client_id,
                 audience, scope, redelegable, source, expires_at)
             SELECT i.id, gen_random_uuid(), i.id, '{}', gen_random_uuid(), '{}', 'https://id.example.test', 'openid', false,
                 'person', now() + interval '1 day'
             FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 12000)) i",
            scene.here, scene.agent.id
        ))
        .await;
    let key = organization_key(&scene.app, scene.here, &["client-policies:*"]).await;
    let path = format!("/v1/organizations/{}/client-policies/{}", scene.here, scene.agent.id);
    let block = json!({"decision": "block"});
    let answer = call(&scene.app, Method::PUT, &path, &key, Some(&block), &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!scene.counts(&scene.agent, &exchanged).await);
    assert_eq!(scene.exchange(&subject, &[]).await.status, 400);
    let left = scene.app.count(LIVE).await;
    assert!(left > 0 && left < 12_001, "one statement revokes a bounded number: {left}");
    jobs::run_due(&scene.app.app).await.unwrap();
    assert_eq!(scene.app.count(LIVE).await, 0);
}

/// Every state is asked for by itself, and what nobody decided in time is expired and nothing else.
#[tokio::test]
async fn each_approval_is_listed_under_its_state_of_now() {
    let mut scene = Scene::asking().await;
    let late = action("payment", "1.00");
    scene.asked(&[("authorization_details", &late)]).await;
    scene.app.sql("UPDATE approval SET expires_at = now() - interval '1 minute'").await;
    let denied = scene.asked(&[]).await;
    scene.decide("deny", &json!({})).await;
    let used = scene.asked(&[]).await;
    scene.approve(&used).await;
    assert_eq!(scene.poll(&used).await.status, 200);
    let fresh = scene.asked(&[]).await;
    scene.approve(&fresh).await;
    scene.asked(&[]).await;
    for state in ["pending", "approved", "denied", "expired", "consumed"] {
        let listed = scene.browser.get(&format!("/v1/account/approvals?state={state}")).await.json();
        let items = listed["items"].as_array().unwrap();
        assert_eq!(items.len(), 1, "{state}: {listed}");
        assert_eq!(items[0]["state"], state);
    }
    // A report closes what still waits and leaves what was over as it was.
    assert_eq!(scene.decide("report", &json!({})).await.status, 200);
    let expired = scene.browser.get("/v1/account/approvals?state=expired").await.json();
    assert_eq!(expired["items"].as_array().unwrap().len(), 1, "{expired}");
    let all = scene.browser.get("/v1/account/approvals?limit=2").await.json();
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
    assert_eq!(scene.poll(&denied).await.json()["error"], "access_denied");
    let key = organization_key(&scene.app, scene.here, &["approvals:read"]).await;
    let path = format!("/v1/organizations/{}/approvals?state=pending", scene.here);
    assert_eq!(get(&scene.app, &path, &key).await.json()["items"], json!([]), "these are the person's own");
}
