//! Whoever only a directory vouches for leaves nothing behind that outlasts its word (docs/decisions/0121).

use http::Method;
use porteiro_testkit::nothing;
use serde_json::{Value, json};

use super::{Asked, World, world};
use crate::{oauth::driver::Relying, organizations::driver::call, people::PASSWORD};

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

#[tokio::test]
async fn an_owner_whom_only_the_directory_vouches_for_makes_no_keys_invitations_or_connections() {
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
    let mut asked = world.vouched("ana-there", &[("scope", SCOPE)]).await;
    let confined = world.tokens(&mut asked).await;
    assert_eq!(plant(&world, &confined).await, [403, 403, 403]);
    let token = confined["access_token"].as_str().unwrap();
    let members = format!("/v1/organizations/{}/members", world.place);
    assert_eq!(call(&world.app, Method::GET, &members, token, None, &[]).await.status, 200);

    // After a proof of her own account it is hers, and ends with her membership.
    let mut asked = world.ask(asked.browser, &[("scope", SCOPE), ("prompt", "login")]).await;
    let Asked { browser, flow, .. } = &mut asked;
    flow.act(browser, "password/check", json!({"identifier": "ana@example.test", "password": PASSWORD}))
        .await;
    if flow.stage() == "enrol" {
        flow.act(browser, "enrol/skip", nothing()).await;
    }
    let own = world.tokens(&mut asked).await;
    assert_eq!(plant(&world, &own).await, [201, 201, 201]);
}
