//! Revoking: by the owner, by an administrator, at once and everywhere.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::Method;
use porteiro_testkit::TestApp;
use serde_json::json;

use super::{get, keys_of, person, secret};
use crate::{
    organizations::driver::{call, organization, organization_key},
    people,
};

#[tokio::test]
async fn an_administrator_sees_and_revokes_members_keys_and_nobody_elses() {
    let app = people::app().await;
    let (here, there) = (organization(&app, "here").await, organization(&app, "there").await);
    let mut ana = person(&app, "ana@example.test", here, "admin").await;
    let made = ana.key("here", &["api-keys:read"]).await;
    let id = made["id"].as_str().unwrap();
    let (admin, foreign) = (
        organization_key(&app, here, &["api-keys:*"]).await,
        organization_key(&app, there, &["api-keys:*"]).await,
    );
    let listed = get(&app, &keys_of(here), &admin).await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    let path = format!("{}/{id}", keys_of(here));
    let hidden = format!("{}/{id}", keys_of(there));
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(call(&app, method.clone(), &hidden, &foreign, None, &[]).await.status, 404, "not theirs");
        assert_eq!(call(&app, method, &path, &foreign, None, &[]).await.status, 404, "no place of theirs");
    }
    assert_eq!(get(&app, &keys_of(there), &foreign).await.json()["items"].as_array().unwrap().len(), 1);
    let reader = organization_key(&app, here, &["api-keys:read"]).await;
    assert_eq!(call(&app, Method::DELETE, &path, &reader, None, &[]).await.status, 403);
    assert_eq!(get(&app, &keys_of(here), secret(&made)).await.status, 200);
    for _ in 0..2 {
        assert_eq!(call(&app, Method::DELETE, &path, &admin, None, &[]).await.status, 204);
    }
    assert_eq!(get(&app, &keys_of(here), secret(&made)).await.status, 401);
    let mine = ana.browser.get("/v1/account/api-keys").await.json();
    assert_eq!(mine["items"][0]["revoke_reason"], "administrator");
    assert!(mine["items"][0]["revoked_at"].is_string());
    let revoked = "SELECT count(*) FROM trail WHERE kind = 'api_key.revoked'";
    assert_eq!(app.count(revoked).await, 1, "twice is once");
    let logged = format!(
        "SELECT count(*) FROM security_log WHERE kind = 'api_key.revoked' AND subject_id = '{}'",
        ana.account
    );
    assert_eq!(app.count(&logged).await, 1);
}

#[tokio::test]
async fn an_owner_revokes_their_own_alone() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = person(&app, "ana@example.test", here, "admin").await;
    let mut ben = person(&app, "ben@example.test", here, "owner").await;
    let made = ana.key("here", &["api-keys:read"]).await;
    let path = format!("/v1/account/api-keys/{}", made["id"].as_str().unwrap());
    assert_eq!(ben.browser.delete(&path).await.status, 404);
    assert_eq!(ben.browser.get("/v1/account/api-keys").await.json()["items"], json!([]));
    assert_eq!(ana.browser.delete(&path).await.status, 204);
    assert_eq!(get(&app, &keys_of(here), secret(&made)).await.status, 401);
    let row = app.database.client().await;
    let row = row.query_one("SELECT actor->>'id' FROM trail WHERE kind = 'api_key.revoked'", &[]).await;
    assert_eq!(row.unwrap().get::<_, String>(0), ana.membership.to_string());
}

/// While many use it on one node, another revokes it: nothing that begins after the answer is let in.
#[tokio::test]
async fn revoking_counts_on_every_node_with_its_answer() {
    let nodes = TestApp::builder().people().start_nodes(2).await;
    let here = organization(&nodes[0], "here").await;
    for round in 0..5 {
        let key = organization_key(&nodes[0], here, &["api-keys:read"]).await;
        let admin = organization_key(&nodes[0], here, &["api-keys:write"]).await;
        let answered = Arc::new(AtomicBool::new(false));
        let mut using = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let (node, key, answered) = (Arc::clone(&nodes[0]), key.clone(), Arc::clone(&answered));
            using.spawn(async move {
                let mut last = 0;
                while last < 3 {
                    let late = answered.load(Ordering::SeqCst);
                    let status = get(&node, &keys_of(here), &key).await.status.as_u16();
                    assert!(status == 401 || !late, "used after it was revoked: {status}");
                    assert!(status == 401 || status == 200, "{status}");
                    last += usize::from(late);
                }
            });
        }
        tokio::time::sleep(Duration::from_millis(20 * round)).await;
        let path = format!("{}/{}", keys_of(here), &key[7..19]);
        assert_eq!(call(&nodes[1], Method::DELETE, &path, &admin, None, &[]).await.status, 204);
        answered.store(true, Ordering::SeqCst);
        using.join_all().await;
    }
}
