//! The provider of a connection of the deployment signs a person out.

use porteiro_testkit::Browser;
use serde_json::{Value, json};

use super::{World, register_with_password, world};

async fn told(world: &World, claims: &Value) -> u16 {
    let path = format!("/connect/federation/{}/logout", world.connection);
    let token = world.provider.logout_token(claims);
    world.app.form(&path, format!("logout_token={token}")).await.status.as_u16()
}

#[tokio::test]
async fn a_logout_token_ends_the_sessions_that_rest_on_its_identity_and_no_others() {
    let world = world().await;
    let mut own = register_with_password(&world.app, "ana@example.test").await;
    world.link(&mut own, "ana-there").await;
    let (mut browser, mut flow, answer): (Browser, _, _) = world.begin("ana-there").await;
    flow.act(&mut browser, "federated/finish", answer).await;
    assert_eq!(told(&world, &json!({"sub": "nobody"})).await, 200);
    assert_eq!(told(&world, &json!({"sid": "s"})).await, 400, "sessions there are not known");
    assert_eq!(browser.get("/v1/account").await.status, 200);
    assert_eq!(told(&world, &json!({"sub": "ana-there", "sid": "s"})).await, 200);
    assert_eq!(browser.get("/v1/account").await.status, 401);
    assert_eq!(own.get("/v1/account").await.status, 200);
}
