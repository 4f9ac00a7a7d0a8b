//! Groups: set operations that lose nothing.

use std::sync::Arc;

use porteiro_testkit::TestApp;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::driver::{Directory, directory, refusal};
use crate::{organizations::driver::organization, people::long};

#[tokio::test]
async fn group_pushes_of_okta_and_entra() {
    let directory = directory().await;
    let (ana, bia) = (directory.user("ana").await, directory.user("bia").await);
    let group = directory.group("Sales", &[]).await;
    let path = format!("Groups/{group}");
    let both = {
        let mut both = vec![ana.clone(), bia.clone()];
        both.sort();
        both
    };
    let one = |id: &str| vec![id.to_owned()];
    for (operations, after) in [
        (json!([{"op": "add", "path": "members", "value": [{"value": ana}, {"value": bia}]}]), both.clone()),
        (json!([{"op": "remove", "path": format!("members[value eq \"{ana}\"]")}]), one(&bia)),
        (json!([{"op": "Add", "path": "members", "value": [{"$ref": null, "value": ana}]}]), both.clone()),
        (json!([{"op": "Remove", "path": "members", "value": [{"value": bia}]}]), one(&ana)),
        (json!([{"op": "replace", "value": {"id": group, "displayName": "Selling"}}]), one(&ana)),
        (json!([{"op": "replace", "path": "members", "value": [{"value": bia}]}]), one(&bia)),
        (json!([{"op": "remove", "path": "members"}]), vec![]),
        (
            json!([{"op": "add", "path": "members", "value": [{"value": ana}, {"value": bia}]},
                   {"op": "remove", "path": format!("members[value eq \"{bia}\"]")}]),
            one(&ana),
        ),
    ] {
        let what = operations.to_string();
        let answer = directory.patch(&path, operations).await;
        assert_eq!((answer.status.as_u16(), answer.text().as_str()), (204, ""), "{what}");
        assert_eq!(directory.members(&group).await, after, "{what}");
    }
    assert_eq!(directory.get(&path).await.json()["displayName"], "Selling");
    let taken = directory.post("Groups", &json!({"displayName": "sELLING"})).await;
    assert_eq!(refusal(&taken), (409, "uniqueness".into()));
    let nobody = json!([{"op": "add", "path": "members", "value": [{"value": "00000000-0000-0000-0000-000000000000"}]}]);
    assert_eq!(refusal(&directory.patch(&path, nobody).await), (400, "invalidValue".into()));
    assert_eq!(directory.delete(&format!("Users/{ana}")).await.status, 204);
    assert!(directory.members(&group).await.is_empty(), "who is deleted is in no group");
    assert_eq!(directory.delete(&path).await.status, 204);
    assert_eq!(refusal(&directory.get(&path).await).0, 404);
}

/// 64 writers at once, on three nodes: half of them add somebody, half remove somebody else.
#[tokio::test]
async fn concurrent_writers_to_one_group_lose_nothing() {
    let nodes = TestApp::builder().connections(4).start_nodes(3).await;
    let here = organization(&nodes[0], "here").await;
    let directory = Directory::new(&nodes[0], here).await;
    let mut users = Vec::new();
    for number in 0..64 {
        users.push(directory.user(&format!("user-{number}")).await);
    }
    let (comes, leaves) = users.split_at(32);
    let group = directory.group("Everybody", &leaves.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let barrier = Arc::new(tokio::sync::Barrier::new(64));
    let mut writers = JoinSet::new();
    for (index, user) in users.iter().enumerate() {
        let operation = if index < 32 {
            json!({"op": "add", "path": "members", "value": [{"value": user}]})
        } else {
            json!({"op": "remove", "path": format!("members[value eq \"{user}\"]")})
        };
        let (directory, barrier) = (directory.at(&nodes[index % 3]), Arc::clone(&barrier));
        let path = format!("Groups/{group}");
        writers.spawn(async move {
            barrier.wait().await;
            directory.patch(&path, json!([operation])).await.status.as_u16()
        });
    }
    let statuses = writers.join_all().await;
    assert!(statuses.iter().all(|status| *status == 204), "{statuses:?}");
    let mut expected = comes.to_vec();
    expected.sort();
    assert_eq!(directory.members(&group).await, expected);
    let version = directory.get(&format!("Groups/{group}")).await.header("etag").to_owned();
    assert_eq!(version, "W/\"66\"", "every change is one version");
}

#[tokio::test]
async fn many_members_fit_into_one_request() {
    let directory = directory().await;
    let count = if long() { 10_000 } else { 500 };
    directory
        .app
        .sql(&format!(
            "INSERT INTO membership (organization_id, membership_id, state, source, display_name, primary_role,
                 user_name, user_name_key)
             SELECT '{}', gen_random_uuid(), 'provisioned', 'scim', 'x', 'member', 'u' || n, 'u' || n
             FROM generate_series(1, {count}) n",
            directory.organization
        ))
        .await;
    let mut all: Vec<Value> = Vec::new();
    let mut path = "Users?cursor=&count=200&attributes=id".to_owned();
    loop {
        let told = directory.get(&path).await.json();
        all.extend(told["Resources"].as_array().unwrap().iter().map(|one| json!({"value": one["id"]})));
        let Some(next) = told["nextCursor"].as_str() else { break };
        path = format!("Users?cursor={next}&count=200&attributes=id");
    }
    assert_eq!(all.len(), count);
    let group = directory.group("Everybody", &[]).await;
    let add = json!([{"op": "add", "path": "members", "value": all}]);
    assert_eq!(directory.patch(&format!("Groups/{group}"), add).await.status, 204);
    assert_eq!(directory.members(&group).await.len(), all.len());
}
