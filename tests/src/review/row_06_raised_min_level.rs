//! Raising what an organization asks of people reaches the grants they gave before.

use std::sync::Arc;

use http::Method;
use porteiro_protocol::id::OrganizationId;
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use crate::{
    oauth::driver::{Relying, userinfo},
    organizations::{
        driver::{call, get, house, organization, organization_key},
        staff::Staff,
    },
};

const ASKED: [(&str, &str); 2] = [("scope", "openid members:read"), ("organization", "here")];

struct World {
    app: Arc<TestApp>,
    here: OrganizationId,
    ana: Staff,
    client: Relying,
    owner: String,
}

impl World {
    async fn new() -> Self {
        let app = house().await;
        let here = organization(&app, "here").await;
        let ana = Staff::new(&app, "ana@example.test", here, "admin").await;
        let client = Relying::web(&app).await;
        let owner = organization_key(&app, here, &["organization:*"]).await;
        Self { app, here, ana, client, owner }
    }

    async fn policy(&self, policy: Value) {
        let path = format!("/v1/organizations/{}/policy", self.here);
        let seen = get(&self.app, &path, &self.owner).await;
        let tag = [("if-match", seen.header("etag"))];
        let put = call(&self.app, Method::PUT, &path, &self.owner, Some(&policy), &tag).await;
        assert_eq!(put.status, 200, "{}", put.text());
    }

    async fn refresh(&self, tokens: &Value) -> Answer {
        self.client.refresh(&self.app, tokens["refresh_token"].as_str().unwrap(), &[]).await
    }
}

fn steps_up(answer: &Answer, member: &str, value: &Value) {
    let told = answer.json();
    assert_eq!(
        (answer.status.as_u16(), told["error"].as_str()),
        (400, Some("insufficient_user_authentication")),
        "{told}"
    );
    assert_eq!(&told[member], value, "what would be enough: {told}");
}

#[tokio::test]
async fn a_raised_level_refuses_the_next_refresh_with_a_step_up_error_and_keeps_the_token() {
    let mut world = World::new().await;
    let tokens = world.client.tokens(&mut world.ana.browser, &world.app, &ASKED).await;
    let waiting = world.client.code(&mut world.ana.browser, &ASKED).await;
    let plain = world.client.tokens(&mut world.ana.browser, &world.app, &[]).await;
    world.policy(json!({"min_level": "none", "max_age": 3600})).await;
    let answer = world.refresh(&tokens).await;
    assert_eq!(answer.status, 200, "what they proved is enough: {}", answer.text());
    let tokens = answer.json();
    world.policy(json!({"min_level": "aal1"})).await;
    let aal1 = json!("http://idmanagement.gov/ns/assurance/aal/1");
    steps_up(&world.refresh(&tokens).await, "acr_values", &aal1);
    world.policy(json!({"min_level": "aal2"})).await;
    let aal2 = json!("http://idmanagement.gov/ns/assurance/aal/2");
    for _ in 0..2 {
        steps_up(&world.refresh(&tokens).await, "acr_values", &aal2);
    }
    steps_up(&world.client.redeem(&world.app, &waiting.0, &waiting.1).await, "acr_values", &aal2);
    assert_eq!(
        world.refresh(&plain).await.status,
        200,
        "what is not for the organization is not its business"
    );
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(userinfo(&world.app, access).await.json()["error"], "insufficient_user_authentication");
    for name in ["access_token", "refresh_token"] {
        let form = [("token", tokens[name].as_str().unwrap())];
        let told = world.client.call(&world.app, "/connect/introspect", &form).await.json();
        assert_eq!(told, json!({"active": false}), "{name}");
    }
    world.policy(json!({})).await;
    assert_eq!(world.refresh(&tokens).await.status, 200, "lowered again, and nothing was used up");
    let reused = "SELECT count(*) FROM security_log WHERE kind = 'grant.reused'";
    assert_eq!(world.app.count(reused).await, 0);
}

#[tokio::test]
async fn a_proof_that_is_too_old_for_the_organization_refreshes_nothing() {
    let mut world = World::new().await;
    world.policy(json!({"max_age": 3600})).await;
    let tokens = world.client.tokens(&mut world.ana.browser, &world.app, &ASKED).await;
    let answer = world.refresh(&tokens).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    // Nothing changes but the time.
    world
        .app
        .sql(
            "UPDATE oauth_grant SET terms = jsonb_set(terms, '{auth_time}',
                  to_jsonb((terms->>'auth_time')::bigint - 3700))",
        )
        .await;
    let tokens = answer.json();
    steps_up(&world.refresh(&tokens).await, "max_age", &json!(3600));
    let form = [("token", tokens["refresh_token"].as_str().unwrap())];
    let told = world.client.call(&world.app, "/connect/introspect", &form).await.json();
    assert_eq!(told, json!({"active": false}));
    world.policy(json!({"max_age": 7200})).await;
    assert_eq!(world.refresh(&tokens).await.status, 200);
}

/// Whatever the policy was when it was issued, a grant that meets it goes on.
#[tokio::test]
async fn what_meets_the_policy_refreshes_again_and_again() {
    let mut world = World::new().await;
    world.policy(json!({"max_age": 3600})).await;
    let mut tokens = world.client.tokens(&mut world.ana.browser, &world.app, &ASKED).await;
    for _ in 0..3 {
        let answer = world.refresh(&tokens).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        tokens = answer.json();
    }
}
