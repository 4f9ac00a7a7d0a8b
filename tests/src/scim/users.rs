//! Users: what creating, changing and deleting them does.

use http::Method;
use serde_json::json;

use super::driver::{ENTERPRISE, directory, refusal, user};
use crate::organizations::{
    driver::get,
    staff::{account, context},
};

#[tokio::test]
async fn a_user_is_a_membership_and_no_account() {
    let directory = directory().await;
    let made = directory.post("Users", &user("ana")).await;
    let told = made.json();
    let id = told["id"].as_str().unwrap();
    assert_eq!(made.header("location"), told["meta"]["location"].as_str().unwrap());
    assert_eq!(made.header("etag"), "W/\"1\"");
    assert_eq!(told["userName"], "ana");
    assert_eq!(told[ENTERPRISE]["department"], "Sales");
    assert!(told.get("password").is_none());
    assert_eq!(directory.app.count("SELECT count(*) FROM account").await, 0);
    assert_eq!(directory.app.count("SELECT count(*) FROM identifier").await, 0);
    let key = crate::organizations::driver::organization_key(
        &directory.app,
        directory.organization,
        &["members:read"],
    )
    .await;
    let path = format!("/v1/organizations/{}/members/{id}", directory.organization);
    let member = get(&directory.app, &path, &key).await.json();
    assert_eq!((&member["state"], &member["source"]), (&json!("provisioned"), &json!("scim")));
    assert_eq!((&member["user_name"], &member["display_name"]), (&json!("ana"), &json!("The ana")));
    assert_eq!(member["roles"], json!(["member"]));
    let list = format!("/v1/organizations/{}/members?state=provisioned", directory.organization);
    assert_eq!(get(&directory.app, &list, &key).await.json()["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn names_and_keys_are_unique_among_the_living() {
    let directory = directory().await;
    let id = directory.user("Ana").await;
    let again = directory.post("Users", &json!({"userName": "aNA"})).await;
    assert_eq!(refusal(&again), (409, "uniqueness".into()));
    assert!(again.json()["detail"].as_str().unwrap().contains(&id));
    let same_key = directory.post("Users", &json!({"userName": "bia", "externalId": "x-Ana"})).await;
    assert_eq!(refusal(&same_key), (409, "uniqueness".into()));
    let bia = directory.user("bia").await;
    let renamed = json!([{"op": "replace", "path": "userName", "value": "ANA"}]);
    assert_eq!(refusal(&directory.patch(&format!("Users/{bia}"), renamed).await), (409, "uniqueness".into()));
    assert_eq!(directory.delete(&format!("Users/{id}")).await.status, 204);
    assert_eq!(refusal(&directory.get(&format!("Users/{id}")).await).0, 404);
    assert_eq!(refusal(&directory.delete(&format!("Users/{id}")).await).0, 404);
    let second = directory.user("ana").await;
    assert_ne!(second, id, "a deleted id is never used again");
    let previous =
        format!("SELECT count(*) FROM membership WHERE membership_id = '{second}' AND previous_id = '{id}'");
    assert_eq!(directory.app.count(&previous).await, 1);
}

#[tokio::test]
async fn what_changes_nothing_writes_nothing() {
    let directory = directory().await;
    let id = directory.user("ana").await;
    let group = directory.group("Sales", &[&id]).await;
    let path = format!("Users/{id}");
    let before = directory.get(&path).await;
    let rows = "SELECT count(*) FROM trail";
    let entries = directory.app.count(rows).await;
    for answer in [
        directory.put(&path, &user("ana")).await,
        directory.patch(&path, json!([{"op": "replace", "value": {"active": "True"}}])).await,
        directory
            .patch(
                &path,
                json!([{"op": "add", "path": "emails[type eq \"work\"].value",
            "value": "ana@corp.test"}]),
            )
            .await,
        directory.patch(&path, json!([])).await,
    ] {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json(), before.json());
        assert_eq!(answer.header("etag"), before.header("etag"));
    }
    let members = json!({"displayName": "Sales", "members": [{"value": id}]});
    let place = format!("Groups/{group}");
    let seen = directory.get(&place).await.json();
    assert_eq!(directory.put(&place, &members).await.json(), seen);
    let add = json!([{"op": "add", "path": "members", "value": [{"value": id}]}]);
    assert_eq!(directory.patch(&place, add).await.status, 204);
    assert_eq!(directory.get(&place).await.json(), seen);
    assert_eq!(directory.app.count(rows).await, entries);
}

#[tokio::test]
async fn versions_guard_changes() {
    let directory = directory().await;
    let id = directory.user("ana").await;
    let path = format!("Users/{id}");
    let body = json!({"schemas": [], "Operations": [{"op": "replace", "path": "title", "value": "Boss"}]});
    let stale = directory.send(Method::PATCH, &path, Some(&body), &[("if-match", "W/\"7\"")]).await;
    assert_eq!(refusal(&stale).0, 412);
    let fresh = directory.send(Method::PATCH, &path, Some(&body), &[("if-match", "W/\"1\"")]).await;
    assert_eq!((fresh.status.as_u16(), fresh.header("etag")), (200, "W/\"2\""));
    let known = directory.send(Method::GET, &path, None, &[("if-none-match", "W/\"2\"")]).await;
    assert_eq!((known.status.as_u16(), known.text().as_str()), (304, ""));
    let gone = directory.send(Method::DELETE, &path, None, &[("if-match", "W/\"1\"")]).await;
    assert_eq!(refusal(&gone).0, 412);
    assert_eq!(directory.send(Method::DELETE, &path, None, &[("if-match", "*")]).await.status, 204);
}

#[tokio::test]
async fn a_person_claims_a_membership_once_and_a_deleted_one_leaves_them_free() {
    let directory = directory().await;
    let (app, here) = (&directory.app, directory.organization);
    let id = directory.user("ana").await;
    let ana = account(app, "Ana").await;
    let found = porteiro_service::members::by_external_id(&app.app.store, here, "x-ana");
    assert_eq!(found.await.unwrap().unwrap().id.to_string(), id);
    directory.claim(&id, ana).await;
    let found = porteiro_service::members::by_external_id(&app.app.store, here, "x-ana");
    assert_eq!(found.await.unwrap().unwrap().account, Some(ana), "claimed");
    // Another user of the directory is not theirs as well.
    let other = directory.user("bia").await;
    let claim = |id: String| {
        let (service, id) = (&app.app, id.parse().unwrap());
        async move {
            let context = context();
            let context = &context;
            let claimed = service.store.run_tx("test.claim", |tx| async move {
                porteiro_service::members::claim(service, &tx, context, here, id, ana).await
            });
            claimed.await.unwrap()
        }
    };
    assert!(!claim(other.clone()).await);
    assert_eq!(directory.delete(&format!("Users/{id}")).await.status, 204);
    assert!(claim(other).await, "the tombstone holds nobody");
}

#[tokio::test]
async fn the_last_owner_is_not_disabled_by_a_directory() {
    let directory = directory().await;
    let (app, here) = (&directory.app, directory.organization);
    let (id, ana) = (directory.user("ana").await, account(app, "Ana").await);
    directory.claim(&id, ana).await;
    app.sql(&format!(
        "INSERT INTO membership_role (organization_id, role_key, created_at, membership_id)
         SELECT organization_id, 'owner', created_at, membership_id FROM membership WHERE membership_id = '{id}'"
    ))
    .await;
    let off = json!([{"op": "replace", "path": "active", "value": false}]);
    assert_eq!(refusal(&directory.patch(&format!("Users/{id}"), off.clone()).await).0, 409);
    assert_eq!(refusal(&directory.delete(&format!("Users/{id}")).await).0, 409);
    assert!(directory.is_active(&id).await);
    crate::organizations::driver::join(app, here, account(app, "Bia").await, "owner").await;
    assert_eq!(directory.patch(&format!("Users/{id}"), off).await.status, 200);
}
