//! How recently the directory must have authenticated the person (OpenID Connect Core §3.1.2.1).

use http::Method;
use porteiro_testkit::Browser;
use serde_json::{Value, json};

use super::{World, world};
use crate::{
    oauth::driver::{parameter, verifier},
    organizations::driver::{call, claims, get},
};

async fn linked() -> World {
    let world = world().await;
    world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    world
}

/// Asks, goes to the directory and comes back.
async fn attempt(world: &World, more: &[(&str, &str)]) -> (u16, Value) {
    let mut asked = world.ask(Browser::new(&world.app), more).await;
    let answer = world.go(&mut asked, "ana-there").await;
    let answer = asked.flow.attempt(&mut asked.browser, "federated/finish", answer).await;
    (answer.status.as_u16(), answer.json())
}

#[tokio::test]
async fn max_age_and_login_are_passed_on_and_the_directory_says_that_it_did_so() {
    let world = linked().await;
    let now = world.provider.now();
    for (more, max_age, prompt, oldest) in [
        ([("max_age", "300")], "300", None, 300),
        ([("prompt", "login")], "0", Some("login"), 0),
        ([("max_age", "0")], "0", None, 0),
    ] {
        world.provider.bend_claims(json!({}));
        let (status, _) = attempt(&world, &more).await;
        assert_ne!(status, 200, "{more:?}");
        assert_eq!(world.provider.sent("max_age").as_deref(), Some(max_age));
        assert_eq!(world.provider.sent("prompt").as_deref(), prompt);
        assert!(world.rejected().await[0].ends_with("its ID token has no auth_time"));
        world.provider.bend_claims(json!({"auth_time": now - oldest - 100}));
        let (status, _) = attempt(&world, &more).await;
        assert_ne!(status, 200, "{more:?}");
        assert!(world.rejected().await[0].ends_with("the auth_time of its ID token is too old"));
        world.provider.bend_claims(json!({"auth_time": now}));
        let (status, flow) = attempt(&world, &more).await;
        assert_eq!((status, &flow["stage"]), (200, &json!("consent")), "{flow}");
    }
}

#[tokio::test]
async fn what_the_organization_requires_is_passed_on_too() {
    let world = linked().await;
    let path = format!("/v1/organizations/{}/policy", world.place);
    let tag = get(&world.app, &path, &world.key).await.headers["etag"].to_str().unwrap().to_owned();
    let body = json!({"max_age": 600});
    let set = call(&world.app, Method::PUT, &path, &world.key, Some(&body), &[("if-match", &tag)]).await;
    assert_eq!(set.status, 200, "{}", set.text());
    world.provider.bend_claims(json!({"auth_time": world.provider.now()}));
    assert_eq!(attempt(&world, &[]).await.1["stage"], "consent");
    assert_eq!(world.provider.sent("max_age").as_deref(), Some("600"));
    assert_eq!(attempt(&world, &[("max_age", "60")]).await.0, 200);
    assert_eq!(world.provider.sent("max_age").as_deref(), Some("60"));
}

/// Nothing was asked for, and the directory said nothing: the person may have authenticated there a year ago.
#[tokio::test]
async fn a_time_that_the_directory_did_not_say_satisfies_no_max_age_later() {
    let world = linked().await;
    let mut asked = world.vouched("ana-there", &[]).await;
    assert_eq!(world.provider.sent("max_age"), None);
    let tokens = world.tokens(&mut asked).await;
    let said = claims(tokens["id_token"].as_str().unwrap());
    assert!(said.get("auth_time").is_none(), "{said}");
    let silent = [("organization", "acme"), ("prompt", "none")];
    let hint = tokens["id_token"].as_str().unwrap();
    let aged = [silent[0], silent[1], ("max_age", "31536000")];
    let answer = world.client.ask(&mut asked.browser, &verifier(), &aged).await.json();
    assert_eq!(parameter(&answer, "error").as_deref(), Some("login_required"), "{answer}");
    let hinted = [silent[0], silent[1], ("id_token_hint", hint)];
    let answer = world.client.ask(&mut asked.browser, &verifier(), &hinted).await.json();
    assert!(parameter(&answer, "code").is_some(), "{answer}");
}
