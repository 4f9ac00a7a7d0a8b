//! The leaver: every shape in which a directory says that somebody left, times every door, on three nodes.

use std::sync::Arc;

use http::Method;
use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use super::driver::{Directory, PATCH, user};
use crate::organizations::{
    driver::organization_key,
    staff::change,
    suspension::{Stand, expect, row},
};

/// Somebody whom the directory provisioned, who claimed the membership, and whom a group made a clerk.
async fn provisioned(app: &Arc<TestApp>, here: OrganizationId, account: AccountId) -> MembershipId {
    let directory = Directory::new(app, here).await;
    let id = directory.user("ana").await;
    directory.claim(&id, account).await;
    let group = directory.group("Clerks", &[&id]).await;
    let key = organization_key(app, here, &["roles:*", "salaries:read", "members:read"]).await;
    let path = format!("/v1/organizations/{here}/groups/{group}");
    let mapped = change(app, Method::PATCH, &path, &key, Some(&json!({"role": "clerk"}))).await;
    assert_eq!(mapped.status, 200, "{}", mapped.text());
    id.parse().unwrap()
}

/// Says that the user left; with what the answer is.
async fn leaves(method: Method, body: Value, status: u16) {
    let mut stand = Stand::of(provisioned).await;
    stand.more_codes().await;
    expect(&mut stand, "before", &std::collections::BTreeSet::new()).await;
    stand.more_codes().await;
    let directory = Directory::new(&stand.nodes[1], stand.here).await;
    let path = format!("Users/{}", stand.member);
    let what = format!("{method} {body}");
    let answer = directory.send(method.clone(), &path, Some(&body), &[]).await;
    assert_eq!(answer.status.as_u16(), status, "{what}: {}", answer.text());
    let (dead, stays) = row("membership");
    expect(&mut stand, &what, &dead).await;
    if method == Method::DELETE {
        return;
    }
    // Returned: what ended stays ended.
    let on = json!([{"op": "replace", "path": "active", "value": true}]);
    assert_eq!(directory.patch(&path, on).await.status, 200);
    expect(&mut stand, &format!("{what}, returned"), &stays).await;
}

fn patch(operation: &Value) -> Value {
    json!({"schemas": [PATCH], "Operations": [operation]})
}

macro_rules! shapes {
    ($($name:ident: $method:ident $status:literal $body:expr;)+) => {
        $(#[tokio::test]
        async fn $name() {
            leaves(Method::$method, $body, $status).await;
        })+
    };
}

fn put(active: Value) -> Value {
    let mut whole = user("ana");
    whole["active"] = active;
    whole
}

shapes! {
    deleted: DELETE 204 Value::Null;
    put_with_false: PUT 200 put(json!(false));
    put_with_text: PUT 200 put(json!("False"));
    patched_without_a_path: PATCH 200 patch(&json!({"op": "replace", "value": {"active": false}}));
    patched_with_a_path: PATCH 200 patch(&json!({"op": "replace", "path": "active", "value": false}));
    patched_with_a_capital_and_text: PATCH 200 patch(&json!({"op": "Replace", "path": "active", "value": "False"}));
    patched_with_an_array: PATCH 200 patch(&json!({"op": "Replace", "path": "active",
        "value": [{"$ref": null, "value": "False"}]}));
    patched_by_add: PATCH 200 patch(&json!({"op": "Add", "path": "Active", "value": "false"}));
    patched_with_a_schema: PATCH 200 patch(&json!({"op": "replace",
        "path": "urn:ietf:params:scim:schemas:core:2.0:User:active", "value": false}));
    patched_among_others: PATCH 200 patch(&json!({"op": "replace",
        "value": {"name.givenName": "Ana", "ACTIVE": "FALSE", "unknown": 1}}));
}
