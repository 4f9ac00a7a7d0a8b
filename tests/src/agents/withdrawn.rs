//! Requests for approval end with the delegation by which they were made.

use http::Method;
use serde_json::json;

use super::{approvals::of_member, driver::Scene};
use crate::organizations::driver::{call, organization_key};

#[tokio::test]
async fn a_delegation_that_an_organization_revokes_takes_along_what_members_were_asked_by_it() {
    let mut scene = Scene::asking().await;
    let sql = format!(
        "UPDATE client SET organization_id = '{}' WHERE client_id = '{}'",
        scene.here, scene.agent.id
    );
    scene.app.sql(&sql).await;
    scene.app.app.directory.forget(&scene.agent.id);
    let key = organization_key(&scene.app, scene.here, &["delegations:*", "salaries:*"]).await;
    let path = format!("/v1/organizations/{}/delegations", scene.here);
    let body = json!({"client_id": scene.agent.id, "scope": "salaries:read"});
    let made = call(&scene.app, Method::POST, &path, &key, Some(&body), &[]).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let (theirs, own) = (of_member(&mut scene).await, scene.asked(&[]).await);
    let path = format!("{path}/{}", made.json()["id"].as_str().unwrap());
    assert_eq!(call(&scene.app, Method::DELETE, &path, &key, None, &[]).await.status, 204);
    assert_eq!(scene.poll(&theirs).await.json()["error"], "expired_token");
    assert_eq!(scene.poll(&own).await.json()["error"], "authorization_pending", "it rests on another one");
}
