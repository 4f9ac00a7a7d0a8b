//! Who may provision, and what others are told.

use http::Method;
use porteiro_service::{api_keys::KeyKind, http::Access};
use serde_json::json;

use super::driver::{Directory, SCIM, directory, refusal, user};
use crate::{
    oauth::{encode, service},
    organizations::driver::{
        account_of, get, house, join, join_client, key, organization, organization_key, platform_key, role,
        set_status,
    },
    people,
};

#[tokio::test]
async fn every_door_of_scim_needs_the_permission_in_that_organization() {
    let here = directory().await;
    let there = organization(&here.app, "there").await;
    let member = json!({"account": "none"});
    let other = Directory { organization: there, ..here.clone() };
    let lacks = organization_key(&here.app, here.organization, &["members:*", "roles:*", "audit:*"]).await;
    let lacks = Directory { key: lacks, ..here.clone() };
    let nobody = Directory { key: "pt_key_x".into(), ..here.clone() };
    let platform = platform_key(&here.app, &["organizations:administer"]).await;
    let platform = Directory { key: platform, ..here.clone() };
    let mut asked = 0;
    for route in porteiro_service::table() {
        let Access::Provisioning(permission) = route.access else { continue };
        assert_eq!(permission, "scim:provision");
        let path =
            route.path.splitn(5, '/').nth(4).unwrap().replace("{id}", "00000000-0000-0000-0000-000000000000");
        let body = (route.method != Method::GET).then_some(&member);
        let method = || route.method.clone();
        assert_eq!(refusal(&other.send(method(), &path, body, &[]).await).0, 404, "{path}");
        assert_eq!(refusal(&lacks.send(method(), &path, body, &[]).await).0, 403, "{path}");
        assert_eq!(refusal(&platform.send(method(), &path, body, &[("porteiro-reason", "x")]).await).0, 403);
        let unknown = nobody.send(method(), &path, body, &[]).await;
        assert_eq!(refusal(&unknown).0, 401, "{path}");
        assert!(unknown.header("www-authenticate").starts_with("Bearer"), "{path}");
        asked += 1;
    }
    assert_eq!(asked, 20);
}

#[tokio::test]
async fn a_client_of_the_organization_provisions_and_a_person_does_not() {
    let app = house().await;
    let here = organization(&app, "here").await;
    role(&app, here, "directory", &["scim:provision"]).await;
    let robot = service(&app, "client_secret_post", json!({"scope": "scim:provision"})).await;
    join_client(&app, here, robot["client_id"].as_str().unwrap(), "directory").await;
    let text = |name: &str| robot[name].as_str().unwrap();
    let form = encode(&[
        ("grant_type", "client_credentials"),
        ("client_id", text("client_id")),
        ("client_secret", text("client_secret")),
        ("scope", "scim:provision"),
        ("organization", "here"),
    ]);
    let token = app.form("/connect/token", form).await.json();
    let directory = Directory::new(&app, here).await;
    let by_token = Directory { key: token["access_token"].as_str().unwrap().into(), ..directory.clone() };
    let made = by_token.post("Users", &user("ana")).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.header("content-type"), SCIM);
    // A person's key and session are no directory.
    let mut owner = people::register_with_password(&app, "owner@example.test").await;
    let member = join(&app, here, account_of(&mut owner).await, "owner").await;
    let personal = key(&app, KeyKind::Personal, Some(here), Some(member), &["scim:provision"]).await;
    let by_person = Directory { key: personal, ..directory };
    assert_eq!(refusal(&by_person.get("Users").await).0, 403);
    // A suspension is answered and recorded alike for a token and a key. Whoever has the token learns why.
    let by_key = Directory::new(&app, here).await;
    let auditor = organization_key(&app, here, &["audit:read"]).await;
    let members = format!("/v1/organizations/{here}/members");
    set_status(&app, here, "suspended").await;
    for directory in [&by_token, &by_key] {
        let refused = directory.post("Users", &user("bia")).await;
        assert_eq!(refusal(&refused).0, 403, "{}", refused.text());
        assert_eq!(refused.json()["detail"], "Organization suspended");
        let managed = get(&app, &members, &directory.key).await;
        assert_eq!(
            (managed.status.as_u16(), &managed.json()["code"]),
            (409, &json!("organization_suspended"))
        );
    }
    set_status(&app, here, "enabled").await;
    let refusals =
        get(&app, &format!("/v1/organizations/{here}/provisioning-refusals"), &auditor).await.json();
    let said: Vec<_> = refusals["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["detail"] == "Organization suspended")
        .map(|one| {
            (one["actor"].as_str().unwrap().split(':').next().unwrap(), &one["status"], &one["resource"])
        })
        .collect();
    assert_eq!(
        said,
        [("api_key", &json!(403), &json!("Users")), ("client", &json!(403), &json!("Users"))],
        "{refusals}"
    );
    assert_eq!(by_token.get("Users").await.status, 200);
    let by_session = owner.get(&format!("/scim/v2/{here}/Users")).await;
    assert_eq!(by_session.status, 403, "{}", by_session.text());
}

#[tokio::test]
async fn a_suspended_organization_is_not_provisioned() {
    let directory = directory().await;
    let id = directory.user("ana").await;
    set_status(&directory.app, directory.organization, "suspended").await;
    assert_eq!(refusal(&directory.get("Users").await).0, 403);
    assert_eq!(refusal(&directory.delete(&format!("Users/{id}")).await).0, 403);
    set_status(&directory.app, directory.organization, "enabled").await;
    assert!(directory.is_active(&id).await);
}

#[tokio::test]
async fn requests_have_a_limit_and_say_when_to_come_back() {
    let app = porteiro_testkit::TestApp::builder()
        .settings(|settings| settings.scim_requests_per_minute = 3)
        .start()
        .await;
    let app = std::sync::Arc::new(app);
    let here = organization(&app, "here").await;
    let directory = Directory::new(&app, here).await;
    for _ in 0..3 {
        assert_eq!(directory.get("Users").await.status, 200);
    }
    let limited = directory.get("Users").await;
    assert_eq!(refusal(&limited).0, 429);
    assert!(limited.header("retry-after").parse::<u32>().unwrap() > 0);
}

#[tokio::test]
async fn a_body_has_a_size_a_depth_and_a_type() {
    let directory = directory().await;
    let large = json!({"userName": "ana", "displayName": "x".repeat(1_100_000)});
    assert_eq!(directory.post("Users", &large).await.status, 413);
    let mut deep = json!({"userName": "ana"});
    for _ in 0..40 {
        deep = json!({"userName": "ana", "name": deep});
    }
    assert_eq!(refusal(&directory.post("Users", &deep).await), (400, "invalidSyntax".into()));
    let plain = [("content-type", "text/plain")];
    let sent = directory.send(Method::POST, "Users", Some(&user("ana")), &plain).await;
    assert!(sent.status == 415 || sent.status == 201, "{}", sent.status);
}
