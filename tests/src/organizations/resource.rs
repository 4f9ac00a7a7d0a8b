//! Organizations as a resource: made, named, asked more of, suspended and resumed.

use std::sync::Arc;

use http::Method;
use porteiro_protocol::id::OrganizationId;
use porteiro_service::organizations::{self, Name};
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use super::driver::{account_of, call, get, join, organization, organization_key, platform_key};
use crate::people;

const ALL: &str = "/v1/platform/organizations";

fn code(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["code"].as_str().unwrap_or_default().to_owned())
}

async fn by_people() -> Arc<TestApp> {
    let builder = TestApp::builder().people().settings(|settings| settings.organizations_by_people = true);
    Arc::new(builder.start().await)
}

/// What happened to the organization itself, and who joined; not which key was used first or refused.
async fn trail(app: &TestApp, id: &str) -> Vec<String> {
    let id: OrganizationId = id.parse().unwrap();
    let client = app.database.client().await;
    let sql = "SELECT kind FROM trail
               WHERE organization_id = $1 AND (kind LIKE 'organization.%' OR kind LIKE 'member.%')
               ORDER BY sequence";
    client.query(sql, &[&id.uuid()]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

async fn named(app: &TestApp, slug: &str) -> Option<String> {
    let found = organizations::find_named(&app.app.store, &Name::parse(slug)).await.unwrap();
    found.map(|organization| organization.id.to_string())
}

#[tokio::test]
async fn the_platform_makes_one_and_names_its_owner() {
    let app = people::app().await;
    let mut ana = people::register_with_password(&app, "ana@example.test").await;
    let key = platform_key(&app, &["platform.organizations:write"]).await;
    let make = |body: Value| {
        let (app, key) = (&app, &key);
        async move { call(app, Method::POST, ALL, key, Some(&body), &[]).await }
    };
    let owner = account_of(&mut ana).await;
    let made = make(json!({"name": " Acme ", "slug": "acme", "owner": owner})).await;
    assert_eq!((made.status.as_u16(), made.header("etag")), (201, "\"1\""), "{}", made.text());
    let body = made.json();
    let id = body["id"].as_str().unwrap();
    assert_eq!(made.header("location"), format!("/v1/organizations/{id}"));
    assert_eq!(
        (&body["name"], &body["status"], &body["locale"]),
        (&json!("Acme"), &json!("enabled"), &json!("en"))
    );
    let mine = ana.get("/v1/organizations").await.json();
    assert_eq!((&mine["items"][0]["id"], &mine["items"][0]["primary_role"]), (&body["id"], &json!("owner")));
    assert_eq!(trail(&app, id).await, ["organization.created", "member.joined"]);
    let client = app.database.client().await;
    let logged = "SELECT subject_id::text FROM security_log WHERE kind = 'organization.created'";
    assert_eq!(client.query_one(logged, &[]).await.unwrap().get::<_, String>(0), owner.to_string());

    assert_eq!(code(&make(json!({"name": "Other", "slug": "acme"})).await), (409, "conflict".into()));
    let nobody = "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f";
    for (wrong, pointer) in [
        (json!({"name": "", "slug": "good"}), "/name"),
        (json!({"name": "Acme \u{202e}moc.live", "slug": "good"}), "/name"),
        (json!({"name": "x", "slug": "Bad"}), "/slug"),
        (json!({"name": "x", "slug": nobody}), "/slug"),
        (json!({"name": "x", "slug": "good", "owner": nobody}), "/owner"),
    ] {
        let answer = make(wrong.clone()).await;
        assert_eq!(code(&answer), (422, "field_invalid".into()), "{wrong}");
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer, "{wrong}");
    }
    for wrong in [json!({"slug": "good"}), json!({"name": "x", "slug": "good", "nmae": 1}), json!([])] {
        assert_eq!(code(&make(wrong.clone()).await), (400, "malformed".into()), "{wrong}");
    }
    assert_eq!(named(&app, "good").await, None, "what was refused left nothing");
}

#[tokio::test]
async fn people_make_their_own_where_the_setting_says_so_and_not_without_end() {
    let closed = people::app().await;
    let mut ana = people::register_with_password(&closed, "ana@example.test").await;
    let body = json!({"name": "Mine", "slug": "mine"});
    assert_eq!(code(&ana.post("/v1/organizations", &body).await), (403, "forbidden".into()));

    let app = by_people().await;
    let mut ana = people::register_with_password(&app, "ana@example.test").await;
    let made = ana.post("/v1/organizations", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let shown = ana.get(&format!("/v1/organizations/{id}")).await;
    assert_eq!((shown.status.as_u16(), &shown.json()["slug"]), (200, &json!("mine")));
    assert_eq!(trail(&app, &id).await, ["organization.created", "member.joined"]);
    let mut bea = people::register_with_password(&app, "bea@example.test").await;
    assert_eq!(bea.get(&format!("/v1/organizations/{id}")).await.status, 404, "another's does not exist");
    for number in 1..10 {
        let body = json!({"name": "Mine", "slug": format!("mine-{number}")});
        assert_eq!(ana.post("/v1/organizations", &body).await.status, 201);
    }
    let beyond = ana.post("/v1/organizations", &json!({"name": "Mine", "slug": "mine-10"})).await;
    assert_eq!(code(&beyond), (422, "quota".into()));
    let mut seen = Vec::new();
    let mut path = "/v1/organizations?limit=4".to_owned();
    loop {
        let page = ana.get(&path).await.json();
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["slug"].to_string()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/organizations?limit=4&cursor={cursor}");
    }
    let distinct: std::collections::BTreeSet<&String> = seen.iter().collect();
    assert_eq!((seen.len(), distinct.len()), (10, 10));
}

#[tokio::test]
async fn a_slug_that_is_given_up_leads_there_for_ninety_days_and_is_nobody_elses() {
    let app = TestApp::new().await;
    let here = organization(&app, "before").await.to_string();
    let key = organization_key(&app, here.parse().unwrap(), &["organization:*"]).await;
    let path = format!("/v1/organizations/{here}");
    let change = |body: Value, tag: String| {
        let (app, key, path) = (&app, &key, &path);
        async move { call(app, Method::PATCH, path, key, Some(&body), &[("if-match", &tag)]).await }
    };
    let tag = get(&app, &path, &key).await.header("etag").to_owned();
    let changed = change(json!({"slug": "after", "locale": "pt-BR"}), tag.clone()).await;
    assert_eq!((changed.status.as_u16(), changed.header("etag")), (200, "\"2\""), "{}", changed.text());
    assert_eq!(changed.json()["name"], "The before company", "what is not named stays");
    assert_eq!(code(&change(json!({"name": "x"}), tag).await), (412, "version_mismatch".into()));
    for slug in ["before", "after"] {
        assert_eq!(named(&app, slug).await.as_deref(), Some(here.as_str()), "{slug}");
    }
    let platform = platform_key(&app, &["platform.organizations:*"]).await;
    let take = json!({"name": "Other", "slug": "before"});
    let taken = call(&app, Method::POST, ALL, &platform, Some(&take), &[]).await;
    assert_eq!(code(&taken), (409, "conflict".into()));
    // One's own may be taken back.
    assert_eq!(change(json!({"slug": "before"}), "\"2\"".into()).await.status, 200);
    assert_eq!(change(json!({"slug": "after"}), "\"3\"".into()).await.status, 200);
    let client = app.database.client().await;
    let days = "SELECT round(extract(epoch FROM until - now()) / 86400)::int FROM organization_slug WHERE slug = 'before'";
    assert_eq!(client.query_one(days, &[]).await.unwrap().get::<_, i32>(0), 90);
    let over = "UPDATE organization_slug SET until = now() - interval '1 second' WHERE slug = 'before'";
    client.execute(over, &[]).await.unwrap();
    assert_eq!(named(&app, "before").await, None);
    assert_eq!(call(&app, Method::POST, ALL, &platform, Some(&take), &[]).await.status, 201);
    assert_eq!(trail(&app, &here).await, ["organization.changed"; 3]);
    let unchanged = change(json!({"slug": "after"}), "\"4\"".into()).await;
    assert_eq!(unchanged.header("etag"), "\"4\"", "nothing changed");
}

#[tokio::test]
async fn of_changes_that_saw_the_same_version_one_is_made() {
    let app = Arc::new(TestApp::new().await);
    let here = organization(&app, "here").await;
    let key = organization_key(&app, here, &["organization:*"]).await;
    let racing: Vec<_> = (0..8)
        .map(|number| {
            let (app, key) = (Arc::clone(&app), key.clone());
            tokio::spawn(async move {
                let body = json!({"name": format!("Number {number}")});
                let path = format!("/v1/organizations/{here}");
                call(&app, Method::PATCH, &path, &key, Some(&body), &[("if-match", "\"1\"")])
                    .await
                    .status
                    .as_u16()
            })
        })
        .collect();
    let mut statuses = Vec::new();
    for answer in racing {
        statuses.push(answer.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
}

#[tokio::test]
async fn a_stricter_policy_says_first_who_would_lose_access() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut strong: (Browser, _) = people::register_with_passkey(&app, "ana@example.test").await;
    let mut weak = people::register_with_password(&app, "bea@example.test").await;
    join(&app, here, account_of(&mut strong.0).await, "owner").await;
    let loses = join(&app, here, account_of(&mut weak).await, "member").await;
    let key = organization_key(&app, here, &["organization:*"]).await;
    let path = format!("/v1/organizations/{here}/policy");
    let policy = json!({"min_level": "aal2", "max_age": 3600});
    let tag = [("if-match", "\"1\"")];
    let dry = format!("{path}?dry_run=true");
    let looked = call(&app, Method::PUT, &dry, &key, Some(&policy), &tag).await;
    assert_eq!(looked.status, 200, "{}", looked.text());
    let would = &looked.json()["would_lose_access"];
    assert_eq!((&would["count"], &would["members"][0]["id"]), (&json!(1), &json!(loses)));
    assert_eq!(get(&app, &path, &key).await.json()["min_level"], "none", "only looked");
    let looked = call(&app, Method::PUT, &dry, &key, Some(&json!({"min_level": "aal1"})), &tag).await;
    assert_eq!(looked.json()["would_lose_access"]["count"], 0);

    assert_eq!(
        code(&call(&app, Method::PUT, &path, &key, Some(&policy), &[]).await),
        (428, "version_required".into())
    );
    let put = call(&app, Method::PUT, &path, &key, Some(&policy), &tag).await;
    assert_eq!((put.status.as_u16(), put.header("etag")), (200, "\"2\""), "{}", put.text());
    let now = get(&app, &path, &key).await;
    assert_eq!(now.json(), json!({"min_level": "aal2", "max_age": 3600, "third_party_clients": "all"}));
    assert_eq!(trail(&app, &here.to_string()).await, ["organization.changed"]);
    for wrong in [json!({"min_level": "aal9"}), json!({"level": "aal1"}), json!({"max_age": -1})] {
        let answer = call(&app, Method::PUT, &path, &key, Some(&wrong), &[("if-match", "\"2\"")]).await;
        assert_eq!(code(&answer), (400, "malformed".into()), "{wrong}");
    }
}

#[tokio::test]
async fn suspending_and_resuming_are_the_platforms_with_a_reason_and_once() {
    let app = people::app().await;
    let mut ana = people::register_with_password(&app, "ana@example.test").await;
    let here = organization(&app, "here").await;
    join(&app, here, account_of(&mut ana).await, "owner").await;
    let own = organization_key(&app, here, &["organization:*"]).await;
    let platform = platform_key(&app, &["organizations:administer", "platform.organizations:read"]).await;
    let body = json!({"reason_code": "unpaid", "note": "three letters"});
    let act = |key: &str, verb: &str, why: bool| {
        let (app, key, body) = (&app, key.to_owned(), &body);
        let path = format!("/v1/organizations/{here}/{verb}");
        async move {
            let why: &[(&str, &str)] = if why { &[("porteiro-reason", "ticket 17")] } else { &[] };
            call(app, Method::POST, &path, &key, Some(body), why).await
        }
    };
    assert_eq!(act(&own, "suspend", true).await.status, 403, "nobody of it can");
    assert_eq!(code(&act(&platform, "suspend", false).await), (403, "reason_required".into()));
    for _ in 0..2 {
        let suspended = act(&platform, "suspend", true).await;
        assert_eq!(
            (suspended.status.as_u16(), suspended.header("etag")),
            (200, "\"2\""),
            "{}",
            suspended.text()
        );
        let told = &suspended.json()["suspension"];
        assert_eq!((&told["reason_code"], &told["note"]), (&json!("unpaid"), &json!("three letters")));
    }
    let path = format!("/v1/organizations/{here}");
    assert_eq!(code(&get(&app, &path, &own).await), (409, "organization_suspended".into()));
    let seen = ana.get(&path).await.json();
    assert_eq!(
        (&seen["status"], &seen["suspension"]["reason_code"]),
        (&json!("suspended"), &json!("unpaid"))
    );
    assert!(seen["suspension"].get("note").is_none() && seen["suspension"].get("by").is_none(), "{seen}");
    assert_eq!(ana.get("/v1/organizations").await.json()["items"][0]["status"], "suspended");
    let listed = get(&app, &format!("{ALL}?status=suspended"), &platform).await.json();
    assert_eq!(listed["items"][0]["suspension"]["by"].as_str().unwrap().split(':').next(), Some("api_key"));
    for _ in 0..2 {
        let resumed = act(&platform, "resume", true).await;
        assert_eq!((resumed.status.as_u16(), &resumed.json()["suspension"]), (200, &Value::Null));
    }
    assert_eq!(get(&app, &path, &own).await.json()["status"], "enabled");
    assert_eq!(trail(&app, &here.to_string()).await, ["organization.suspended", "organization.resumed"]);
    let client = app.database.client().await;
    let logged =
        "SELECT count(*) FROM security_log WHERE kind IN ('organization.suspended', 'organization.resumed')";
    assert_eq!(client.query_one(logged, &[]).await.unwrap().get::<_, i64>(0), 2);
    let nowhere = "/v1/organizations/0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f/suspend";
    let why = [("porteiro-reason", "ticket 17")];
    assert_eq!(call(&app, Method::POST, nowhere, &platform, Some(&body), &why).await.status, 404);
}

#[tokio::test]
async fn the_platform_finds_organizations_by_status_beginning_and_age() {
    let app = TestApp::new().await;
    for slug in ["acme", "acme-br", "a_me", "beta", "zeta"] {
        organization(&app, slug).await;
    }
    let client = app.database.client().await;
    let age = "UPDATE organization SET created_at = '2020-01-01T00:00:00Z' WHERE slug IN ('acme', 'beta')";
    client.execute(age, &[]).await.unwrap();
    let key = platform_key(&app, &["platform.organizations:read"]).await;
    let find = |query: &'static str| {
        let (app, key) = (&app, &key);
        async move {
            let answer = get(app, &format!("{ALL}?{query}"), key).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            let items = answer.json()["items"].as_array().unwrap().clone();
            let mut slugs: Vec<String> =
                items.iter().map(|it| it["slug"].as_str().unwrap().to_owned()).collect();
            slugs.sort();
            slugs.join(" ")
        }
    };
    assert_eq!(find("q=acme").await, "acme acme-br");
    assert_eq!(find("q=a_").await, "a_me", "no wildcard but the end");
    assert_eq!(find("q=%25").await, "");
    assert_eq!(find("q=acme&created_after=2021-01-01T00:00:00Z").await, "acme-br");
    assert_eq!(find("status=suspended").await, "");
    assert_eq!(find("status=enabled&limit=100").await, "a_me acme acme-br beta zeta");
    let (mut path, mut seen) = (format!("{ALL}?limit=2"), Vec::new());
    loop {
        let page = get(&app, &path, &key).await.json();
        seen.extend(
            page["items"].as_array().unwrap().iter().map(|it| it["slug"].as_str().unwrap().to_owned()),
        );
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("{ALL}?limit=2&cursor={cursor}");
    }
    assert_eq!(seen.len(), 5);
    seen[..2].sort();
    assert_eq!(seen[..2], ["acme", "beta"], "the oldest first");
}
