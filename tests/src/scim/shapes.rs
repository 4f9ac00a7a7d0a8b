//! Every shape of a deactivation is done or refused; none is answered with success and ignored. The same for the members
//! of a group.

use http::Method;
use serde_json::{Value, json};

use super::driver::{ENTERPRISE, directory};

const USER: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";

fn patch(operation: &Value) -> Value {
    json!({"Operations": [operation]})
}

fn put(name: &str, value: &Value) -> Value {
    json!({"userName": "ana", name: value})
}

/// Whether it is done; otherwise it is refused.
fn deactivations() -> Vec<(Method, Value, bool)> {
    let active = format!("{USER}:active");
    let mut all = Vec::new();
    for (operation, done) in [
        (json!({"op": "replace", "value": {USER: {"active": false}}}), true),
        (json!({"op": "replace", "path": USER, "value": {"active": false}}), true),
        (json!({"op": "replace", "path": active, "value": false}), true),
        (json!({"op": "replace", "value": {(active.as_str()): false}}), true),
        (json!({"op": "replace", "path": "Active", "value": ["false"]}), true),
        (json!({"op": "replace", "value": {"active.value": false}}), false),
        (json!({"op": "replace", "value": {"/active": false}}), false),
        (json!({"op": "replace", "path": "/active", "value": false}), false),
        (json!({"op": "replace", "path": "$.active", "value": false}), false),
        (json!({"op": "replace", "path": "active.value", "value": false}), false),
        (json!({"op": "replace", "path": format!("{ENTERPRISE}:active"), "value": false}), false),
        (json!({"op": "replace", "value": {ENTERPRISE: {"active": false}}}), false),
        (json!({"op": "replace", "path": "urn:scim:schemas:core:1.0:active", "value": false}), false),
        (json!({"op": "replace", "path": format!("{USER}s:active"), "value": false}), false),
        (json!({"op": "replace", "value": {"active": null}}), false),
        (json!({"op": "replace", "path": "active", "value": []}), false),
        (json!({"op": "replace", "path": "active", "value": [null]}), false),
        (json!({"op": "replace", "path": "active"}), false),
        (json!({"op": "replace", "value": {"Active": false, "active": true}}), false),
        (json!({"op": "replace", "path": "active", "value": true, "Value": false}), false),
        (json!({"op": "replace", "path": "title", "Path": "active", "value": false}), false),
        (json!({"op": "remove", "path": "active"}), false),
    ] {
        all.push((Method::PATCH, patch(&operation), done));
    }
    let twice =
        json!({"Operations": [], "operations": [{"op": "replace", "path": "active", "value": false}]});
    all.push((Method::PATCH, twice, false));
    for (whole, done) in [
        (put(&active, &json!(false)), true),
        (put(USER, &json!({"active": false})), true),
        (put("ACTIVE", &json!("FALSE")), true),
        (put("active", &json!(null)), false),
        (put("active", &json!([])), false),
        (put("active", &json!([null])), false),
        (put("active", &json!({"value": null})), false),
        (put("active", &json!(0)), false),
        (put("active", &json!(" false")), false),
        (put("active.value", &json!(false)), false),
        (json!({"userName": "ana", "Active": false, "active": true}), false),
        (json!({"userName": "ana", "active": true, USER: {"active": false}}), false),
    ] {
        all.push((Method::PUT, whole.clone(), done));
        all.push((Method::POST, whole, done));
    }
    all
}

#[tokio::test]
async fn a_deactivation_is_done_or_refused_in_every_shape() {
    let directory = directory().await;
    for (method, body, done) in deactivations() {
        let what = format!("{method} {body}");
        directory.app.forget_limits().await;
        if method == Method::POST {
            let answer = directory.post("Users", &body).await;
            assert_eq!(answer.status.as_u16(), if done { 201 } else { 400 }, "{what}: {}", answer.text());
            if done {
                assert_eq!(answer.json()["active"], json!(false), "{what}");
                let id = answer.json()["id"].as_str().unwrap().to_owned();
                assert_eq!(directory.delete(&format!("Users/{id}")).await.status, 204);
            }
            continue;
        }
        let id = directory.user("ana").await;
        let answer = directory.send(method, &format!("Users/{id}"), Some(&body), &[]).await;
        assert_eq!(answer.status.as_u16(), if done { 200 } else { 400 }, "{what}: {}", answer.text());
        assert_eq!(directory.is_active(&id).await, !done, "{what}");
        assert_eq!(directory.delete(&format!("Users/{id}")).await.status, 204);
    }
}

#[tokio::test]
async fn members_of_a_group_are_changed_or_the_request_is_refused_in_every_shape() {
    let directory = directory().await;
    let (ana, bia) = (directory.user("ana").await, directory.user("bia").await);
    let both = {
        let mut both = vec![ana.clone(), bia.clone()];
        both.sort();
        both
    };
    for (operation, status, after) in [
        (json!({"op": "replace", "value": {GROUP: {"members": []}}}), 204, vec![]),
        (json!({"op": "replace", "path": GROUP, "value": {"members": []}}), 204, vec![]),
        (json!({"op": "remove", "path": format!("{GROUP}:members")}), 204, vec![]),
        (json!({"op": "remove", "path": "members", "value": null}), 204, vec![]),
        // Nobody is removed, and not everybody.
        (json!({"op": "remove", "path": "members", "value": []}), 204, both.clone()),
        (json!({"op": "remove", "path": "members", "value": [null]}), 400, both.clone()),
        (json!({"op": "replace", "path": "members", "value": null}), 400, both.clone()),
        (json!({"op": "remove", "path": format!("{USER}:members[value eq \"{ana}\"]")}), 400, both.clone()),
        (json!({"op": "replace", "value": {"members[value eq \"x\"]": []}}), 400, both.clone()),
        (json!({"op": "replace", "value": {"members.value": []}}), 400, both.clone()),
        (json!({"op": "replace", "value": {"/members": []}}), 400, both.clone()),
        (json!({"op": "replace", "value": {"members": [], "MEMBERS": [{"value": ana}]}}), 400, both.clone()),
    ] {
        let group = directory.group("Sales", &[&ana, &bia]).await;
        let path = format!("Groups/{group}");
        let answer = directory.patch(&path, json!([operation])).await;
        assert_eq!(answer.status.as_u16(), status, "{operation}: {}", answer.text());
        assert_eq!(directory.members(&group).await, after, "{operation}");
        assert_eq!(directory.delete(&path).await.status, 204);
    }
    for (members, status, left) in [
        (json!({"members": null}), 400, 2),
        (json!({"members": [null]}), 400, 2),
        (json!({"members": {"value": null}}), 400, 2),
        (json!({"members.value": []}), 400, 2),
        (json!({"members": [], "Members": [{"value": ana}]}), 400, 2),
        (json!({GROUP: {"members": []}}), 200, 0),
        (json!({(format!("{GROUP}:members")): []}), 200, 0),
    ] {
        let group = directory.group("Sales", &[&ana, &bia]).await;
        let (path, mut whole) = (format!("Groups/{group}"), members.clone());
        whole["displayName"] = "Sales".into();
        let answer = directory.put(&path, &whole).await;
        assert_eq!(answer.status.as_u16(), status, "{members}: {}", answer.text());
        assert_eq!(directory.members(&group).await.len(), left, "{members}");
        assert_eq!(directory.delete(&path).await.status, 204);
    }
}
