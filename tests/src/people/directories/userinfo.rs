//! Directories whose ID tokens say too little about a newcomer (docs/decisions/0139): the userinfo endpoint is asked, once,
//! and believed only about the subject of the ID token.

use http::Method;
use porteiro_testkit::{Browser, nothing};
use serde_json::{Value, json};

use super::{World, entering::joining};
use crate::{organizations::driver::call, people::federation::provider::Userinfo};

/// A directory that says addresses only at its userinfo endpoint. Its metadata are read again after the change.
async fn terse(userinfo: Userinfo) -> World {
    let world = joining("verified").await;
    world.provider.bend_claims(json!({"email": null, "email_verified": null}));
    world.provider.userinfo(userinfo);
    assert_eq!(world.change(json!({"jit_role": "member"})).await.status, 200);
    world
}

async fn offers(world: &World, subject: &str) -> Vec<String> {
    let asked = world.vouched(subject, &[]).await;
    asked.flow.offers().into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn somebody_new_joins_by_what_the_userinfo_endpoint_says_and_it_is_asked_once() {
    let world = terse(Userinfo::Says(json!({"name": "Ana Souza"}))).await;
    let mut asked = world.vouched("new-there", &[]).await;
    assert_eq!(asked.flow.offers(), ["claim/new", "claim/existing"], "{:?}", world.rejected().await);
    assert_eq!(asked.flow.now["claim"]["identity"], "ana@example.test");
    asked.flow.act(&mut asked.browser, "claim/new", nothing()).await;
    world.tokens(&mut asked).await;
    let named = "SELECT count(*) FROM membership WHERE display_name = 'Ana Souza' AND source = 'jit'";
    assert_eq!(world.app.count(named).await, 1);
    assert_eq!(world.provider.heard("/userinfo"), 1);
    // A member is known by the subject.
    let mut again = world.vouched("new-there", &[]).await;
    world.tokens(&mut again).await;
    assert_eq!(world.provider.heard("/userinfo"), 1);
}

#[tokio::test]
async fn it_is_not_asked_where_the_id_token_is_enough_or_nobody_joins() {
    let world = terse(Userinfo::Says(json!({}))).await;
    world.provider.bend_claims(json!({}));
    assert_eq!(offers(&world, "complete").await, ["claim/new", "claim/existing"]);
    // The directory said that the address is not verified; there is nothing to look for.
    world.provider.bend_claims(json!({"email_verified": false}));
    assert_eq!(offers(&world, "unverified").await, ["claim/existing"]);
    world.provider.bend_claims(json!({"email": null, "email_verified": null}));
    assert_eq!(world.change(json!({})).await.status, 200);
    assert_eq!(offers(&world, "nobody-joins").await, ["claim/existing"]);
    assert_eq!(world.provider.heard("/userinfo"), 0);
}

#[tokio::test]
async fn an_answer_about_another_subject_refuses_the_sign_in() {
    let world = terse(Userinfo::Says(json!({"sub": "somebody-else"}))).await;
    for (number, sub) in [json!("somebody-else"), json!(null), json!("new-there ")].into_iter().enumerate() {
        world.provider.userinfo(Userinfo::Says(json!({"sub": sub})));
        let mut asked = world.ask(Browser::new(&world.app), &[]).await;
        let answer = world.go(&mut asked, "new-there").await;
        let refused = asked.flow.attempt(&mut asked.browser, "federated/finish", answer).await;
        assert_eq!(refused.json()["code"], "refused", "{}", refused.text());
        let why = world.rejected().await;
        assert_eq!(why.len(), number + 1);
        assert!(why[0].contains("its sub is not that of the ID token"), "{why:?}");
    }
    assert_eq!(world.app.count("SELECT count(*) FROM account").await, 0);
}

/// A member who links an identity needs nothing of it.
#[tokio::test]
async fn an_endpoint_that_cannot_be_read_admits_nobody_new_and_stops_no_member() {
    let world = terse(Userinfo::Fails).await;
    let answers = [Userinfo::Fails, Userinfo::Slow, Userinfo::Huge, Userinfo::Signed];
    for (number, userinfo) in answers.into_iter().enumerate() {
        world.provider.userinfo(userinfo.clone());
        let found = offers(&world, &format!("somebody-{number}")).await;
        assert_eq!(found, ["claim/existing"], "{userinfo:?}");
        let why = world.rejected().await;
        assert_eq!(why.len(), number + 1);
        assert!(why[0].contains("asserts no address"), "{why:?}");
        assert!(why[0].contains("could not be read: it must answer"), "{why:?}");
    }
    world.member("ana@example.test").await;
    let mut asked = world.link("ana-there", "ana@example.test").await;
    world.tokens(&mut asked).await;
}

/// Otherwise whoever may choose their own address at userinfo could borrow the word about it.
#[tokio::test]
async fn the_id_token_wins_and_the_word_about_one_address_is_not_that_about_another() {
    let world = terse(Userinfo::Says(json!({"email": "ana@evil.test"}))).await;
    world.provider.bend_claims(json!({"email_verified": null}));
    assert_eq!(offers(&world, "one").await, ["claim/existing"]);
    assert!(world.rejected().await[0].contains("does not say that the address is verified"));
    world.provider.bend_claims(json!({"email": "ana@evil.test", "email_verified": null}));
    world.provider.userinfo(Userinfo::Says(json!({"email": "ana@example.test"})));
    assert_eq!(offers(&world, "two").await, ["claim/existing"]);
    world.provider.bend_claims(json!({"email_verified": null}));
    assert_eq!(offers(&world, "three").await, ["claim/new", "claim/existing"]);
}

#[tokio::test]
async fn an_endpoint_under_another_domain_is_not_asked_and_the_test_says_so() {
    let world = terse(Userinfo::Says(json!({}))).await;
    let path = format!("/v1/organizations/{}/connections/{}/test", world.place, world.connection);
    let step = async |world: &World| -> Value {
        let answer = call(&world.app, Method::POST, &path, &world.key, Some(&json!({})), &[]).await.json();
        assert_eq!(answer["ok"], true, "{answer}");
        answer["steps"].as_array().unwrap().last().unwrap().clone()
    };
    let found = step(&world).await;
    assert_eq!(found["step"], "userinfo");
    let there = format!("{}/userinfo", world.provider.issuer());
    assert!(found["explanation"].as_str().unwrap().contains(&there), "{found}");
    world.provider.bend_metadata(json!({"userinfo_endpoint": "http://127.0.0.2:1/userinfo"}));
    assert_eq!(world.change(json!({"jit_role": "member"})).await.status, 200);
    let found = step(&world).await;
    assert!(found["explanation"].as_str().unwrap().contains("is not at the issuer's domain"), "{found}");
    assert_eq!(offers(&world, "somebody").await, ["claim/existing"]);
    assert_eq!(world.provider.heard("/userinfo"), 0);
    let why = &world.rejected().await[0];
    assert!(why.contains("asserts no address") && !why.contains("could not be read"), "{why}");
    world.provider.bend_metadata(json!({}));
    assert_eq!(world.change(json!({"jit_role": "member"})).await.status, 200);
    assert!(step(&world).await["explanation"].as_str().unwrap().contains("names no userinfo_endpoint"));
}
