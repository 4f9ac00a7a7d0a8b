//! What it needs, whom it never reaches, and what stays closed to it.

use axum::body::Body;
use http::{Method, Request, header};
use porteiro_protocol::time::Duration;
use serde_json::json;

use super::{
    super::{
        driver::{PAYROLL, account_of, call, get, join, organization_key, platform_key, role, set_status},
        standing::overtaken,
    },
    Scene, give, second_factor, text,
};
use crate::people::register_with_password;

#[tokio::test]
async fn nobody_acts_as_somebody_above_them() {
    let scene = Scene::new().await;
    let (app, here) = (&scene.app, scene.here);
    role(app, here, "reserved", &["members:impersonate"]).await;
    let mut refused = 0;
    for (index, (given, roles, rule)) in [
        (&[][..], "owner", "impersonation_of_owner"),
        (&["platform.log:read"][..], "member", "impersonation_of_platform"),
        (&["members:impersonate"][..], "admin", "impersonation_of_platform"),
        (&[][..], "reserved", "impersonation_of_reserved"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut above = register_with_password(app, &format!("above{index}@example.test")).await;
        let account = account_of(&mut above).await;
        give(app, account, given).await;
        let member = join(app, here, account, roles).await;
        let path = format!("/v1/organizations/{here}/members/{member}/impersonations");
        let body = json!({"reason": "curious", "scope": "openid"});
        let answer = call(app, Method::POST, &path, &scene.token, Some(&body), &[]).await;
        assert_eq!(
            (answer.status.as_u16(), text(&answer.json(), "code")),
            (403, "authority_exceeded"),
            "{rule}"
        );
        assert!(!answer.text().contains("owner") && !answer.text().contains("platform.log"));
        let key = organization_key(app, here, &["audit:read"]).await;
        let reference = format!("/v1/organizations/{here}/refusals/{}", text(&answer.json(), "reference"));
        assert_eq!(text(&get(app, &reference, &key).await.json(), "rule"), rule);
        refused += 1;
    }
    // What the member does not hold, and what is not theirs to give.
    for (scope, resource) in [
        ("salaries:read reports:read", Some(PAYROLL)),
        ("account", None),
        ("openid offline_access", None),
        ("audit:read", None),
        ("members:impersonate", None),
        ("", None),
        ("salaries:read", Some("https://unknown.example.test")),
    ] {
        let answer = scene.start(&json!({"reason": "r", "scope": scope, "resource": resource})).await;
        assert_eq!(text(&answer.json(), "code"), "authority_exceeded", "{scope}: {}", answer.text());
        refused += 1;
    }
    // A key never acts as anybody, whatever it says.
    let key = platform_key(app, &["members:impersonate", "organizations:administer"]).await;
    let body = json!({"reason": "r", "scope": "openid"});
    let answer = call(app, Method::POST, &scene.path(), &key, Some(&body), &[]).await;
    assert_eq!(text(&answer.json(), "code"), "authority_exceeded");
    refused += 1;
    assert_eq!(scene.kinds().await, vec!["authority.refused"; refused]);
    for reason in ["", "  ", "a\nb"] {
        assert_eq!(scene.start(&json!({"reason": reason, "scope": "openid"})).await.status, 422);
    }
    assert_eq!(app.count("SELECT count(*) FROM impersonation").await, 0);
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant WHERE terms ? 'actor'").await, 0);

    set_status(app, here, "suspended").await;
    let answer = scene.start(&body).await;
    assert_eq!(text(&answer.json(), "code"), "organization_suspended");
    set_status(app, here, "enabled").await;
    app.sql(&format!("UPDATE membership SET state = 'disabled' WHERE membership_id = '{}'", scene.member))
        .await;
    assert_eq!(text(&scene.start(&body).await.json(), "code"), "conflict");
    let nobody =
        format!("/v1/organizations/{here}/members/0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f/impersonations");
    assert_eq!(call(app, Method::POST, &nobody, &scene.token, Some(&body), &[]).await.status, 404);
}

#[tokio::test]
async fn it_needs_the_permission_by_name_and_a_fresh_second_factor() {
    let mut scene = Scene::new().await;
    let body = json!({"reason": "r", "scope": "openid"});
    let offline =
        scene.client.tokens(&mut scene.olga, &scene.app, &[("scope", "members:impersonate offline_access")]);
    let refresh = text(&offline.await, "refresh_token").to_owned();
    // A wildcard is not the name.
    give(&scene.app, scene.operator, &["members:*", "platform.accounts:*"]).await;
    assert_eq!(text(&scene.start(&body).await.json(), "code"), "forbidden");
    give(&scene.app, scene.operator, &["members:impersonate"]).await;
    assert_eq!(scene.start(&body).await.status, 201);
    // Six minutes after the proof, with a token that is new.
    scene.app.clock.set(scene.app.app.clock.now() + Duration::minutes(6));
    let late = scene.client.refresh(&scene.app, &refresh, &[]).await.json();
    scene.token = text(&late, "access_token").to_owned();
    let answer = scene.start(&body).await;
    assert_eq!(answer.status, 401);
    assert!(answer.header("www-authenticate").contains("insufficient_user_authentication"));
    // And a password alone is not enough, however fresh.
    let mut paula = register_with_password(&scene.app, "paula@example.test").await;
    give(&scene.app, account_of(&mut paula).await, &["members:impersonate"]).await;
    let tokens = scene.client.tokens(&mut paula, &scene.app, &[("scope", "members:impersonate")]).await;
    scene.token = text(&tokens, "access_token").to_owned();
    assert_eq!(scene.start(&body).await.status, 401);
}

#[tokio::test]
async fn every_token_is_decided_anew() {
    let scene = Scene::new().await;
    let started = scene.started("salaries:read", Some(PAYROLL)).await;
    let id = text(&started, "id").to_owned();
    let mut oscar = second_factor(&scene.app, "oscar@example.test").await;
    give(&scene.app, account_of(&mut oscar).await, &["members:impersonate"]).await;
    let tokens = scene.client.tokens(&mut oscar, &scene.app, &[("scope", "members:impersonate")]).await;
    let path = format!("{}/{id}/tokens", scene.path());
    let answer = call(&scene.app, Method::POST, &path, text(&tokens, "access_token"), None, &[]).await;
    assert_eq!(answer.status, 404, "another's");

    role(&scene.app, scene.here, "accountant", &["members:read"]).await;
    assert_eq!(text(&scene.next(&id).await.json(), "code"), "authority_exceeded", "the member lost it");
    assert!(!scene.is_active(text(&started, "access_token")).await);
    role(&scene.app, scene.here, "accountant", &["salaries:read"]).await;
    assert_eq!(scene.next(&id).await.status, 201);
    let promote = format!(
        "INSERT INTO membership_role (organization_id, role_key, created_at, membership_id)
         SELECT organization_id, 'owner', created_at, membership_id FROM membership
         WHERE membership_id = '{}'",
        scene.member
    );
    scene.app.sql(&promote).await;
    assert_eq!(text(&scene.next(&id).await.json(), "code"), "authority_exceeded", "now they are above");
    scene.app.sql("DELETE FROM membership_role WHERE role_key = 'owner'").await;
    give(&scene.app, scene.operator, &[]).await;
    assert_eq!(text(&scene.next(&id).await.json(), "code"), "forbidden", "the operator lost it");
}

#[tokio::test]
async fn whatever_lasts_is_closed_to_whoever_acts_as_somebody() {
    let mut scene = Scene::new().await;
    let started = scene.started("openid members:read members:write", None).await;
    let token = text(&started, "access_token").to_owned();
    let here = format!("/v1/organizations/{}/test", scene.here);
    let read = get(&scene.app, &here, &token).await;
    assert_eq!(read.status, 200, "{}", read.text());
    assert_eq!(
        read.json()["actor"],
        json!({"kind": "member", "id": scene.member, "act": scene.operator}),
        "the trail would name both"
    );
    let write = call(&scene.app, Method::POST, &here, &token, Some(&json!({})), &[]).await;
    assert_eq!((write.status.as_u16(), text(&write.json(), "code")), (403, "forbidden"));
    let key = organization_key(&scene.app, scene.here, &["audit:read"]).await;
    let reference = format!("/v1/organizations/{}/refusals/{}", scene.here, text(&write.json(), "reference"));
    assert_eq!(text(&get(&scene.app, &reference, &key).await.json(), "rule"), "read_only_for_acting");
    // The account, its credentials, sessions and consents; the member's next impersonation.
    for (method, path) in [
        (Method::GET, "/v1/account"),
        (Method::GET, "/v1/account/credentials"),
        (Method::DELETE, "/v1/account/sessions"),
        (Method::GET, "/v1/account/grants"),
        (Method::DELETE, "/v1/account/grants/x"),
        (Method::GET, "/v1/account/activity"),
        (Method::GET, "/v1/platform/accounts"),
        (Method::POST, scene.path().as_str()),
    ] {
        let answer = call(&scene.app, method.clone(), path, &token, Some(&json!({})), &[]).await;
        assert!([401, 403].contains(&answer.status.as_u16()), "{method} {path}: {}", answer.text());
    }
    let enrol = json!({"kind": "enrol", "enrol": "totp"});
    let flow = call(&scene.app, Method::POST, "/v1/flows", &token, Some(&enrol), &[]).await;
    assert!(!flow.status.is_success(), "{}", flow.text());

    // The person ends it by taking back what the client may do, without asking anybody.
    assert!(scene.is_active(&token).await);
    let client = scene.client.id.clone();
    assert_eq!(scene.ana.delete(&format!("/v1/account/grants/{client}")).await.status, 204);
    assert!(!scene.is_active(&token).await);
    assert_eq!(scene.next(text(&started, "id")).await.status, 404);
}

/// Whoever loses the permission while the call waits acts as nobody.
#[tokio::test]
async fn an_operator_who_loses_it_after_being_let_in_begins_nothing() {
    let scene = Scene::new().await;
    let body = json!({"reason": "ticket 17", "scope": "members:read"});
    let request = Request::post(scene.path())
        .header(header::AUTHORIZATION, format!("Bearer {}", scene.token))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    let loss = "UPDATE platform_authority SET permissions = '{}'";
    let answer = overtaken(&scene.app, request, loss).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["code"]),
        (403, &json!("authority_exceeded")),
        "{}",
        answer.text()
    );
    assert_eq!(scene.app.count("SELECT count(*) FROM impersonation").await, 0);
    give(&scene.app, scene.operator, &["members:impersonate"]).await;
    assert_eq!(scene.start(&body).await.status, 201, "it was refused for the loss alone");
}
