//! The directory signs a person out: what rested on it ends, by its own word alone (docs/decisions/0130).

use porteiro_protocol::time::Duration;
use porteiro_testkit::{Browser, nothing};
use serde_json::{Value, json};

use super::{World, world};
use crate::{
    oauth::driver::{parameter, verifier},
    people::PASSWORD,
};

async fn told(world: &World, claims: &Value) -> (u16, Value) {
    told_token(world, &world.provider.logout_token(claims)).await
}

async fn told_token(world: &World, token: &str) -> (u16, Value) {
    let path = format!("/connect/federation/{}/{}/logout", world.place, world.connection);
    let answer = world.app.form(&path, format!("logout_token={token}")).await;
    assert_eq!(answer.headers["cache-control"], "no-store");
    (answer.status.as_u16(), serde_json::from_slice(&answer.body).unwrap_or_default())
}

async fn linked() -> World {
    let world = world().await;
    world.member("ana@example.test").await;
    world.provider.bend_claims(json!({"sid": "first"}));
    world.link("ana-there", "ana@example.test").await;
    world
}

/// Ana signs in by the directory, in its session `sid`.
async fn signed_in(world: &World, sid: &str, more: &[(&str, &str)]) -> (Browser, Value) {
    world.provider.bend_claims(json!({"sid": sid}));
    let mut asked = world.vouched("ana-there", more).await;
    let tokens = world.tokens(&mut asked).await;
    (asked.browser, tokens)
}

async fn is_in(world: &World, browser: &mut Browser) -> bool {
    world.app.forget_limits().await;
    let silent = [("organization", "acme"), ("prompt", "none")];
    let answer = world.client.ask(browser, &verifier(), &silent).await.json();
    parameter(&answer, "code").is_some()
}

#[tokio::test]
async fn a_session_of_the_directory_ends_what_rests_on_it_and_nothing_else() {
    let world = linked().await;
    let (mut one, tokens) = signed_in(&world, "one", &[]).await;
    let (mut two, others) = signed_in(&world, "two", &[]).await;
    assert_eq!(told(&world, &json!({"sid": "one"})).await.0, 200);
    assert!(!is_in(&world, &mut one).await && is_in(&world, &mut two).await);
    let active = async |tokens: &Value| {
        let form = [("token", tokens["access_token"].as_str().unwrap())];
        world.client.call(&world.app, "/connect/introspect", &form).await.json()["active"].clone()
    };
    assert_eq!((active(&tokens).await, active(&others).await), (json!(false), json!(true)));
    // Of another person, and of nobody.
    assert_eq!(told(&world, &json!({"sid": "two", "sub": "ben-there"})).await.0, 200);
    assert_eq!(told(&world, &json!({"sid": "unknown"})).await.0, 200);
    assert!(is_in(&world, &mut two).await);
    assert_eq!(told(&world, &json!({"sid": "two", "sub": "ana-there"})).await.0, 200);
    assert!(!is_in(&world, &mut two).await);
}

#[tokio::test]
async fn a_subject_ends_all_its_sessions_but_no_grant_for_offline_access() {
    let world = linked().await;
    let offline = [("scope", "openid offline_access")];
    let (mut one, tokens) = signed_in(&world, "one", &offline).await;
    let (mut two, _) = signed_in(&world, "two", &[]).await;
    assert_eq!(told(&world, &json!({"sub": "ana-there"})).await.0, 200);
    assert!(!is_in(&world, &mut one).await && !is_in(&world, &mut two).await);
    let refreshed = world.client.refresh(&world.app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.text());
}

/// The account is not the directory's to sign out.
#[tokio::test]
async fn a_session_of_the_account_stays_and_loses_what_the_directory_vouched_for() {
    let world = linked().await;
    world.provider.bend_claims(json!({"sid": "both"}));
    let mut asked = world.ask(Browser::new(&world.app), &[]).await;
    let mut other_tab = asked.browser.open(json!({"kind": "sign_in"})).await;
    let proof = json!({"identifier": "ana@example.test", "password": PASSWORD});
    other_tab.act(&mut asked.browser, "password/check", proof).await;
    other_tab.act(&mut asked.browser, "enrol/skip", nothing()).await;
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    let tokens = world.tokens(&mut asked).await;
    assert_eq!(told(&world, &json!({"sid": "both"})).await.0, 200);
    assert_eq!(asked.browser.get("/v1/account").await.status, 200);
    let form = [("token", tokens["access_token"].as_str().unwrap())];
    let told = world.client.call(&world.app, "/connect/introspect", &form).await.json();
    assert_eq!(told["active"], false);
    let left = "SELECT count(*) FROM session WHERE ended_at IS NULL AND proofs::text LIKE '%\"both\"%'";
    assert_eq!(world.app.count(left).await, 0);
}

#[tokio::test]
async fn a_logout_token_counts_once() {
    let world = linked().await;
    let (mut one, _) = signed_in(&world, "one", &[]).await;
    for more in [json!({"sub": "ana-there"}), json!({"sub": "ana-there", "exp": 253_402_300_799_i64})] {
        let token = world.provider.logout_token(&more);
        assert_eq!(told_token(&world, &token).await.0, 200);
        assert!(!is_in(&world, &mut one).await);
        let (mut later, _) = signed_in(&world, "one", &[]).await;
        world.app.clock.advance(Duration::seconds(2));
        let (status, body) = told_token(&world, &token).await;
        assert_eq!((status, &body["error_description"]), (400, &json!("the logout token was used before")));
        assert!(is_in(&world, &mut later).await);
    }
}

/// The session goes on with the new proof; what the old one gave does not.
#[tokio::test]
async fn a_session_there_ends_what_it_gave_although_the_person_came_again_since() {
    let world = linked().await;
    let (browser, tokens) = signed_in(&world, "one", &[]).await;
    world.provider.bend_claims(json!({"sid": "two", "auth_time": world.provider.now()}));
    let mut asked = world.ask(browser, &[("prompt", "login")]).await;
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    world.tokens(&mut asked).await;
    assert_eq!(told(&world, &json!({"sid": "one"})).await.0, 200);
    let form = [("token", tokens["access_token"].as_str().unwrap())];
    let told = world.client.call(&world.app, "/connect/introspect", &form).await.json();
    assert_eq!(told["active"], false);
    assert!(is_in(&world, &mut asked.browser).await);
}

#[tokio::test]
async fn what_is_not_a_logout_token_of_this_directory_for_us_ends_nothing() {
    let world = linked().await;
    let (mut browser, tokens) = signed_in(&world, "one", &[]).await;
    for (more, cause) in [
        (json!({"nonce": "n"}), "the logout token has a nonce, so it is an ID token"),
        (json!({"events": null}), "events does not say that it is a logout token"),
        (json!({"aud": "another"}), "the logout token is for another client"),
        (json!({"iss": "https://other.example.test"}), "the logout token is of another issuer"),
        (json!({"iat": 1}), "the logout token has expired, is too old, or has no iat or exp"),
        (json!({"jti": null}), "the logout token has no jti"),
        (json!({"sub": null}), "the logout token names neither a subject nor a session"),
    ] {
        let mut claims = json!({"sub": "ana-there"});
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let (status, body) = told(&world, &claims).await;
        assert_eq!((status, body["error_description"].as_str()), (400, Some(cause)), "{more}");
    }
    let mut forged = world.provider.logout_token(&json!({"sub": "ana-there"}));
    forged.truncate(forged.len() - 4);
    assert_eq!(told_token(&world, &forged).await.0, 400);
    assert_eq!(told_token(&world, tokens["id_token"].as_str().unwrap()).await.0, 400, "our own");
    assert_eq!(told_token(&world, "").await.0, 400);
    let token = world.provider.logout_token(&json!({"sub": "ana-there"}));
    let path = format!("/connect/federation/{}/logout", world.connection);
    let elsewhere = world.app.form(&path, format!("logout_token={token}")).await;
    assert_eq!(elsewhere.status, 400, "not a connection of the deployment");
    assert!(is_in(&world, &mut browser).await);
    let changed = world.change(json!({"enabled": false})).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let (status, body) = told_token(&world, &token).await;
    assert_eq!((status, &body["error_description"]), (400, &json!("the connection is unknown or disabled")));
}
