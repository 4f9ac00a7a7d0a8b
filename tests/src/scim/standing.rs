//! What the directory may undo: only what it did itself.

use http::Method;
use serde_json::{Value, json};

use super::driver::{Directory, directory, refusal, user};
use crate::organizations::{
    driver::{call, get, organization_key},
    staff::account,
};

fn active(value: bool) -> Value {
    json!([{"op": "replace", "path": "active", "value": value}])
}

async fn manage(directory: &Directory, key: &str, id: &str, verb: &str) {
    let path = format!("/v1/organizations/{}/members/{id}/{verb}", directory.organization);
    let body = (verb == "disable").then(|| json!({"reason": "fraud"}));
    let answer = call(&directory.app, Method::POST, &path, key, body.as_ref(), &[]).await;
    assert_eq!(answer.status, 200, "{verb}: {}", answer.text());
}

#[tokio::test]
async fn a_directory_enables_whom_it_disabled_and_nobody_whom_others_did() {
    let directory = directory().await;
    let (app, here) = (&directory.app, directory.organization);
    let key = organization_key(app, here, &["members:*", "audit:read", "organization:*"]).await;
    for claimed in [false, true] {
        let name = if claimed { "ana" } else { "bia" };
        let id = directory.user(name).await;
        if claimed {
            directory.claim(&id, account(app, "Ana").await).await;
        }
        let path = format!("Users/{id}");
        assert_eq!(directory.patch(&path, active(false)).await.status, 200);
        assert_eq!(directory.patch(&path, active(true)).await.status, 200);
        assert!(directory.is_active(&id).await);
        // Once an administrator did, whoever was first.
        for first in ["administrator", "directory"] {
            if first == "directory" {
                assert_eq!(directory.patch(&path, active(false)).await.status, 200);
            }
            manage(&directory, &key, &id, "disable").await;
            assert_eq!(directory.patch(&path, active(false)).await.status, 200, "it is so");
            let mut whole = user(name);
            whole["title"] = "Boss".into();
            for answer in [
                directory.patch(&path, active(true)).await,
                directory
                    .patch(&path, json!([{"op": "replace", "value": {"title": "x", "active": "True"}}]))
                    .await,
                directory.put(&path, &whole).await,
            ] {
                assert_eq!(refusal(&answer).0, 409, "{first}: {}", answer.text());
                assert!(answer.json()["detail"].as_str().unwrap().contains("administrator"));
            }
            let told = directory.get(&path).await.json();
            assert_eq!((&told["active"], told.get("title")), (&json!(false), None), "nothing of it is done");
            whole["active"] = json!(false);
            assert_eq!(directory.put(&path, &whole).await.status, 200, "the rest may still change");
            directory
                .put(&path, &{
                    let mut plain = user(name);
                    plain["active"] = json!(false);
                    plain
                })
                .await;
            // The administrator undoes what administrators did; the directory said that the user is not active, too.
            manage(&directory, &key, &id, "enable").await;
            assert!(!directory.is_active(&id).await, "{first}: the directory's word was lost");
            if first == "administrator" {
                assert_eq!(directory.patch(&path, active(true)).await.status, 200);
            } else {
                manage(&directory, &key, &id, "enable").await;
            }
            assert!(directory.is_active(&id).await);
        }
        // A directory that said nothing about it has no word in it.
        manage(&directory, &key, &id, "disable").await;
        let retitled = json!([{"op": "replace", "path": "title", "value": "Clerk"}]);
        assert_eq!(directory.patch(&path, retitled).await.status, 200);
        manage(&directory, &key, &id, "enable").await;
        assert!(directory.is_active(&id).await);
    }
    let list = format!("/v1/organizations/{here}/provisioning-refusals");
    let told = get(app, &list, &key).await.json();
    let conflicts = told["items"].as_array().unwrap().iter().filter(|one| one["status"] == 409);
    assert!(conflicts.count() >= 2, "{told}");
}

#[tokio::test]
async fn whoever_is_created_inactive_may_be_activated() {
    let directory = directory().await;
    let mut inactive = user("ana");
    inactive["active"] = json!("False");
    let id = directory.post("Users", &inactive).await.json()["id"].as_str().unwrap().to_owned();
    assert!(!directory.is_active(&id).await);
    assert_eq!(directory.patch(&format!("Users/{id}"), active(true)).await.status, 200);
    assert!(directory.is_active(&id).await);
}
