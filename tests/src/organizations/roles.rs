//! Roles: what they permit, who shapes them, and what a change does to whoever wears them.

use http::Method;
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use super::{
    driver::{call, get, house, join, organization, organization_key},
    staff::{Staff, account, change, members, patch, post, refusal},
};
use crate::oauth::driver::Relying;

const OWNERS: &str = "members:read members:write roles:read roles:write";

fn roles(organization: porteiro_protocol::id::OrganizationId) -> String {
    format!("/v1/organizations/{organization}/roles")
}

#[tokio::test]
async fn a_role_is_made_read_changed_and_removed() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let key = organization_key(&app, here, &["roles:*", "salaries:*"]).await;
    let path = roles(here);
    let body =
        json!({"key": "accountant", "name": "Accountant", "permissions": ["salaries:read", "salaries:*"]});
    let made = post(&app, &path, &key, &body).await;
    assert_eq!((made.status.as_u16(), made.header("location")), (201, &*format!("{path}/accountant")));
    assert_eq!(made.json()["permissions"], json!(["salaries:*", "salaries:read"]));
    assert_eq!(refusal(&post(&app, &path, &key, &body).await), (409, "conflict".into()));
    let listed = get(&app, &path, &key).await.json();
    let keys: Vec<&Value> = listed["items"].as_array().unwrap().iter().map(|role| &role["key"]).collect();
    assert_eq!(keys, ["admin", "member", "owner", "accountant"]);
    let owner = get(&app, &format!("{path}/owner"), &key).await.json();
    assert_eq!((&owner["everything"], &owner["built_in"]), (&json!(true), &json!(true)));
    let one = format!("{path}/accountant");
    let changed =
        patch(&app, &one, &key, &json!({"name": "Bookkeeper", "permissions": ["salaries:read"]})).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(
        (&changed.json()["name"], &changed.json()["permissions"]),
        (&json!("Bookkeeper"), &json!(["salaries:read"]))
    );
    let member = join(&app, here, account(&app, "Ana").await, "accountant").await;
    let worn = change(&app, Method::DELETE, &one, &key, None).await;
    assert_eq!(refusal(&worn), (409, "conflict".into()), "somebody wears it");
    app.sql(&format!("UPDATE membership_role SET role_key = 'member' WHERE membership_id = '{member}'"))
        .await;
    assert_eq!(change(&app, Method::DELETE, &one, &key, None).await.status, 204);
    assert_eq!(get(&app, &one, &key).await.status, 404);
    let database = app.database.client().await;
    let roles = "SELECT kind FROM trail WHERE kind LIKE 'role.%' ORDER BY sequence";
    let kinds = database.query(roles, &[]).await.unwrap();
    let kinds: Vec<String> = kinds.iter().map(|row| row.get(0)).collect();
    assert_eq!(kinds, ["role.created", "role.changed", "role.removed"]);
}

#[tokio::test]
async fn nobody_shapes_a_role_beyond_what_they_hold_and_ours_stay_ours() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let key = organization_key(&app, here, &["roles:*", "salaries:read"]).await;
    let rich = organization_key(&app, here, &["roles:*", "salaries:*"]).await;
    let path = roles(here);
    let make =
        |role: &str, permissions: &[&str]| json!({"key": role, "name": "A role", "permissions": permissions});
    let refused = post(&app, &path, &key, &make("big", &["salaries:read", "salaries:write"])).await;
    assert_eq!(refusal(&refused), (403, "authority_exceeded".into()));
    assert_eq!(refused.json()["missing"], json!(["salaries:write"]));
    let invalid = (422, "field_invalid".to_owned());
    for (role, permissions) in [
        ("Big", &["salaries:read"][..]),
        ("a.b", &["salaries:read"]),
        ("", &["salaries:read"]),
        ("big", &["organizations:administer"]),
        ("big", &["members:impersonate"]),
        ("big", &["salaries"]),
        ("big", &["*:read"]),
        ("big", &["sallaries:read"]),
        ("big", &["platform.accounts:read"]),
    ] {
        let refused = post(&app, &path, &key, &make(role, permissions)).await;
        assert_eq!(refusal(&refused), invalid, "{role} {permissions:?}: {}", refused.text());
    }
    for built_in in ["owner", "admin", "member"] {
        let refused = post(&app, &path, &key, &make(built_in, &["salaries:read"])).await;
        assert_eq!(refusal(&refused), (409, "conflict".into()), "{built_in}");
        let one = format!("{path}/{built_in}");
        let refused = patch(&app, &one, &key, &json!({"permissions": []})).await;
        assert_eq!(refusal(&refused), (409, "conflict".into()), "{built_in}");
        assert_eq!(refusal(&change(&app, Method::DELETE, &one, &key, None).await), (409, "conflict".into()));
    }
    assert_eq!(post(&app, &path, &rich, &make("big", &["salaries:write"])).await.status, 201);
    let one = format!("{path}/big");
    for change in
        [json!({"permissions": []}), json!({"name": "Small"}), json!({"permissions": ["salaries:read"]})]
    {
        let refused = patch(&app, &one, &key, &change).await;
        assert_eq!(
            refusal(&refused),
            (403, "authority_exceeded".into()),
            "they do not hold what it has: {change}"
        );
    }
    let refused = change(&app, Method::DELETE, &one, &key, None).await;
    assert_eq!(refusal(&refused), (403, "authority_exceeded".into()));
}

#[tokio::test]
async fn what_can_be_given_is_what_is_known_here() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let key = organization_key(&app, here, &["roles:read", "salaries:read"]).await;
    let items = get(&app, &format!("/v1/organizations/{here}/permissions"), &key).await.json();
    let items = items["items"].as_array().unwrap();
    let find = |name: &str| items.iter().find(|item| item["permission"] == name);
    assert_eq!(find("salaries:read").unwrap()["held"], true);
    assert_eq!(find("salaries:read").unwrap()["api"], super::driver::PAYROLL);
    assert_eq!(find("salaries:write").unwrap()["held"], false);
    assert!(find("members:write").unwrap()["api"].is_null());
    for never in
        ["organizations:administer", "members:impersonate", "platform.accounts:read", "invoices:read"]
    {
        assert!(find(never).is_none(), "{never} is not an organization's to give");
    }
}

/// A role loses something, or a member loses a role: the next refresh asks, and nothing else is touched.
#[tokio::test]
async fn a_change_of_roles_reaches_every_grant_at_its_next_refresh() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let mut owner = Staff::new(&app, "owner@example.test", here, "owner").await;
    let client = Relying::console(&app).await;
    let by_owner = owner.token(&app, &client, here, OWNERS).await;
    let role = format!("{}/accountant", roles(here));
    let body =
        json!({"key": "accountant", "name": "Accountant", "permissions": ["salaries:*", "reports:read"]});
    assert_eq!(post(&app, &roles(here), &by_owner, &body).await.status, 201);
    let mut ana = Staff::new(&app, "ana@example.test", here, "accountant").await;
    let member = format!("{}/{}", members(here), ana.member);
    let asked = [("scope", "salaries:read salaries:write"), ("organization", "here")];
    let mut tokens = client.tokens(&mut ana.browser, &app, &asked).await;
    let mut refresh = async |more: &[(&str, &str)]| {
        let answer = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), more).await.json();
        if answer["refresh_token"].is_string() {
            tokens = answer.clone();
        }
        answer.get("error").or(answer.get("scope")).and_then(Value::as_str).unwrap().to_owned()
    };
    patch(&app, &role, &by_owner, &json!({"permissions": ["salaries:read", "reports:read"]})).await;
    assert_eq!(refresh(&[]).await, "invalid_scope");
    assert_eq!(refresh(&[("scope", "salaries:read")]).await, "salaries:read");
    patch(&app, &role, &by_owner, &json!({"permissions": ["salaries:*"]})).await;
    assert_eq!(refresh(&[]).await, "salaries:read salaries:write", "held again");
    patch(&app, &member, &by_owner, &json!({"roles": ["member"]})).await;
    assert_eq!(refresh(&[]).await, "invalid_scope", "the role is theirs no more");
    patch(&app, &member, &by_owner, &json!({"roles": ["accountant"]})).await;
    assert_eq!(refresh(&[]).await, "salaries:read salaries:write");
    patch(&app, &member, &by_owner, &json!({"display_name": "Ana of here"})).await;
    assert_eq!(refresh(&[]).await, "salaries:read salaries:write");
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant WHERE revoked_at IS NOT NULL").await, 0);
}

#[tokio::test]
async fn a_dry_run_says_who_would_lose_what_and_changes_nothing() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let mut owner = Staff::new(&app, "owner@example.test", here, "owner").await;
    let client = Relying::console(&app).await;
    let by_owner = owner.token(&app, &client, here, OWNERS).await;
    for (role, permissions) in
        [("writer", ["salaries:*", "reports:read"]), ("backup", ["salaries:write", "reports:read"])]
    {
        let body = json!({"key": role, "name": role, "permissions": permissions});
        assert_eq!(post(&app, &roles(here), &by_owner, &body).await.status, 201);
    }
    let mut ana = Staff::new(&app, "ana@example.test", here, "writer").await;
    for number in 0..30 {
        join(&app, here, account(&app, &format!("Person {number}")).await, "writer").await;
    }
    // Wears the other as well, and so loses less; and one who is disabled loses nothing.
    let safe = join(&app, here, account(&app, "Safe").await, "writer").await;
    patch(&app, &format!("{}/{safe}", members(here)), &by_owner, &json!({"roles": ["writer", "backup"]}))
        .await;
    let off = join(&app, here, account(&app, "Off").await, "writer").await;
    post(&app, &format!("{}/{off}/disable", members(here)), &by_owner, &json!({})).await;
    let both = [("scope", "salaries:read salaries:write"), ("organization", "here")];
    let reads = [("scope", "salaries:read"), ("organization", "here")];
    let tokens = client.tokens(&mut ana.browser, &app, &both).await;
    client.tokens(&mut ana.browser, &app, &reads).await;

    let state = async || {
        let client = app.database.client().await;
        let row = client
            .query_one(
                "SELECT (SELECT jsonb_agg(r ORDER BY role_key) FROM role r)::text || (SELECT jsonb_agg(m ORDER BY
                     membership_id, role_key) FROM membership_role m)::text || (SELECT max(sequence) FROM trail)::text
                     || (SELECT jsonb_agg(g.authority_version ORDER BY grant_id) FROM oauth_grant g)::text
                     || (SELECT jsonb_agg(o) FROM organization o)::text || (SELECT count(*) FROM security_log)::text",
                &[],
            )
            .await
            .unwrap();
        row.get::<_, String>(0)
    };
    let before = state().await;
    let role = format!("{}/writer?dry_run=true", roles(here));
    let less = json!({"permissions": ["salaries:read", "reports:read"]});
    let impact = patch(&app, &role, &by_owner, &less).await;
    assert_eq!(impact.status, 200, "{}", impact.text());
    let impact = impact.json();
    assert_eq!((&impact["dry_run"], &impact["allowed"]), (&json!(true), &json!(true)));
    assert_eq!(impact["members_affected"], 32, "everybody active who wears it: {impact}");
    assert_eq!(impact["members"].as_array().unwrap().len(), 25);
    assert_eq!(impact["members"][0]["id"], ana.member.to_string());
    assert_eq!(impact["members"][0]["loses"], json!(["salaries:*"]));
    assert_eq!(impact["grants_refused"], 1, "the one that carries what would be lost");
    let refresh = patch(&app, &role, &by_owner, &json!({"permissions": ["salaries:*"]})).await.json();
    assert_eq!(
        (&refresh["members_affected"], &refresh["grants_refused"]),
        (&json!(31), &json!(0)),
        "the other role covers one of them: {refresh}"
    );
    let more = json!({"permissions": ["salaries:*", "reports:read", "members:read"]});
    assert_eq!(
        patch(&app, &role, &by_owner, &more).await.json()["members_affected"],
        0,
        "nobody loses by more"
    );

    let gone = change(&app, Method::DELETE, &role, &by_owner, None).await.json();
    assert_eq!((&gone["allowed"], &gone["members_affected"]), (&json!(false), &json!(32)), "{gone}");
    assert_eq!(gone["grants_refused"], 2);
    let member = format!("{}/{}?dry_run=true", members(here), ana.member);
    let impact = patch(&app, &member, &by_owner, &json!({"roles": ["member"]})).await.json();
    assert_eq!(impact["members"][0]["loses"], json!(["reports:read", "salaries:*"]), "{impact}");
    assert_eq!((&impact["members_affected"], &impact["grants_refused"]), (&json!(1), &json!(2)));
    let last = format!("{}/{}?dry_run=true", members(here), owner.member);
    let refused = patch(&app, &last, &by_owner, &json!({"roles": ["member"]})).await;
    assert_eq!(refusal(&refused), (409, "last_owner".into()), "what would be refused is refused");
    assert_eq!(state().await, before, "nothing changed");
    // And what was foretold comes true.
    patch(&app, &format!("{}/writer", roles(here)), &by_owner, &less).await;
    let refused = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(refused.json()["error"], "invalid_scope");
}

#[tokio::test]
async fn an_owner_who_steps_down_is_told_all_they_lose() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let mut owner = Staff::new(&app, "owner@example.test", here, "owner").await;
    join(&app, here, account(&app, "Second").await, "owner").await;
    let by_owner = owner.token(&app, &Relying::console(&app).await, here, OWNERS).await;
    let path = format!("{}/{}?dry_run=true", members(here), owner.member);
    let impact = patch(&app, &path, &by_owner, &json!({"roles": ["member"]})).await.json();
    let loses = impact["members"][0]["loses"].as_array().unwrap();
    assert!(loses.contains(&json!("salaries:read")) && loses.contains(&json!("members:write")), "{impact}");
    assert!(!loses.contains(&json!("organization:read")), "members keep that");
    assert_eq!(impact["grants_refused"], 1, "the very one this is asked with");
}

#[tokio::test]
async fn there_are_not_more_roles_than_there_may_be() {
    let app = TestApp::new().await;
    let here = organization(&app, "here").await;
    let key = organization_key(&app, here, &["roles:*"]).await;
    app.sql(&format!(
        "INSERT INTO role (organization_id, role_key, name, permissions)
         SELECT '{here}', 'r' || n, 'A role', '{{}}' FROM generate_series(1, 199) n"
    ))
    .await;
    let make = |role: &str| json!({"key": role, "name": "A role", "permissions": ["roles:read"]});
    assert_eq!(post(&app, &roles(here), &key, &make("last")).await.status, 201);
    let refused = post(&app, &roles(here), &key, &make("beyond")).await;
    assert_eq!(refusal(&refused), (422, "quota".into()));
    let mut seen = 0;
    let mut next = format!("{}?limit=100", roles(here));
    loop {
        let page = call(&app, Method::GET, &next, &key, None, &[]).await.json();
        seen += page["items"].as_array().unwrap().len();
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        next = format!("{}?limit=100&cursor={cursor}", roles(here));
    }
    assert_eq!(seen, 203);
}
