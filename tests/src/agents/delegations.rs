//! Delegations: who makes, sees and revokes them.

use http::Method;
use porteiro_service::oauth::{apis, clients::Trust};
use serde_json::{Value, json};

use super::driver::{Scene, agent, exchange, exchanged, noticed};
use crate::{
    oauth::{LEDGER, driver::Relying, ledger},
    organizations::driver::{call, get, organization, organization_key},
};

#[tokio::test]
async fn a_person_delegates_no_more_than_the_client_may_have_and_they_hold() {
    let mut scene = Scene::new().await;
    let client_id = scene.agent.id.clone();
    let public = Relying::public(&scene.app, Trust::Verified).await;
    let with = |more: Value| {
        let mut body = json!({"client_id": client_id, "scope": "invoices:read"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    for (more, status) in [
        (json!({"scope": "account"}), 422),
        (json!({"scope": "offline_access openid"}), 422),
        (json!({"scope": "platform.accounts:read"}), 422),
        (json!({"scope": "invoices:delete"}), 422),
        (json!({"scope": ""}), 422),
        (json!({"scope": "invoices:read salaries:read", "organization": "here"}), 422),
        (json!({"scope": "salaries:read"}), 422),
        (json!({"scope": "members:write", "organization": "here"}), 403),
        (json!({"scope": "salaries:read", "organization": "nowhere"}), 404),
        (json!({"client_id": "nobody"}), 422),
        (json!({"client_id": public.id}), 422),
        (json!({"expires_in": 7_776_001}), 422),
        (json!({"expires_in": 0}), 422),
        (json!({"unheard_of": 1}), 400),
        (json!({"resource": "https://nowhere.example"}), 422),
        (json!({"expires_in": 7_776_000}), 201),
        (json!({"scope": "salaries:read", "organization": "here"}), 201),
    ] {
        let answer = scene.delegate(&with(more.clone())).await;
        assert_eq!(answer.status.as_u16(), status, "{more} {}", answer.text());
    }
    let listed = scene.browser.get("/v1/account/delegations").await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");
    scene.app.sql("UPDATE session SET proofs = (SELECT jsonb_agg(p || '{\"at\": 0}') FROM jsonb_array_elements(proofs) p)").await;
    let answer = scene.delegate(&with(json!({}))).await;
    assert_ne!(answer.status, 201, "an old proof is not enough: {}", answer.text());
}

#[tokio::test]
async fn an_organizations_own_client_acts_for_its_members_and_no_others() {
    let mut scene = Scene::new().await;
    let key = organization_key(&scene.app, scene.here, &["delegations:*", "salaries:*"]).await;
    let path = format!("/v1/organizations/{}/delegations", scene.here);
    let body = json!({"client_id": scene.agent.id, "scope": "salaries:read"});
    let answer = call(&scene.app, Method::POST, &path, &key, Some(&body), &[]).await;
    assert_eq!(answer.status, 403, "not a client of theirs: {}", answer.text());
    let own = agent(&scene.app, json!({"kind": "service"})).await;
    let sql = format!("UPDATE client SET organization_id = '{}' WHERE client_id = '{}'", scene.here, own.id);
    scene.app.sql(&sql).await;
    noticed().await;
    let body = json!({"client_id": own.id, "scope": "salaries:read"});
    let answer = call(&scene.app, Method::POST, &path, &key, Some(&body), &[]).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.json()["source"], "administrator");
    let more = json!({"client_id": own.id, "scope": "reports:read"});
    let refused = call(&scene.app, Method::POST, &path, &key, Some(&more), &[]).await;
    assert_eq!(refused.status, 403, "more than the caller holds: {}", refused.text());
    let token = scene.token("salaries:read", Some("here")).await;
    let held = exchanged(&scene.app, &own, &token, &[]).await;
    assert!(scene.counts(&own, &held).await);
    // Nothing of the person's own is meant by it.
    let token = scene.token("invoices:read", None).await;
    assert_eq!(exchange(&scene.app, &own, &token, &[]).await.status, 400);
    // The administrator sees it, members' too, and revokes either.
    scene.delegated("salaries:read", Some("here")).await;
    let listed = get(&scene.app, &path, &key).await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");
    for item in listed["items"].as_array().unwrap() {
        let one = format!("{path}/{}", item["id"].as_str().unwrap());
        assert_eq!(call(&scene.app, Method::DELETE, &one, &key, None, &[]).await.status, 204);
        assert_eq!(call(&scene.app, Method::DELETE, &one, &key, None, &[]).await.status, 404);
    }
    assert!(!scene.counts(&own, &held).await);
}

#[tokio::test]
async fn nobody_sees_or_revokes_what_is_anothers() {
    let mut scene = Scene::new().await;
    let id = scene.delegated("salaries:read", Some("here")).await;
    let mut other = crate::people::register_with_password(&scene.app, "bo@example.test").await;
    assert_eq!(other.delete(&format!("/v1/account/delegations/{id}")).await.status, 404);
    let listed = other.get("/v1/account/delegations").await.json();
    assert_eq!(listed["items"], json!([]));
    let there = organization(&scene.app, "there").await;
    let key = organization_key(&scene.app, there, &["delegations:*"]).await;
    let path = format!("/v1/organizations/{there}/delegations/{id}");
    assert_eq!(call(&scene.app, Method::DELETE, &path, &key, None, &[]).await.status, 404);
    let path = format!("/v1/organizations/{}/delegations/{id}", scene.here);
    assert_eq!(call(&scene.app, Method::DELETE, &path, &key, None, &[]).await.status, 404);
    assert_eq!(scene.browser.delete(&format!("/v1/account/delegations/{id}")).await.status, 204);
}

#[tokio::test]
async fn a_person_has_two_hundred_delegations_at_most() {
    let mut scene = Scene::new().await;
    scene.delegated("invoices:read", None).await;
    scene
        .app
        .sql("INSERT INTO delegation SELECT owner_id, gen_random_uuid(), account_id, organization_id, membership_id,
                client_id, audience, scope, details, redelegable, source, created_at, expires_at
              FROM delegation, generate_series(2, 200)")
        .await;
    let body = json!({"client_id": scene.agent.id, "scope": "invoices:read"});
    let answer = scene.delegate(&body).await;
    assert_eq!(answer.status, 422, "{}", answer.text());
}

#[tokio::test]
async fn an_api_that_is_removed_and_registered_again_revives_no_delegation() {
    let mut scene = Scene::new().await;
    scene.delegated("invoices:read", None).await;
    let subject = scene.token("invoices:read", None).await;
    let held = exchanged(&scene.app, &scene.agent, &subject, &[]).await;
    assert!(apis::remove(&scene.app.app.store, LEDGER).await.unwrap());
    noticed().await;
    assert!(!scene.counts(&scene.agent, &held).await);
    apis::register(&scene.app.app.store, &ledger()).await.unwrap();
    noticed().await;
    assert!(!scene.counts(&scene.agent, &held).await);
    let subject = scene.token("invoices:read", None).await;
    let answer = scene.exchange(&subject, &[]).await;
    assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
    assert_eq!(scene.browser.get("/v1/account/delegations").await.json()["items"], json!([]));
    scene.delegated("invoices:read", None).await;
    assert_eq!(scene.exchange(&subject, &[]).await.status, 200);
}
