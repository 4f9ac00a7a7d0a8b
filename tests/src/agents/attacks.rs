//! What others do wrong, as requests that are refused, and attacks on the exchange itself.

use http::Method;
use serde_json::json;

use super::driver::{Scene, agent, exchanged, proved};
use crate::organizations::driver::{account_of, call, get, join, organization, role};

/// Keycloak checks the requesting client, not the person's delegation: a token that reaches any other client is enough.
#[tokio::test]
async fn a_token_of_another_client_without_a_delegation_is_not_exchanged() {
    let mut scene = Scene::new().await;
    let token = scene.token("invoices:read", None).await;
    let answer = scene.exchange(&token, &[]).await;
    assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
    // Another person's delegation to the same agent is of no use.
    let mut bo = proved(&scene.app, "bo@example.test").await;
    let body = json!({"client_id": scene.agent.id, "scope": "invoices:read"});
    assert_eq!(bo.post("/v1/account/delegations", &body).await.status, 201);
    assert_eq!(scene.exchange(&token, &[]).await.status, 400);
    // Nor is the person's delegation to another agent.
    let other = agent(&scene.app, json!({})).await;
    let body = json!({"client_id": other.id, "scope": "invoices:read"});
    assert_eq!(scene.delegate(&body).await.status, 201);
    assert_eq!(scene.exchange(&token, &[]).await.status, 400);
}

/// Zitadel accepts the union of subject and actor: here what the agent could have by itself adds nothing.
#[tokio::test]
async fn what_the_agent_holds_by_itself_does_not_add_to_the_token() {
    let mut scene = Scene::new().await;
    let token = scene.token("invoices:read", None).await;
    scene.delegated("invoices:read invoices:write", None).await;
    let answer = scene.exchange(&token, &[("scope", "invoices:read invoices:write")]).await;
    assert_eq!(answer.json()["error"], "invalid_scope", "{}", answer.text());
}

/// Logto uses the person's full rights: here those that the subject token does not carry are out of reach.
#[tokio::test]
async fn rights_of_the_person_that_the_token_does_not_carry_are_out_of_reach() {
    let mut scene = Scene::new().await;
    let token = scene.token("salaries:read", Some("here")).await;
    scene.delegated("salaries:read salaries:write reports:read", Some("here")).await;
    for more in ["salaries:write", "reports:read", "salaries:*"] {
        let answer = scene.exchange(&token, &[("scope", more)]).await;
        assert_eq!(answer.json()["error"], "invalid_scope", "{more} {}", answer.text());
    }
    assert_eq!(scene.exchange(&token, &[]).await.status, 200);
}

/// authentik uses the provider's configured list: here the agent's registered ceiling binds, whatever was delegated.
#[tokio::test]
async fn what_the_agent_did_not_register_is_refused_whatever_was_delegated() {
    let mut scene = Scene::new().await;
    let token = scene.token("invoices:read", None).await;
    scene.delegated("invoices:read", None).await;
    let sql = format!(
        "UPDATE client SET metadata = metadata || '{{\"scope\": \"openid\"}}', changed_at = clock_timestamp()
         WHERE client_id = '{}'",
        scene.agent.id
    );
    scene.app.sql(&sql).await;
    scene.app.app.directory.forget(&scene.agent.id);
    let answer = scene.exchange(&token, &[]).await;
    assert_eq!(answer.json()["error"], "invalid_scope", "{}", answer.text());
}

/// Casdoor, CVE-2026-9094: a token of one organization became one of another.
#[tokio::test]
async fn cve_2026_9094_an_exchange_does_not_change_the_organization() {
    let mut scene = Scene::new().await;
    let there = organization(&scene.app, "there").await;
    role(&scene.app, there, "accountant", &["salaries:*"]).await;
    join(&scene.app, there, account_of(&mut scene.browser).await, "accountant").await;
    let token = scene.token("salaries:read", Some("here")).await;
    scene.delegated("salaries:read", Some("there")).await;
    assert_eq!(scene.exchange(&token, &[]).await.status, 400, "the delegation is for another organization");
    scene.delegated("salaries:read", Some("here")).await;
    for named in ["there", &there.to_string()] {
        let answer = scene.exchange(&token, &[("organization", named)]).await;
        assert_eq!(answer.json()["error"], "invalid_target", "{}", answer.text());
    }
    let held = exchanged(&scene.app, &scene.agent, &token, &[]).await;
    let path = format!("/v1/organizations/{there}");
    assert_eq!(get(&scene.app, &path, &held).await.status, 401, "nor is it good there");
}

/// A token that was handed to one API is of no use at another, nor at ours.
#[tokio::test]
async fn a_token_is_not_passed_through_to_our_own_apis() {
    let mut scene = Scene::new().await;
    let token = scene.token("salaries:read", Some("here")).await;
    scene.delegated("salaries:read", Some("here")).await;
    let held = exchanged(&scene.app, &scene.agent, &token, &[]).await;
    for path in [format!("/v1/organizations/{}", scene.here), "/v1/platform/accounts".to_owned()] {
        assert_eq!(get(&scene.app, &path, &held).await.status, 401, "{path}");
    }
}

/// What an agent may do at our own management API is what it may read: what would outlast its delegation is not for it.
#[tokio::test]
async fn an_agent_reads_the_management_api_and_changes_nothing() {
    let mut scene = Scene::new().await;
    role(&scene.app, scene.here, "accountant", &["members:*", "api-keys:*"]).await;
    let issuer = scene.app.app.issuer().to_owned();
    let token = scene.token("members:read members:write api-keys:write", Some("here")).await;
    scene.delegated("members:read members:write api-keys:write", Some("here")).await;
    let held = exchanged(&scene.app, &scene.agent, &token, &[("resource", &issuer)]).await;
    let here = format!("/v1/organizations/{}", scene.here);
    assert_eq!(get(&scene.app, &format!("{here}/members"), &held).await.status, 200);
    let key = json!({"name": "for ever", "permissions": ["members:read"]});
    for (path, body) in [("api-keys", key), ("members", json!({"client_id": "x", "role": "member"}))] {
        let answer = call(&scene.app, Method::POST, &format!("{here}/{path}"), &held, Some(&body), &[]).await;
        assert_eq!(answer.status, 403, "{path} {}", answer.text());
    }
}

/// Exchanges are limited, and what is refused writes no grant.
#[tokio::test]
async fn exchanges_by_one_client_for_one_person_are_limited() {
    let mut scene = Scene::new().await;
    let token = scene.token("invoices:read", None).await;
    scene.delegated("invoices:read", None).await;
    let before = scene.app.count("SELECT count(*) FROM oauth_grant").await;
    let mut limited = 0;
    for _ in 0..400 {
        let answer = scene.exchange(&token, &[("scope", "invoices:write")]).await;
        match answer.status.as_u16() {
            400 => {}
            429 => limited += 1,
            other => panic!("{other}: {}", answer.text()),
        }
    }
    assert!(limited > 0);
    assert_eq!(scene.app.count("SELECT count(*) FROM oauth_grant").await, before);
}
