//! Whoever only a directory vouches for leaves nothing behind that outlasts its word (docs/decisions/0121), and raises
//! nobody (docs/decisions/0140).

use http::Method;
use porteiro_testkit::nothing;
use serde_json::{Value, json};

use super::{Asked, World, world};
use crate::{
    oauth::{driver::Relying, service},
    organizations::{
        driver::{call, get, organization_key, role},
        staff::{change, join_as, post},
    },
    people::PASSWORD,
    scim::driver::Directory,
};

const SCOPE: &str = "api-keys:write invitations:write connections:write members:read organization:read";

/// What an owner may do that stays.
async fn plant(world: &World, tokens: &Value) -> Vec<u16> {
    let token = tokens["access_token"].as_str().unwrap();
    let key = json!({"name": "planted", "permissions": ["organization:read"]});
    let invitation = json!({"email": "eve@example.test", "role": "member"});
    let mut connection = super::definition(&world.provider, &json!({}));
    connection["name"] = "Another".into();
    let mut answers = Vec::new();
    for (path, body) in [("api-keys", key), ("invitations", invitation), ("connections", connection)] {
        let path = format!("/v1/organizations/{}/{path}", world.place);
        answers.push(call(&world.app, Method::POST, &path, token, Some(&body), &[]).await.status.as_u16());
    }
    answers
}

/// Ana, an owner with an identity in the directory.
async fn owned() -> World {
    let world = world().await;
    let world = World { client: Relying::console(&world.app).await, ..world };
    let (.., member) = world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    world
        .app
        .sql(&format!(
            "INSERT INTO membership_role (organization_id, role_key, created_at, membership_id)
             SELECT organization_id, 'owner', created_at, membership_id FROM membership WHERE membership_id = '{member}'"
        ))
        .await;
    world
}

/// The same browser after a proof of Ana's own account.
async fn proved(world: &World, asked: Asked, scope: &str) -> Asked {
    let mut asked = world.ask(asked.browser, &[("scope", scope), ("prompt", "login")]).await;
    let Asked { browser, flow, .. } = &mut asked;
    flow.act(browser, "password/check", json!({"identifier": "ana@example.test", "password": PASSWORD}))
        .await;
    if flow.stage() == "enrol" {
        flow.act(browser, "enrol/skip", nothing()).await;
    }
    asked
}

#[tokio::test]
async fn an_owner_whom_only_the_directory_vouches_for_makes_no_keys_invitations_or_connections() {
    let world = owned().await;
    let mut asked = world.vouched("ana-there", &[("scope", SCOPE)]).await;
    let confined = world.tokens(&mut asked).await;
    assert_eq!(plant(&world, &confined).await, [403, 403, 403]);
    let token = confined["access_token"].as_str().unwrap();
    let members = format!("/v1/organizations/{}/members", world.place);
    assert_eq!(call(&world.app, Method::GET, &members, token, None, &[]).await.status, 200);

    // After a proof of her own account it is hers, and ends with her membership.
    let mut asked = proved(&world, asked, SCOPE).await;
    let own = world.tokens(&mut asked).await;
    assert_eq!(plant(&world, &own).await, [201, 201, 201]);
}

const ADMINISTERS: &str =
    "members:read members:write roles:read roles:write organization:read organization:write";

/// Everything by which somebody is raised with the permissions that are left: method, path, body, and what an owner
/// who proved their account is answered.
async fn raising(world: &World) -> Vec<(Method, String, Value, u16)> {
    let (app, here) = (&world.app, world.place);
    let ben = join_as(app, here, "Ben", "member").await;
    let eva = join_as(app, here, "Eva", "deputy").await;
    app.sql(&format!("UPDATE membership SET state = 'disabled', disabled_at = now(), disabled_by = 'test' WHERE membership_id = '{eva}'"))
        .await;
    let group = Directory::new(app, here).await.group("Staff", &[]).await;
    let machine = service(app, "client_secret_post", json!({})).await["client_id"].clone();
    let new =
        |key: &str, permissions: Value| json!({"key": key, "name": "A role", "permissions": permissions});
    let door = json!({"require_connection": world.connection});
    vec![
        (Method::PATCH, format!("members/{ben}"), json!({"roles": ["member", "owner"]}), 200),
        (Method::PATCH, format!("members/{ben}"), json!({"roles": ["member", "admin"]}), 200),
        (Method::PATCH, format!("members/{ben}"), json!({"roles": ["member", "deputy"]}), 200),
        (Method::POST, format!("members/{eva}/enable"), json!({}), 200),
        (Method::POST, "members".into(), json!({"client_id": machine, "role": "clerk"}), 201),
        (Method::POST, "roles".into(), new("climber", json!(["members:*"])), 201),
        (Method::PATCH, "roles/clerk".into(), json!({"permissions": ["roles:write"]}), 200),
        (Method::PATCH, "roles/deputy".into(), json!({"name": "Another name"}), 200),
        (Method::PATCH, format!("groups/{group}"), json!({"role": "deputy"}), 200),
        (Method::PATCH, format!("groups/{group}"), json!({"role": null}), 200),
        (Method::PUT, "policy".into(), door, 200),
    ]
}

async fn answer(world: &World, token: &str, (method, path, body, _): &(Method, String, Value, u16)) -> Value {
    let path = format!("/v1/organizations/{}/{path}", world.place);
    let answer = if *method == Method::POST {
        post(&world.app, &path, token, body).await
    } else {
        change(&world.app, method.clone(), &path, token, Some(body)).await
    };
    let mut told = if answer.text().is_empty() { json!({}) } else { answer.json() };
    told["answered"] = answer.status.as_u16().into();
    told
}

#[tokio::test]
async fn whom_only_the_directory_vouches_for_administers_and_raises_nobody() {
    let world = owned().await;
    let (app, here) = (&world.app, world.place);
    role(app, here, "clerk", &["organization:read"]).await;
    role(app, here, "deputy", &["members:write"]).await;
    let attempts = raising(&world).await;
    let mut asked = world.vouched("ana-there", &[("scope", ADMINISTERS)]).await;
    let confined = world.tokens(&mut asked).await["access_token"].as_str().unwrap().to_owned();
    let untouched = "SELECT md5(string_agg(r::text, ' ' ORDER BY r::text)) FROM membership_role r";
    let before = app.database.client().await.query_one(untouched, &[]).await.unwrap().get::<_, String>(0);
    for attempt in &attempts {
        // What the group has now does not matter for the first of its two.
        if attempt.2["role"].is_null() && attempt.1.starts_with("groups/") {
            app.sql("UPDATE organization_group SET role_key = 'deputy'").await;
        }
        let told = answer(&world, &confined, attempt).await;
        assert_eq!(
            (&told["answered"], &told["code"]),
            (&json!(403), &json!("authority_exceeded")),
            "{attempt:?} {told}"
        );
        assert_eq!(told["rule"], "directory_alone", "{attempt:?}");
        assert!(told["detail"].as_str().unwrap().contains("sign in to your own account"), "{told}");
        app.sql("UPDATE organization_group SET role_key = NULL").await;
    }
    let after = app.database.client().await.query_one(untouched, &[]).await.unwrap().get::<_, String>(0);
    assert_eq!(before, after, "nobody has another role");
    // A reader of the trail finds the rule.
    let told = answer(&world, &confined, &attempts[0]).await;
    let auditor = organization_key(app, here, &["audit:read"]).await;
    let path = format!("/v1/organizations/{here}/refusals/{}", told["reference"].as_str().unwrap());
    assert_eq!(get(app, &path, &auditor).await.json()["rule"], "directory_alone");

    // The rest of her work goes on.
    let ben = &attempts[0].1;
    let every_day = [
        (Method::PATCH, ben.clone(), json!({"roles": ["member", "clerk"]}), 200),
        (Method::POST, format!("{ben}/disable"), json!({}), 200),
        (Method::POST, format!("{ben}/enable"), json!({}), 200),
        (
            Method::POST,
            "roles".into(),
            json!({"key": "typist", "name": "Typist", "permissions": ["members:read"]}),
            201,
        ),
        (Method::PUT, "policy".into(), json!({"max_age": 3600}), 200),
    ];
    for attempt in &every_day {
        let told = answer(&world, &confined, attempt).await;
        assert_eq!(told["answered"], json!(attempt.3), "{attempt:?} {told}");
    }

    let mut asked = proved(&world, asked, ADMINISTERS).await;
    let own = world.tokens(&mut asked).await["access_token"].as_str().unwrap().to_owned();
    for attempt in &attempts {
        let told = answer(&world, &own, attempt).await;
        assert_eq!(told["answered"], json!(attempt.3), "{attempt:?} {told}");
    }
}
