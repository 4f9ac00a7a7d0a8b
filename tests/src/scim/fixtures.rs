//! The requests that Okta and Entra ID send, one by one, with their traps.

use serde_json::{Value, json};

use super::driver::{ENTERPRISE, directory, refusal, user};

#[tokio::test]
async fn okta_tests_the_connection() {
    let directory = directory().await;
    let answer = directory.get("Users?startIndex=1&count=2").await;
    let told = answer.json();
    assert_eq!(told["schemas"], json!(["urn:ietf:params:scim:api:messages:2.0:ListResponse"]));
    assert_eq!((&told["totalResults"], &told["startIndex"]), (&json!(0), &json!(1)));
    assert_eq!((&told["itemsPerPage"], &told["Resources"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn entra_tests_the_connection_with_somebody_who_does_not_exist() {
    let directory = directory().await;
    directory.user("ana").await;
    let filter = "userName eq \"a1b2c3d4-0000-4000-8000-000000000000\"";
    let answer = directory.find("Users", filter).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["totalResults"]), (200, &json!(0)));
}

#[tokio::test]
async fn users_are_found_by_what_directories_look_for() {
    let directory = directory().await;
    let (ana, bia) = (directory.user("Ana@Corp.test").await, directory.user("bia").await);
    let manager = json!([{"op": "Add", "path": format!("{ENTERPRISE}:manager"), "value": ana}]);
    assert_eq!(directory.patch(&format!("Users/{bia}"), manager).await.status, 200);
    let sales = directory.group("Sales", &[&bia]).await;
    for (resource, filter, id) in [
        ("Users", "userName eq \"ana@corp.TEST\"".to_owned(), &ana),
        ("Users", "externalId eq \"x-bia\"".into(), &bia),
        ("Users", "emails[type eq \"work\"].value eq \"BIA@corp.test\"".into(), &bia),
        ("Users", "emails.value eq \"bia@corp.test\"".into(), &bia),
        ("Users", "displayName eq \"the bia\"".into(), &bia),
        ("Users", format!("id eq \"{bia}\" and manager eq \"{ana}\""), &bia),
        ("Users", format!("{ENTERPRISE}:manager.value eq \"{ana}\""), &bia),
        ("Groups", "displayName eq \"SALES\"".into(), &sales),
        ("Groups", format!("id eq \"{sales}\" and members eq \"{bia}\""), &sales),
        ("Groups", format!("members[value eq \"{bia}\"]"), &sales),
    ] {
        let told = directory.find(resource, &filter).await.json();
        assert_eq!((&told["totalResults"], &told["Resources"][0]["id"]), (&json!(1), &json!(id)), "{filter}");
    }
    for (resource, filter) in [
        ("Users", format!("id eq \"{ana}\" and manager eq \"{ana}\"")),
        ("Users", "externalId eq \"X-BIA\"".into()),
        ("Users", "emails[type eq \"home\"].value eq \"bia@corp.test\"".into()),
        ("Users", "id eq \"nobody\"".into()),
        ("Groups", format!("id eq \"{sales}\" and members eq \"{ana}\"")),
    ] {
        let told = directory.find(resource, &filter).await.json();
        assert_eq!(told["totalResults"], 0, "{filter}");
    }
}

#[tokio::test]
async fn a_filter_that_is_not_understood_never_lists_everybody() {
    let directory = directory().await;
    directory.user("ana").await;
    for filter in
        ["shoeSize eq 42", "userName", "userName like \"a\"", "password eq \"x\"", "userName eq", ""]
    {
        let answer = directory.find("Users", filter).await;
        if filter.is_empty() {
            // An empty parameter is an omitted one.
            assert_eq!(answer.status, 400, "{}", answer.text());
        } else {
            assert_eq!(refusal(&answer), (400, "invalidFilter".into()), "{filter}");
        }
    }
}

/// One request about a user, and a part of what the user is afterwards.
async fn becomes(operations: Value, pointer: &str, expected: Value) {
    let directory = directory().await;
    let id = directory.user("ana").await;
    let what = operations.to_string();
    let answer = directory.patch(&format!("Users/{id}"), operations).await;
    assert_eq!(answer.status, 200, "{what}: {}", answer.text());
    let told = answer.json();
    assert_eq!(told.pointer(pointer).cloned().unwrap_or(Value::Null), expected, "{what}: {told}");
}

#[tokio::test]
async fn patches_of_entra_and_okta_do_what_they_mean() {
    let pointer = format!("/{}", ENTERPRISE.replace('/', "~1"));
    becomes(json!([{"op": "replace", "value": {"active": false}}]), "/active", json!(false)).await;
    becomes(json!([{"op": "Replace", "path": "active", "value": "False"}]), "/active", json!(false)).await;
    let older = json!([{"op": "Replace", "path": "active", "value": [{"$ref": null, "value": "False"}]}]);
    becomes(older, "/active", json!(false)).await;
    let dotted = json!([{"op": "replace", "value": {"name.givenName": "Bia",
        format!("{ENTERPRISE}:department"): "Legal"}}]);
    becomes(dotted.clone(), "/name/givenName", json!("Bia")).await;
    becomes(dotted, &format!("{pointer}/department"), json!("Legal")).await;
    let work = json!([{"op": "Replace", "path": "emails[type eq \"work\"].value", "value": "b@corp.test"}]);
    becomes(work, "/emails/0/value", json!("b@corp.test")).await;
    let home = json!([{"op": "Add", "path": "emails[type eq \"home\"].value", "value": "h@corp.test"}]);
    becomes(home, "/emails/1", json!({"type": "home", "value": "h@corp.test"})).await;
    let role = json!([{"op": "Add", "path": "roles[primary eq \"True\"].value", "value": "admin"}]);
    becomes(role, "/roles", json!([{"primary": true, "value": "admin"}])).await;
    let manager = json!([{"op": "Add", "path": format!("{ENTERPRISE}:manager"), "value": ["m1"]}]);
    becomes(manager, &format!("{pointer}/manager"), json!({"value": "m1"})).await;
    let unknown =
        json!([{"op": "Add", "value": {"urn:ietf:params:scim:schemas:extension:x:2.0:User:shoe": 42}}]);
    becomes(unknown, "/userName", json!("ana")).await;
    let none =
        json!([{"op": "Remove", "path": "title"}, {"op": "Replace", "path": "nickName", "value": null}]);
    becomes(none, "/nickName", Value::Null).await;
}

#[tokio::test]
async fn what_cannot_be_read_as_active_is_refused_and_changes_nothing() {
    let directory = directory().await;
    let id = directory.user("ana").await;
    let path = format!("Users/{id}");
    for value in [json!("no"), json!(0), json!(""), json!([]), json!({}), json!([true, false]), json!(null)] {
        let patch = json!([{"op": "replace", "path": "active", "value": value}]);
        assert_eq!(refusal(&directory.patch(&path, patch).await), (400, "invalidValue".into()), "{value}");
        let mut whole = user("ana");
        whole["active"] = value.clone();
        assert_eq!(refusal(&directory.put(&path, &whole).await), (400, "invalidValue".into()), "{value}");
        whole["userName"] = "bia".into();
        assert_eq!(refusal(&directory.post("Users", &whole).await), (400, "invalidValue".into()), "{value}");
    }
    assert!(directory.is_active(&id).await);
}

#[tokio::test]
async fn a_put_replaces_everything_but_what_must_not_be_lost_by_mistake() {
    let directory = directory().await;
    let id = directory.user("ana").await;
    let path = format!("Users/{id}");
    directory.patch(&path, json!([{"op": "replace", "path": "active", "value": false}])).await;
    let told = directory
        .put(&path, &json!({"userName": "ana", "title": "Boss", "password": "hunter2"}))
        .await
        .json();
    assert_eq!(
        (&told["active"], &told["externalId"], &told["title"]),
        (&json!(false), &json!("x-ana"), &json!("Boss"))
    );
    assert!(told.get("emails").is_none() && told.get("password").is_none());
    assert_eq!(refusal(&directory.put(&path, &json!({"title": "x"})).await), (400, "invalidValue".into()));
    let group = directory.group("Sales", &[&id]).await;
    let place = format!("Groups/{group}");
    directory.put(&place, &json!({"displayName": "Selling"})).await;
    assert_eq!(directory.members(&group).await, [id.as_str()], "members that are not mentioned stay");
    directory.put(&place, &json!({"displayName": "Selling", "members": []})).await;
    assert!(directory.members(&group).await.is_empty(), "an empty array empties");
}

#[tokio::test]
async fn whatever_else_is_in_a_request_is_kept_or_ignored() {
    let directory = directory().await;
    let odd = json!({
        "schemas": ["urn:unknown", null],
        "id": "ours",
        "USERNAME": "ana",
        "unknown": {"deep": [1, {"a": null}]},
        "emails": null,
        "phoneNumbers": [{"type": "work", "value": 555, "$ref": null}, null],
        "roles": [{"primary": "True", "value": "x", "display": null}],
        "urn:example:custom": {"a": 1},
        ENTERPRISE: {"manager": {"value": null, "$ref": null}, "employeeNumber": 701},
        "groups": [{"value": "not ours to say"}],
        "meta": {"version": "W/\"99\""},
    });
    let told = directory.post("Users", &odd).await.json();
    assert_eq!(told["phoneNumbers"], json!([{"type": "work", "value": "555"}]));
    assert_eq!(told["roles"], json!([{"primary": true, "value": "x"}]));
    assert_eq!(told[ENTERPRISE], json!({"employeeNumber": "701"}));
    assert!(told.get("groups").is_none() && told.get("unknown").is_none() && told["id"] != "ours");
}
