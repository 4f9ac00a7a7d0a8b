//! Whole stories of directories: hire, change, leave, return, move between groups, rename, soft delete, delete.

use serde_json::{Value, json};

use super::driver::{Directory, ENTERPRISE, directory, refusal};
use crate::organizations::staff::account;

/// Okta looks first, and creates only whom it does not find.
async fn okta_creates(directory: &Directory, name: &str) -> String {
    let found = directory.find("Users", &format!("userName eq \"{name}\"")).await.json();
    assert_eq!(found["totalResults"], 0);
    let body = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "userName": name,
        "name": {"givenName": "Test", "familyName": "User"},
        "emails": [{"primary": true, "value": name, "type": "work"}],
        "displayName": "Test User",
        "locale": "en-US",
        "externalId": format!("00u-{name}"),
        "groups": [],
        "password": "1mz050nq",
        "active": true,
    });
    let made = directory.post("Users", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

fn whole(id: &str, name: &str, active: Option<bool>, family: &str) -> Value {
    let mut body = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "id": id,
        "userName": name,
        "name": {"givenName": "Test", "middleName": "", "familyName": family},
        "emails": [{"primary": true, "value": name, "type": "work", "display": name}],
        "groups": [],
    });
    if let Some(active) = active {
        body["active"] = active.into();
    }
    body
}

#[tokio::test]
async fn okta_with_put() {
    let directory = directory().await;
    let id = okta_creates(&directory, "test.user@corp.test").await;
    let path = format!("Users/{id}");
    // Change: the wizard reads, and puts the whole object.
    assert_eq!(directory.get(&path).await.status, 200);
    let told = directory.put(&path, &whole(&id, "test.user@corp.test", None, "Married")).await.json();
    assert_eq!((&told["name"]["familyName"], &told["active"]), (&json!("Married"), &json!(true)));
    assert_eq!(told["externalId"], "00u-test.user@corp.test");
    // Leave: the object with active false; it is still found, and says so.
    let told = directory.put(&path, &whole(&id, "test.user@corp.test", Some(false), "Married")).await.json();
    assert_eq!(told["active"], false);
    let found = directory.find("Users", "userName eq \"test.user@corp.test\"").await.json();
    assert_eq!((&found["Resources"][0]["id"], &found["Resources"][0]["active"]), (&json!(id), &json!(false)));
    // Return: the same id.
    let told = directory.put(&path, &whole(&id, "test.user@corp.test", Some(true), "Married")).await.json();
    assert_eq!((&told["id"], &told["active"]), (&json!(id), &json!(true)));
    // Rename.
    let told = directory.put(&path, &whole(&id, "new.name@corp.test", Some(true), "Married")).await.json();
    assert_eq!(told["userName"], "new.name@corp.test");
    assert_eq!(
        directory.find("Users", "userName eq \"test.user@corp.test\"").await.json()["totalResults"],
        0
    );
}

#[tokio::test]
async fn okta_with_patch_and_group_push() {
    let directory = directory().await;
    let (ana, bia) =
        (okta_creates(&directory, "ana@corp.test").await, okta_creates(&directory, "bia@corp.test").await);
    let made = directory.post("Groups", &json!({"displayName": "Test SCIM", "members": []})).await;
    assert_eq!(made.status, 201);
    let sales = made.json()["id"].as_str().unwrap().to_owned();
    let legal = directory.group("Legal", &[]).await;
    let push = |operations: Value, group: &str| {
        let (directory, path) = (directory.clone(), format!("Groups/{group}"));
        async move { assert_eq!(directory.patch(&path, operations).await.status, 204) }
    };
    push(json!([{"op": "replace", "value": {"id": sales, "displayName": "Sales"}}]), &sales).await;
    push(
        json!([{"op": "add", "path": "members", "value": [{"value": ana, "display": "ana@corp.test"},
        {"value": bia, "display": "bia@corp.test"}]}]),
        &sales,
    )
    .await;
    // A move: out of one, into the other.
    push(json!([{"op": "remove", "path": format!("members[value eq \"{ana}\"]")}]), &sales).await;
    push(json!([{"op": "add", "path": "members", "value": [{"value": ana}]}]), &legal).await;
    assert_eq!(
        (directory.members(&sales).await, directory.members(&legal).await),
        (vec![bia], vec![ana.clone()])
    );
    let path = format!("Users/{ana}");
    let off = json!([{"op": "replace", "value": {"active": false}}]);
    assert_eq!(directory.patch(&path, off).await.json()["active"], false);
    // It is in its groups when it returns.
    let on = json!([{"op": "replace", "value": {"active": true}}]);
    assert_eq!(directory.patch(&path, on).await.json()["active"], true);
    assert_eq!(directory.members(&legal).await, [ana.as_str()]);
    assert_eq!(directory.delete(&format!("Groups/{legal}")).await.status, 204);
}

/// `older`: the flavour with capital operations, text booleans and values in arrays.
async fn entra(older: bool) {
    let directory = directory().await;
    let said = |value: Value| if older { json!([{"$ref": null, "value": value}]) } else { value };
    let off = if older { json!("False") } else { json!(false) };
    let on = if older { json!("True") } else { json!(true) };
    let op = |name: &str| if older { name[..1].to_uppercase() + &name[1..] } else { name.to_owned() };
    // Hire: by externalId, then created.
    let found =
        directory.find("Users", "externalId eq \"0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef\"").await.json();
    assert_eq!(found["totalResults"], 0);
    let body = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
        "userName": "Test_User_ab6490ee",
        "active": on,
        "displayName": "lennay",
        "emails": [{"primary": true, "type": "work", "value": "ab6490ee@corp.test"}],
        "meta": {"resourceType": "User"},
        "name": {"formatted": "Adrienne", "familyName": "McNally", "givenName": "Adrienne"},
        "roles": [],
        ENTERPRISE: {"department": "bob", "manager": {"value": ""}},
    });
    let made = directory.post("Users", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let path = format!("Users/{id}");
    // Change: several operations, with filters and an extension.
    let change = json!([
        {"op": op("replace"), "path": "emails[type eq \"work\"].value", "value": said(json!("new@corp.test"))},
        {"op": op("replace"), "path": "name.familyName", "value": said(json!("Smith"))},
        {"op": op("add"), "path": format!("{ENTERPRISE}:department"), "value": said(json!("Legal"))},
        {"op": op("add"), "path": format!("{ENTERPRISE}:manager"), "value": said(json!(id))},
    ]);
    let told = directory.patch(&path, change).await.json();
    assert_eq!(
        (&told["emails"][0]["value"], &told["name"]["familyName"]),
        (&json!("new@corp.test"), &json!("Smith"))
    );
    assert_eq!(
        (&told[ENTERPRISE]["department"], &told[ENTERPRISE]["manager"]["value"]),
        (&json!("Legal"), &json!(id))
    );
    // Groups: created empty, filled, read without members.
    let group = json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group",
        "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
        "externalId": "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159", "displayName": "displayName", "meta": {"resourceType": "Group"}});
    let group = directory.post("Groups", &group).await.json()["id"].as_str().unwrap().to_owned();
    let place = format!("Groups/{group}");
    let add = json!([{"op": op("add"), "path": "members", "value": [{"$ref": null, "value": id}]}]);
    assert_eq!(directory.patch(&place, add).await.status, 204);
    assert!(
        directory.get(&format!("{place}?excludedAttributes=members")).await.json().get("members").is_none()
    );
    let rename = json!([{"op": op("replace"), "path": "displayName", "value": "1879db59-3bdf-4490-ad68-ab880a269474updatedDisplayName"}]);
    assert_eq!(directory.patch(&place, rename).await.status, 204);
    assert_eq!(directory.members(&group).await, [id.as_str()]);
    let remove = json!([{"op": op("remove"), "path": "members", "value": [{"$ref": null, "value": id}]}]);
    assert_eq!(directory.patch(&place, remove).await.status, 204);
    assert!(directory.members(&group).await.is_empty());
    // Soft delete, return, rename.
    let soft = |value: &Value| json!([{"op": op("replace"), "path": "active", "value": said(value.clone())}]);
    assert_eq!(directory.patch(&path, soft(&off)).await.json()["active"], false);
    assert_eq!(directory.patch(&path, soft(&on)).await.json()["active"], true);
    let rename = json!([{"op": op("replace"), "path": "userName", "value": said(json!("5b50642d"))}]);
    assert_eq!(directory.patch(&path, rename).await.json()["userName"], "5b50642d");
    // A month after the soft delete.
    assert_eq!(directory.patch(&path, soft(&off)).await.json()["active"], false);
    assert_eq!(directory.delete(&path).await.status, 204);
    assert_eq!(refusal(&directory.get(&path).await).0, 404);
    assert_eq!(directory.delete(&place).await.status, 204);
}

#[tokio::test]
async fn entra_of_today() {
    entra(false).await;
}

#[tokio::test]
async fn entra_of_before() {
    entra(true).await;
}

#[tokio::test]
async fn one_person_has_two_employers_and_each_removes_only_its_own() {
    let here = directory().await;
    let place = crate::organizations::driver::organization(&here.app, "there").await;
    let there = Directory::new(&here.app, place).await;
    let ana = account(&here.app, "Ana").await;
    let (one, two) = (here.user("ana").await, there.user("ana").await);
    here.claim(&one, ana).await;
    there.claim(&two, ana).await;
    assert_eq!(here.delete(&format!("Users/{one}")).await.status, 204);
    assert!(there.is_active(&two).await);
    assert_eq!(refusal(&here.get(&format!("Users/{two}")).await).0, 404);
    let states = format!("SELECT count(*) FROM membership WHERE account_id = '{ana}' AND state = 'active'");
    assert_eq!(here.app.count(&states).await, 1);
}
