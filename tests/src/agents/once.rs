//! The token of an approval is good once: the API uses it up at introspection.

use std::sync::Arc;

use porteiro_protocol::time::Duration;
use porteiro_service::oauth::apis;
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use super::{
    approvals::{all_at_once, nodes},
    driver::{CIBA, Scene, ask, asked, exchanged, ledger_with_payments, noticed},
};
use crate::oauth::driver::Relying;

/// A client of the API.
async fn server(nodes: &[Arc<TestApp>]) -> Relying {
    let server = Relying::web(&nodes[0]).await;
    let mut api = ledger_with_payments();
    api.introspected_by = vec![server.id.clone()];
    apis::register(&nodes[0].app.store, &api).await.unwrap();
    noticed().await;
    server
}

async fn told(app: &TestApp, caller: &Relying, token: &str, more: &[(&str, &str)]) -> Value {
    let form = [&[("token", token)], more].concat();
    caller.call(app, "/connect/introspect", &form).await.json()
}

const CONSUME: &[(&str, &str)] = &[("consume", "true")];

/// An approval of the person, redeemed.
async fn token(scene: &mut Scene) -> String {
    let request = scene.asked(&[]).await;
    scene.approve(&request).await;
    scene.poll(&request).await.json()["access_token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_api_uses_up_the_token_of_an_approval_once() {
    let mut scene = Scene::asking().await;
    let server = server(std::slice::from_ref(&scene.app)).await;
    let token = token(&mut scene).await;
    let before = told(&scene.app, &server, &token, &[]).await;
    assert_eq!(
        (&before["active"], &before["consumed"]),
        (&json!(true), &Value::Null),
        "looking uses up nothing"
    );
    let history = scene.browser.get("/v1/account/approvals?state=consumed").await.json();
    assert_eq!(history["items"][0]["used_at"], Value::Null, "{history}");
    let held = scene.browser.get("/v1/account/grants").await.json();
    assert_eq!(held["items"], json!([]), "it is no standing permission");
    let used = told(&scene.app, &server, &token, CONSUME).await;
    assert_eq!((&used["active"], &used["consumed"]), (&json!(true), &json!(true)), "{used}");
    assert_eq!(
        (&used["jti"], &used["authorization_details"]),
        (&before["jti"], &before["authorization_details"])
    );
    let history = scene.browser.get("/v1/account/approvals?state=consumed").await.json();
    assert!(history["items"][0]["used_at"].is_string(), "{history}");
    let nothing = json!({"active": false});
    for more in [CONSUME, &[]] {
        assert_eq!(told(&scene.app, &server, &token, more).await, nothing);
        assert_eq!(told(&scene.app, &scene.agent, &token, &[]).await, nothing);
    }
    assert_eq!(crate::oauth::driver::userinfo(&scene.app, &token).await.status, 401);
    // The history still says what was approved.
    let history = scene.browser.get("/v1/account/approvals?state=consumed").await.json();
    assert_eq!(history["items"].as_array().unwrap().len(), 1, "{history}");
}

#[tokio::test]
async fn what_the_api_does_not_use_up_ends_after_five_minutes() {
    let mut scene = Scene::asking().await;
    let server = server(std::slice::from_ref(&scene.app)).await;
    let token = token(&mut scene).await;
    assert_eq!(told(&scene.app, &server, &token, &[]).await["active"], true);
    scene.app.clock.advance(Duration::seconds(301));
    assert_eq!(told(&scene.app, &server, &token, CONSUME).await, json!({"active": false}));
}

#[tokio::test]
async fn only_the_api_uses_up_a_token_and_only_one_of_an_approval() {
    let mut scene = Scene::asking().await;
    let server = server(std::slice::from_ref(&scene.app)).await;
    let approved = token(&mut scene).await;
    assert_eq!(told(&scene.app, &scene.agent, &approved, CONSUME).await["error"], "unauthorized_client");
    assert_eq!(told(&scene.app, &scene.client, &approved, CONSUME).await, json!({"active": false}));
    assert_eq!(told(&scene.app, &server, &approved, &[("consume", "1")]).await["error"], "invalid_request");
    assert_eq!(told(&scene.app, &server, &approved, CONSUME).await["consumed"], true);
    // Other tokens stay what they are, so that an API can always ask the same way.
    let subject = scene.token("invoices:read", None).await;
    let exchanged = exchanged(&scene.app, &scene.agent, &subject, &[]).await;
    for token in [&subject, &exchanged] {
        for _ in 0..2 {
            let told = told(&scene.app, &server, token, CONSUME).await;
            assert_eq!((&told["active"], &told["consumed"]), (&json!(true), &Value::Null), "{told}");
        }
    }
}

#[tokio::test]
async fn one_token_used_up_from_sixty_four_places_is_told_active_once() {
    let (nodes, mut browser, agent, account) = nodes().await;
    let server = server(&nodes).await;
    let request = asked(&ask(&nodes[0], &agent, &account, &[]).await);
    let inbox = browser.get("/v1/account/approvals?state=pending").await.json();
    let path = format!("/v1/account/approvals/{}/approve", inbox["items"][0]["id"].as_str().unwrap());
    assert_eq!(browser.post(&path, &json!({"number": request.number})).await.status, 200);
    let tokens = agent.token(&nodes[1], CIBA, &[("auth_req_id", &request.handle)]).await.json();
    let token = tokens["access_token"].as_str().unwrap().to_owned();
    let answers =
        all_at_once(&nodes, |node| {
            let (server, token) = (server.clone(), token.clone());
            async move {
                server.call(&node, "/connect/introspect", &[("token", &token), ("consume", "true")]).await
            }
        })
        .await;
    let active = answers.iter().filter(|answer| answer.json()["active"] == true).count();
    assert_eq!(active, 1);
    assert!(answers.iter().all(|answer| answer.status == 200));
}
