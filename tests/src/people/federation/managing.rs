//! The platform's connections: who may change them, what is refused, and what the test explains.

use http::Method;
use porteiro_testkit::Browser;
use serde_json::{Value, json};

use super::{World, definition, provider::Provider, register_with_password, world};
use crate::organizations::driver::{call, get, platform_key};

const PATH: &str = "/v1/platform/connections";

async fn tested(world: &World) -> (bool, Vec<(String, bool, String)>) {
    let path = format!("{PATH}/{}/test", world.connection);
    let answer = call(&world.app, Method::POST, &path, &world.key, None, &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = answer.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let steps = body["steps"].as_array().unwrap().iter();
    let steps = steps.map(|step| (text(&step["step"]), step["ok"] == true, text(&step["explanation"])));
    (body["ok"] == true, steps.collect())
}

#[tokio::test]
async fn a_test_shows_each_step_and_explains_the_first_that_fails() {
    let world = world().await;
    let (ok, steps) = tested(&world).await;
    assert!(ok, "{steps:?}");
    let names: Vec<&str> = steps.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["redirect_uri", "metadata", "metadata_content", "keys", "key"]);
    assert!(steps[0].2.contains(&format!("/ui/federation/{}", world.connection)));
    for (metadata, step, words) in [
        (json!({"issuer": "https://login.example.test/"}), "metadata_content", "https://login.example.test/"),
        (json!({"token_endpoint": null}), "metadata_content", "token_endpoint"),
        (json!({"id_token_signing_alg_values_supported": ["RS256"]}), "metadata_content", "ES256"),
        (json!({"jwks_uri": format!("{}/nothing", world.provider.issuer())}), "keys", "could not be fetched"),
        (json!({"padding": "x".repeat(70_000)}), "metadata", "at most 64 KiB"),
    ] {
        world.provider.bend_metadata(metadata);
        let (ok, steps) = tested(&world).await;
        let (name, passed, explanation) = steps.last().unwrap();
        assert!(!ok && !passed && name == step && explanation.contains(words), "{steps:?}");
    }
}

#[tokio::test]
async fn a_disabled_connection_signs_nobody_in_and_is_not_offered() {
    let world = world().await;
    let mut ana = register_with_password(&world.app, "ana@example.test").await;
    world.link(&mut ana, "ana-there").await;
    let (mut browser, mut flow, answer) = world.begin("ana-there").await;
    let path = format!("{PATH}/{}", world.connection);
    let seen = get(&world.app, &path, &world.key).await;
    let tag = seen.headers["etag"].to_str().unwrap().to_owned();
    let mut off = definition(&world.provider);
    off["enabled"] = json!(false);
    off["client_secret"] = Value::Null;
    let changed = call(&world.app, Method::PUT, &path, &world.key, Some(&off), &[("if-match", &tag)]).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_ne!(flow.attempt(&mut browser, "federated/finish", answer).await.status, 200);
    let flow = Browser::new(&world.app).open(json!({"kind": "sign_in"})).await;
    assert!(flow.now.get("connections").is_none() && !flow.offers().contains(&"federated/begin"));
    let again = call(&world.app, Method::PUT, &path, &world.key, Some(&off), &[("if-match", &tag)]).await;
    assert_eq!(again.status, 412, "of an old version");
    off["issuer"] = json!("https://login.example.test");
    let tag = changed.headers["etag"].to_str().unwrap().to_owned();
    let moved = call(&world.app, Method::PUT, &path, &world.key, Some(&off), &[("if-match", &tag)]).await;
    assert_eq!(moved.status, 422, "an issuer is for ever");
}

#[tokio::test]
async fn the_secret_is_stored_encrypted_and_never_shown() {
    let world = world().await;
    let path = format!("{PATH}/{}", world.connection);
    for path in [PATH, &path] {
        let shown = get(&world.app, path, &world.key).await.text();
        assert!(shown.contains("client_secret_basic") && !shown.contains(super::SECRET), "{shown}");
    }
    let plain = format!("SELECT count(*) FROM connection WHERE client_secret = '{}'::bytea", super::SECRET);
    assert_eq!(world.app.count(&plain).await, 0);
    let reader = platform_key(&world.app, &["platform.connections:read"]).await;
    assert_eq!(get(&world.app, PATH, &reader).await.status, 200);
    let body = definition(&world.provider);
    assert_eq!(call(&world.app, Method::POST, PATH, &reader, Some(&body), &[]).await.status, 403);
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_is_not_asked_again_at_once() {
    let world = world().await;
    let gone = Provider::start().await;
    let mut body = definition(&gone);
    body["issuer"] = json!(format!("{}/nothing", world.provider.issuer()));
    let made = call(&world.app, Method::POST, PATH, &world.key, Some(&body), &[]).await;
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let mut browser = Browser::new(&world.app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    for _ in 0..5 {
        let answer = flow.attempt(&mut browser, "federated/begin", json!({"connection": id})).await;
        assert_eq!(answer.status, 422, "{}", answer.text());
    }
    assert_eq!(world.provider.heard("/nothing/.well-known/openid-configuration"), 1);
}
