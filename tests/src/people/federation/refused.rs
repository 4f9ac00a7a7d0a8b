//! Every way in which a provider or a man in the middle breaks a rule: refused, with a cause in the log.

use porteiro_protocol::time::Clock;
use serde_json::{Value, json};

use super::{
    Browser, World, connect,
    provider::{Fault, Provider},
    register_with_password, world, world_with,
};

/// Ana, linked; and what the provider does to the sign-in of a person who is linked.
async fn linked() -> World {
    let world = world().await;
    let mut ana = register_with_password(&world.app, "ana@example.test").await;
    world.link(&mut ana, "ana-there").await;
    world
}

/// Signs in, and returns the cause of the refusal.
async fn refused(world: &World, subject: &str, more: Value) -> String {
    let before = world.reasons().await;
    let (mut browser, mut flow, mut answer) = world.begin(subject).await;
    for (name, value) in more.as_object().into_iter().flatten() {
        answer[name] = value.clone();
    }
    let answer = flow.attempt(&mut browser, "federated/finish", answer).await;
    assert_eq!(answer.status, 422, "{}", answer.text());
    assert!(browser.session().is_none());
    // The clock of the test stands still, so entries of the log have no order.
    let mut after = world.reasons().await;
    for known in before {
        let place = after.iter().position(|reason| *reason == known).unwrap();
        after.remove(place);
    }
    assert_eq!(after.len(), 1, "{after:?}");
    after.remove(0)
}

#[tokio::test]
async fn a_claim_that_is_not_for_this_request_is_refused_by_its_name() {
    let world = linked().await;
    let now = world.app.clock.now().unix_timestamp();
    for (claims, cause) in [
        (json!({"iss": "https://other.example.test"}), "the ID token is of another issuer"),
        (json!({"aud": "another client"}), "the ID token is for another client"),
        (json!({"aud": [super::CLIENT, "another client"]}), "the ID token is for another client"),
        (json!({"azp": "another client"}), "the ID token is for another client"),
        (json!({"nonce": "another"}), "the ID token answers another request"),
        (json!({"nonce": null}), "the ID token answers another request"),
        (json!({"exp": now - 60}), "the ID token has expired or is too old"),
        (json!({"iat": now - 400}), "the ID token has expired or is too old"),
        (json!({"iat": now + 400}), "the ID token is from the future"),
        (json!({"sub": ""}), "the ID token has no usable subject"),
    ] {
        world.provider.bend_claims(claims.clone());
        assert_eq!(refused(&world, "ana-there", json!({})).await, cause, "{claims}");
    }
    world.provider.bend_claims(json!({}));
    let (mut browser, mut flow, answer) = world.begin("ana-there").await;
    flow.act(&mut browser, "federated/finish", answer).await;
    assert_eq!(flow.stage(), "complete", "and a good one is accepted afterwards");
}

#[tokio::test]
async fn a_token_that_the_pinned_key_and_algorithm_did_not_sign_is_refused() {
    let world = linked().await;
    let unpinned = "the ID token is not signed with the connection's algorithm";
    for (fault, cause) in [
        (Fault::NoneAlgorithm, unpinned),
        (Fault::PublicKeyAsSecret, unpinned),
        (Fault::OtherAlgorithm, unpinned),
        (Fault::UnknownKey, "the ID token is signed with an unknown key"),
        (Fault::SwappedSubject, "the signature of the ID token is wrong"),
        (Fault::NoIdToken, "the provider returned no ID token"),
    ] {
        world.provider.fail(Some(fault));
        assert_eq!(refused(&world, "mallory-there", json!({})).await, cause, "{fault:?}");
    }
}

#[tokio::test]
async fn a_slow_huge_or_redirecting_provider_is_refused_in_seconds() {
    let world = linked().await;
    for fault in [Fault::Slow, Fault::Huge, Fault::Redirect] {
        world.provider.fail(Some(fault));
        let started = std::time::Instant::now();
        let cause = refused(&world, "ana-there", json!({})).await;
        assert_eq!(cause, "the provider did not exchange the code", "{fault:?}");
        assert!(started.elapsed().as_secs() < 5, "{fault:?}");
    }
}

#[tokio::test]
async fn an_answer_with_the_issuer_of_another_or_none_where_one_is_announced_is_refused() {
    let world = linked().await;
    let other = json!({"iss": "https://other.example.test"});
    assert_eq!(refused(&world, "ana-there", other).await, "the answer names another issuer");
    let before = world.provider.heard("/token");
    let announced = world_with(&[]).await;
    announced.provider.bend_metadata(json!({"authorization_response_iss_parameter_supported": true}));
    assert_eq!(refused(&announced, "ana-there", json!({})).await, "the answer names another issuer");
    assert_eq!(
        (world.provider.heard("/token"), announced.provider.heard("/token")),
        (before, 0),
        "no code is sent"
    );
}

/// RFC 9700 §4.4: the answer of one provider is brought to the address of another, whose code it would then get.
#[tokio::test]
async fn a_mix_up_between_two_connections_sends_no_code_to_either() {
    let mallory = Provider::start().await;
    let world = world_with(&[&mallory]).await;
    let theirs = connect(&world.app, &world.key, &mallory).await;
    let before = (world.provider.heard("/token"), mallory.heard("/token"));
    let cause = refused(&world, "ana-there", json!({"connection": theirs})).await;
    assert_eq!(cause, "the answer arrived at the address of another connection");
    // Asked of Mallory, answered by the honest provider.
    let mut browser = Browser::new(&world.app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "federated/begin", json!({"connection": theirs})).await;
    let to = flow.now["challenge"]["redirect_to"].as_str().unwrap().to_owned();
    let mut answer = mallory.answer(&to, "mallory-there");
    answer["connection"] = json!(world.connection);
    assert_eq!(flow.attempt(&mut browser, "federated/finish", answer).await.status, 422);
    assert_eq!((world.provider.heard("/token"), mallory.heard("/token")), before);
}

/// Two providers may have the same subject: that is two identities.
#[tokio::test]
async fn the_same_subject_at_another_provider_is_another_person() {
    let mallory = Provider::start().await;
    let world = world_with(&[&mallory]).await;
    let mut ana = register_with_password(&world.app, "ana@example.test").await;
    world.link(&mut ana, "ana-there").await;
    let theirs = connect(&world.app, &world.key, &mallory).await;
    let mut browser = Browser::new(&world.app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "federated/begin", json!({"connection": theirs})).await;
    let to = flow.now["challenge"]["redirect_to"].as_str().unwrap().to_owned();
    let answer = mallory.answer(&to, "ana-there");
    assert_eq!(flow.attempt(&mut browser, "federated/finish", answer).await.status, 422);
    assert_eq!(world.reasons().await, ["the identity is not linked to an account"]);
}

#[tokio::test]
async fn the_providers_own_refusal_ends_only_the_attempt() {
    let world = linked().await;
    let cause = refused(&world, "ana-there", json!({"code": null, "error": "access_denied"})).await;
    assert_eq!(cause, "the provider refused");
}
