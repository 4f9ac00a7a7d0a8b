//! What one request may cost.

use serde_json::{Value, json};

use super::driver::{Directory, directory, refusal, user};

/// Users by SQL, all with one address.
async fn users(directory: &Directory, count: u32) {
    let here = directory.organization;
    let sql = format!(
        "INSERT INTO membership (organization_id, membership_id, state, source, display_name, primary_role,
             user_name, user_name_key, profile, email_keys)
         SELECT '{here}', gen_random_uuid(), 'provisioned', 'scim', 'x', 'member', 'u' || n, 'u' || n,
             '{{\"emails\": [{{\"value\": \"shared@corp.test\"}}]}}', ARRAY['shared@corp.test']
         FROM generate_series(1, {count}) n"
    );
    directory.app.sql(&sql).await;
}

#[tokio::test]
async fn a_page_of_users_shows_a_bounded_number_of_groups() {
    let directory = directory().await;
    let here = directory.organization;
    users(&directory, 200).await;
    directory
        .app
        .sql(&format!(
            "INSERT INTO organization_group (organization_id, group_id, display_name, display_name_key, size)
             SELECT '{here}', gen_random_uuid(), 'g' || n, 'g' || n, 200 FROM generate_series(1, 300) n"
        ))
        .await;
    directory
        .app
        .sql(
            "INSERT INTO organization_group_member
             SELECT g.organization_id, g.group_id, m.membership_id FROM organization_group g, membership m
             WHERE m.organization_id = g.organization_id AND m.user_name_key IS NOT NULL",
        )
        .await;
    let answer = directory.get("Users?count=200").await;
    assert!(answer.text().len() < 10_000_000, "{}", answer.text().len());
    let told = answer.json();
    let shown = told["Resources"].as_array().unwrap();
    assert_eq!(shown.len(), 200);
    for one in shown {
        assert_eq!(one["groups"].as_array().unwrap().len(), 100);
    }
    let id = shown[0]["id"].as_str().unwrap();
    let all = directory.find("Groups", &format!("members eq \"{id}\"")).await.json();
    assert_eq!(all["totalResults"], json!(300));
    // A page of groups with their members is shorter, and the next one continues.
    let page = directory.get("Groups?cursor=&count=200").await.json();
    assert_eq!(page["Resources"].as_array().unwrap().len(), 100);
    assert!(page["nextCursor"].is_string());
    for (resource, filter) in [
        ("Groups", "members.display co \"zzz\""),
        ("Groups", "members pr"),
        ("Groups", "not (members[display eq \"x\"])"),
        ("Users", "groups.display co \"zzz\""),
        ("Users", "groups pr"),
    ] {
        let refused = refusal(&directory.find(resource, filter).await);
        assert_eq!(refused, (400, "invalidFilter".into()), "{filter}");
    }
}

#[tokio::test]
async fn an_address_finds_everybody_who_has_it() {
    let directory = directory().await;
    users(&directory, 1_250).await;
    let told = directory.find("Users", "emails.value eq \"SHARED@corp.test\"").await.json();
    assert_eq!(told["totalResults"], json!(1_250));
}

#[tokio::test]
async fn a_group_has_a_largest_size() {
    let directory = directory().await;
    let (ana, bia) = (directory.user("ana").await, directory.user("bia").await);
    let group = directory.group("Everybody", &[&bia]).await;
    let path = format!("Groups/{group}");
    let size = |size: i64| format!("UPDATE organization_group SET size = {size} WHERE group_id = '{group}'");
    directory.app.sql(&size(20_000)).await;
    let add = json!([{"op": "add", "path": "members", "value": [{"value": ana}]}]);
    assert_eq!(refusal(&directory.patch(&path, add.clone()).await), (400, "invalidValue".into()));
    directory.app.sql(&size(19_999)).await;
    assert_eq!(directory.patch(&path, add).await.status, 204);
    // The number follows whoever comes and goes.
    directory.app.sql(&size(2)).await;
    assert_eq!(directory.delete(&format!("Users/{ana}")).await.status, 204);
    let now = format!("SELECT size FROM organization_group WHERE group_id = '{group}'");
    assert_eq!(directory.app.count(&now).await, 1);
    assert_eq!(directory.patch(&path, json!([{"op": "remove", "path": "members"}])).await.status, 204);
    assert_eq!(directory.app.count(&now).await, 0);
}

#[tokio::test]
async fn names_operations_and_addresses_are_bounded() {
    let directory = directory().await;
    let id = directory.user("ana").await;
    let names = |count: usize| (0..count).map(|number| format!("a{number}")).collect::<Vec<_>>().join(",");
    for parameter in ["attributes", "excludedAttributes"] {
        let asked = format!("Users?{parameter}={}", names(100));
        assert_eq!(directory.get(&asked).await.status, 200);
        let asked = format!("Users?{parameter}={}", names(101));
        assert_eq!(refusal(&directory.get(&asked).await), (400, "invalidValue".into()));
        let search = json!({parameter: vec!["a"; 20_000]});
        assert_eq!(refusal(&directory.post("Users/.search", &search).await), (400, "invalidValue".into()));
        assert_eq!(directory.get(&format!("Users/{id}?{parameter}=title,TITLE,title")).await.status, 200);
    }
    let path = format!("Users/{id}");
    let filter = format!("emails[{}].type", vec!["value eq \"a\""; 60].join(" or "));
    let costly: Vec<Value> = vec![json!({"op": "remove", "path": filter}); 20];
    assert_eq!(refusal(&directory.patch(&path, costly.into()).await), (400, "invalidSyntax".into()));
    let large: Vec<Value> = (0..100).map(|n| json!({"value": format!("{n}{}", "é".repeat(1_000))})).collect();
    let passing = json!([{"op": "replace", "path": "ims", "value": large}, {"op": "remove", "path": "ims"}]);
    assert_eq!(refusal(&directory.patch(&path, passing).await), (400, "invalidValue".into()));
    for length in [321, 3_000, 16_000] {
        let mut long = user("bia");
        long["emails"] = json!([{"value": "x".repeat(length)}]);
        assert_eq!(refusal(&directory.post("Users", &long).await), (400, "invalidValue".into()), "{length}");
        let add = json!([{"op": "add", "path": "emails", "value": [{"value": "x".repeat(length)}]}]);
        assert_eq!(refusal(&directory.patch(&path, add).await), (400, "invalidValue".into()), "{length}");
    }
}

#[tokio::test]
async fn a_directory_creates_a_bounded_number_of_users() {
    let directory = directory().await;
    let here = directory.organization;
    directory.user("ana").await;
    let head = format!("UPDATE provisioning_head SET users = 999999 WHERE organization_id = '{here}'");
    directory.app.sql(&head).await;
    directory.user("bia").await;
    assert_eq!(refusal(&directory.post("Users", &user("clara")).await).0, 403);
}
