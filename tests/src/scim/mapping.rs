//! Groups give roles, because an administrator says so.

use http::Method;
use serde_json::{Value, json};

use super::driver::{Directory, directory};
use crate::organizations::{
    driver::{call, get, organization_key, role},
    staff::{account, change, refusal},
};

async fn roles_of(directory: &Directory, key: &str, id: &str) -> (Value, Value) {
    let path = format!("/v1/organizations/{}/members/{id}", directory.organization);
    let told = get(&directory.app, &path, key).await.json();
    (told["roles"].clone(), told["primary_role"].clone())
}

async fn map(directory: &Directory, key: &str, group: &str, role: Value) -> porteiro_testkit::Answer {
    let path = format!("/v1/organizations/{}/groups/{group}", directory.organization);
    change(&directory.app, Method::PATCH, &path, key, Some(&json!({"role": role}))).await
}

#[tokio::test]
async fn a_member_has_the_roles_of_their_groups_and_loses_them_with_the_group() {
    let directory = directory().await;
    let (app, here) = (&directory.app, directory.organization);
    role(app, here, "clerk", &["salaries:read"]).await;
    role(app, here, "seller", &["bills:read"]).await;
    let key = organization_key(
        app,
        here,
        &["members:*", "roles:*", "salaries:read", "bills:read", "organization:*"],
    )
    .await;
    let (ana, bia) = (directory.user("ana").await, directory.user("bia").await);
    // Equal names mean nothing.
    let (clerks, sellers) = (directory.group("clerk", &[&ana]).await, directory.group("Sellers", &[]).await);
    assert_eq!(roles_of(&directory, &key, &ana).await.0, json!(["member"]));
    let mapped = map(&directory, &key, &clerks, json!("clerk")).await;
    assert_eq!((mapped.status.as_u16(), &mapped.json()["members"]), (200, &json!(1)), "{}", mapped.text());
    assert_eq!(roles_of(&directory, &key, &ana).await, (json!(["clerk", "member"]), json!("member")));
    assert_eq!(map(&directory, &key, &sellers, json!("clerk")).await.status, 200);
    // In two groups with the same role: it ends with the last.
    let add = json!([{"op": "add", "path": "members", "value": [{"value": ana}, {"value": bia}]}]);
    directory.patch(&format!("Groups/{sellers}"), add).await;
    directory.patch(&format!("Groups/{clerks}"), json!([{"op": "remove", "path": "members"}])).await;
    assert_eq!(roles_of(&directory, &key, &ana).await.0, json!(["clerk", "member"]));
    assert_eq!(map(&directory, &key, &sellers, json!("seller")).await.status, 200);
    assert_eq!(roles_of(&directory, &key, &bia).await.0, json!(["member", "seller"]));
    // An administrator's own decision stays, and does not take what a group gives.
    let path = format!("/v1/organizations/{here}/members/{bia}");
    let given =
        change(app, Method::PATCH, &path, &key, Some(&json!({"roles": ["clerk"], "primary_role": "clerk"})))
            .await;
    assert_eq!(given.status, 200, "{}", given.text());
    assert_eq!(roles_of(&directory, &key, &bia).await, (json!(["clerk", "seller"]), json!("clerk")));
    assert_eq!(directory.delete(&format!("Groups/{sellers}")).await.status, 204);
    assert_eq!(roles_of(&directory, &key, &bia).await, (json!(["clerk"]), json!("clerk")));
    assert_eq!(roles_of(&directory, &key, &ana).await.0, json!(["member"]));
    let kinds = "SELECT count(*) FROM trail WHERE kind IN ('group.created', 'group.changed', 'group.mapped', 'group.removed')";
    assert_eq!(app.count(kinds).await, 2 + 2 + 3 + 1);
}

#[tokio::test]
async fn no_group_makes_owners_or_gives_what_the_administrator_does_not_hold() {
    let directory = directory().await;
    let (app, here) = (&directory.app, directory.organization);
    role(app, here, "boss", &["salaries:write"]).await;
    let key = organization_key(app, here, &["roles:*", "organization:*"]).await;
    let group = directory.group("Bosses", &[]).await;
    assert_eq!(
        refusal(&map(&directory, &key, &group, json!("boss")).await),
        (403, "authority_exceeded".into())
    );
    assert_eq!(refusal(&map(&directory, &key, &group, json!("nobody")).await), (422, "field_invalid".into()));
    let refused = map(&directory, &key, &group, json!("owner")).await;
    assert!(refused.status == 403 || refused.status == 422, "{}", refused.text());
    assert_eq!(map(&directory, &key, &group, json!("member")).await.status, 200);
    // A role that a group gives is in use.
    role(app, here, "spare", &["organization:read"]).await;
    assert_eq!(map(&directory, &key, &group, json!("spare")).await.status, 200);
    let path = format!("/v1/organizations/{here}/roles/spare");
    let gone = change(app, Method::DELETE, &path, &key, None).await;
    assert_eq!(refusal(&gone), (409, "conflict".into()));
    let list =
        call(app, Method::GET, &format!("/v1/organizations/{here}/groups"), &key, None, &[]).await.json();
    assert_eq!(
        (&list["items"][0]["role"], &list["items"][0]["display_name"]),
        (&json!("spare"), &json!("Bosses"))
    );
}

#[tokio::test]
async fn grants_follow_what_a_group_gives() {
    let directory = directory().await;
    let (app, here) = (&directory.app, directory.organization);
    role(app, here, "clerk", &["salaries:read"]).await;
    let key = organization_key(app, here, &["roles:*", "salaries:read", "members:read"]).await;
    let (id, ana) = (directory.user("ana").await, account(app, "Ana").await);
    directory.claim(&id, ana).await;
    let group = directory.group("Clerks", &[&id]).await;
    map(&directory, &key, &group, json!("clerk")).await;
    let logged = "SELECT count(*) FROM security_log WHERE kind = 'membership.changed'";
    assert_eq!(app.count(logged).await, 1);
    directory.patch(&format!("Groups/{group}"), json!([{"op": "remove", "path": "members"}])).await;
    assert_eq!(app.count(logged).await, 2);
    assert_eq!(roles_of(&directory, &key, &id).await.0, json!(["member"]));
}
