//! What a hostile review of delegations and exchange found, each as it must be.

use http::Method;
use porteiro_service::oauth::clients::Trust;
use serde_json::json;

use super::driver::{Scene, agent, asked, exchange};
use crate::{
    oauth::driver::Relying,
    organizations::driver::{call, get, join_client, organization_key},
};

async fn policy(scene: &Scene, key: &str, policy: &str) {
    let path = format!("/v1/organizations/{}/policy", scene.here);
    let etag = get(&scene.app, &path, key).await.header("etag").to_owned();
    let body = json!({"third_party_clients": policy});
    let answer = call(&scene.app, Method::PUT, &path, key, Some(&body), &[("if-match", &etag)]).await;
    assert!(answer.status.is_success(), "{}", answer.text());
}

#[tokio::test]
async fn a_delegation_that_was_never_used_ends_with_the_policy_and_does_not_revive() {
    let mut scene = Scene::new().await;
    let key = organization_key(&scene.app, scene.here, &["organization:*"]).await;
    scene.delegated("salaries:read", Some("here")).await;
    policy(&scene, &key, "listed").await;
    policy(&scene, &key, "all").await;
    let token = scene.token("salaries:read", Some("here")).await;
    assert_eq!(scene.exchange(&token, &[]).await.status, 400);
}

#[tokio::test]
async fn an_agent_does_not_bury_what_the_person_must_see() {
    let mut scene = Scene::new().await;
    let token = scene.token("invoices:read", None).await;
    scene.delegated("invoices:read", None).await;
    for _ in 0..120 {
        assert_eq!(scene.exchange(&token, &[]).await.status, 200);
    }
    let activity = scene.browser.get("/v1/account/activity").await.json();
    let kinds: Vec<&str> =
        activity["items"].as_array().unwrap().iter().filter_map(|item| item["kind"].as_str()).collect();
    assert!(kinds.contains(&"delegation.created") && kinds.contains(&"account.created"), "{kinds:?}");
}

#[tokio::test]
async fn an_organization_delegates_its_permissions_and_nothing_of_the_persons() {
    let mut scene = Scene::new().await;
    let key = organization_key(&scene.app, scene.here, &["delegations:*", "salaries:*"]).await;
    let own = agent(&scene.app, json!({"kind": "service"})).await;
    let sql = format!("UPDATE client SET organization_id = '{}' WHERE client_id = '{}'", scene.here, own.id);
    scene.app.sql(&sql).await;
    scene.app.app.directory.forget(&own.id);
    let path = format!("/v1/organizations/{}/delegations", scene.here);
    for scope in ["openid email", "invoices:read", "salaries:read openid"] {
        let body = json!({"client_id": own.id, "scope": scope});
        let answer = call(&scene.app, Method::POST, &path, &key, Some(&body), &[]).await;
        assert_eq!(answer.status, 422, "{scope} {}", answer.text());
    }
    let body = json!({"client_id": own.id, "scope": "salaries:read"});
    let answer = call(&scene.app, Method::POST, &path, &key, Some(&body), &[]).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    // The member sees it, and that it is not theirs to revoke.
    let listed = scene.browser.get("/v1/account/delegations").await.json();
    assert_eq!(listed["items"][0]["source"], "administrator", "{listed}");
    let one = format!("/v1/account/delegations/{}", listed["items"][0]["id"].as_str().unwrap());
    assert_eq!(scene.browser.delete(&one).await.status, 404);
}

#[tokio::test]
async fn what_was_consented_to_is_passed_on_only_as_far_as_a_delegation_says() {
    let mut scene = Scene::new().await;
    let grants = json!(["authorization_code", "refresh_token", super::driver::EXCHANGE]);
    let first = agent(&scene.app, json!({"grant_types": grants})).await;
    let asked = [("scope", "invoices:read invoices:write")];
    let tokens = first.tokens(&mut scene.browser, &scene.app, &asked).await;
    let token = tokens["access_token"].as_str().unwrap();
    let body = json!({"client_id": first.id, "scope": "invoices:read", "redelegable": true});
    assert_eq!(scene.delegate(&body).await.status, 201);
    scene.delegated("invoices:read invoices:write", None).await;
    let answer = exchange(&scene.app, &scene.agent, token, &[("scope", "invoices:write")]).await;
    assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
    let answer = exchange(&scene.app, &scene.agent, token, &[("scope", "invoices:read")]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn a_client_that_acts_for_no_organization_is_given_none() {
    let mut scene = Scene::new().await;
    let token = scene.token("salaries:read", Some("here")).await;
    scene.delegated("salaries:read", Some("here")).await;
    let sql = format!("UPDATE client SET organization_mode = 'none' WHERE client_id = '{}'", scene.agent.id);
    scene.app.sql(&sql).await;
    scene.app.app.directory.forget(&scene.agent.id);
    assert_eq!(scene.exchange(&token, &[]).await.json()["error"], "invalid_request");
    let body = json!({"client_id": scene.agent.id, "scope": "salaries:read", "organization": "here"});
    assert_eq!(scene.delegate(&body).await.status, 422);
}

#[tokio::test]
async fn no_scope_at_all_is_no_way_to_a_token() {
    let mut scene = Scene::new().await;
    let token = scene.token("salaries:write", Some("here")).await;
    scene.delegated("reports:read", Some("here")).await;
    let answer = scene.exchange(&token, &[("scope", " ")]).await;
    assert_eq!(answer.json()["error"], "invalid_scope", "{}", answer.text());
}

/// Of approvals: a report ends what the client fetched already, and blocks it.
#[tokio::test]
async fn a_report_after_the_token_was_fetched_ends_it() {
    let mut scene = Scene::asking().await;
    let asked = scene.asked(&[]).await;
    let approved = scene.approve(&asked).await;
    let token = scene.poll(&asked).await.json()["access_token"].as_str().unwrap().to_owned();
    assert!(scene.counts(&scene.agent, &token).await);
    let path = format!("/v1/account/approvals/{}/report", approved["id"].as_str().unwrap());
    let answer = scene.browser.post(&path, &json!({})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!scene.counts(&scene.agent, &token).await);
    let again = scene.ask(&scene.agent, &[]).await;
    assert_eq!(again.json()["error"], "access_denied", "{}", again.text());
}

/// However often a client asks, granted or not, it does not keep others from the account's lock.
#[tokio::test]
async fn requests_for_approval_are_limited_even_where_they_are_refused() {
    let scene = Scene::asking().await;
    let mut limited = 0;
    for _ in 0..80 {
        // Only a rule says when to come back.
        limited += usize::from(!scene.ask(&scene.agent, &[]).await.header("retry-after").is_empty());
    }
    assert!(limited > 0);
}

/// A client that knows the number, and holds the person's token for their account, is not the person.
#[tokio::test]
async fn a_client_does_not_approve_what_it_asked_for() {
    let mut scene = Scene::asking().await;
    let metadata = json!({"grant_types": ["authorization_code", "refresh_token", super::driver::CIBA]});
    let own = Relying::with(&scene.app, Trust::FirstParty, metadata).await;
    let body = json!({"client_id": own.id, "scope": "invoices:read"});
    assert_eq!(scene.delegate(&body).await.status, 201);
    let tokens = own.tokens(&mut scene.browser, &scene.app, &[("scope", "account")]).await;
    let token = tokens["access_token"].as_str().unwrap();
    let asked = asked(&scene.ask(&own, &[("authorization_details", "")]).await);
    let id = scene.waiting().await["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/account/approvals/{id}/approve");
    let body = json!({"number": asked.number});
    let answer = call(&scene.app, Method::POST, &path, token, Some(&body), &[]).await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert_eq!(scene.browser.post(&path, &body).await.status, 200, "the person does");
}

/// What an agent holds for itself in an organization stops with a freeze, too.
#[tokio::test]
async fn a_freeze_reaches_what_an_agent_holds_for_itself() {
    let scene = Scene::new().await;
    let own = agent(&scene.app, json!({"grant_types": ["client_credentials"]})).await;
    join_client(&scene.app, scene.here, &own.id, "accountant").await;
    let form = [("scope", "salaries:read"), ("organization", "here")];
    let token = own.token(&scene.app, "client_credentials", &form).await.json();
    let token = token["access_token"].as_str().unwrap_or_else(|| panic!("{token}"));
    assert!(scene.counts(&own, token).await);
    let key = organization_key(&scene.app, scene.here, &["organization:*"]).await;
    let path = format!("/v1/organizations/{}/policy", scene.here);
    let etag = get(&scene.app, &path, &key).await.header("etag").to_owned();
    let body = json!({"agents": "frozen"});
    let answer = call(&scene.app, Method::PUT, &path, &key, Some(&body), &[("if-match", &etag)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!scene.counts(&own, token).await);
}
