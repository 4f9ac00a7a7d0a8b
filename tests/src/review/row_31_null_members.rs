//! `null` members of a patch behave as documented.

use http::Method;
use porteiro_service::{api::Taken, http::Access};
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use crate::{
    oauth::service,
    organizations::{
        driver::{account_of, call, get, house, join, organization, organization_key, platform_key, role},
        staff::refusal,
    },
    people,
};

/// Every resource that is changed by merge patch: its route, what `null` takes away of it, and what must be there.
const PATCHED: &[(&str, &[&str], &[&str])] = &[
    ("/v1/organizations/{organization}", &["locale"], &["name", "slug"]),
    ("/v1/organizations/{organization}/members/{member}", &["primary_role"], &["display_name", "roles"]),
    ("/v1/organizations/{organization}/roles/{role}", &[], &["name", "permissions"]),
    ("/v1/organizations/{organization}/groups/{group}", &["role"], &[]),
    ("/v1/organizations/{organization}/branding", &["name", "color", "color_dark"], &[]),
    ("/v1/platform/clients/{client_id}", &[], &["trust", "organization_mode", "metadata"]),
    ("/v1/platform/clients/{client_id}/branding", &["name", "color", "color_dark"], &[]),
];

async fn patch(app: &TestApp, path: &str, key: &str, body: &Value) -> Answer {
    let tag = get(app, path, key).await.header("etag").to_owned();
    call(app, Method::PATCH, path, key, Some(body), &[("if-match", &tag)]).await
}

#[tokio::test]
async fn a_null_member_is_taken_away_or_refused_and_never_ignored() {
    let app = house().await;
    let here = organization(&app, "here").await;
    role(&app, here, "clerk", &["members:read"]).await;
    let mut ana = people::register_with_password(&app, "ana@example.test").await;
    let member = join(&app, here, account_of(&mut ana).await, "clerk").await;
    let client = service(&app, "client_secret_post", json!({})).await;
    let client = client["client_id"].as_str().unwrap();
    let ours = organization_key(&app, here, &["organization:*", "members:*", "roles:*"]).await;
    let platform = platform_key(&app, &["platform.clients:*"]).await;
    let group = crate::scim::driver::Directory::new(&app, here).await.group("Clerks", &[]).await;
    let mut routes: Vec<&str> = porteiro_service::table()
        .iter()
        .filter(|route| route.operation.as_ref().is_some_and(|it| matches!(it.takes, Taken::MergePatch(_))))
        .filter(|route| {
            // The person's own; see below.
            let own = route.path == "/v1/account";
            let managed = matches!(route.access, Access::Organization(_) | Access::Platform(_));
            assert!(own || managed, "{}", route.path);
            !own
        })
        .map(|route| route.path)
        .collect();
    let mut listed: Vec<&str> = PATCHED.iter().map(|(path, ..)| *path).collect();
    routes.sort_unstable();
    listed.sort_unstable();
    assert_eq!(routes, listed, "every merge patch is looked at here");
    for (path, optional, required) in PATCHED {
        let key = if path.starts_with("/v1/platform") { &platform } else { &ours };
        let path = path
            .replace("{organization}", &here.to_string())
            .replace("{member}", &member.to_string())
            .replace("{role}", "clerk")
            .replace("{group}", &group)
            .replace("{client_id}", client);
        let before = get(&app, &path, key).await.json();
        for name in
            required.iter().copied().chain(["metadata", "client_name", "id", "created_at", "unheard-of"])
        {
            let answer = patch(&app, &path, key, &json!({name: null})).await;
            assert_eq!(refusal(&answer), (400, "malformed".into()), "{path} {name}: {}", answer.text());
        }
        assert_eq!(get(&app, &path, key).await.json(), before, "{path}");
        for name in *optional {
            let answer = patch(&app, &path, key, &json!({*name: null})).await;
            assert_eq!(answer.status, 200, "{path} {name}: {}", answer.text());
        }
    }
    let before = ana.get("/v1/account").await.json();
    for name in ["display_name", "locale", "id", "deletion_at", "unheard-of"] {
        let answer = ana.call(Method::PATCH, "/v1/account", Some(&json!({name: null}))).await;
        assert_eq!(refusal(&answer), (400, "malformed".into()), "{name}: {}", answer.text());
    }
    assert_eq!(ana.get("/v1/account").await.json(), before);
}

#[tokio::test]
async fn null_takes_a_colour_away_and_leaves_the_rest() {
    let app = TestApp::new().await;
    let here = organization(&app, "here").await;
    let key = organization_key(&app, here, &["organization:*"]).await;
    let path = format!("/v1/organizations/{here}/branding");
    let set = patch(&app, &path, &key, &json!({"name": "Here", "color": "#113355"})).await;
    assert_eq!(set.status, 200, "{}", set.text());
    let taken = patch(&app, &path, &key, &json!({"color": null})).await.json();
    assert_eq!((&taken["name"], &taken["color"]), (&json!("Here"), &Value::Null));
}
