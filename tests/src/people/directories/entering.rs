//! Entry of people whom the organization does not know yet (docs/decisions/0131).

use http::Method;
use porteiro_testkit::nothing;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Asked, World, world_with};
use crate::{
    organizations::driver::{account_of, call, claims, get, organization_key},
    people::{PASSWORD, register_with_password},
};

/// The provider says that everybody is ana@example.test, verified.
pub async fn joining(state: &str) -> World {
    let world = world_with(json!({"jit_role": "member"})).await;
    domain(&world, "example.test", state).await;
    world
}

pub async fn domain(world: &World, name: &str, state: &str) {
    world
        .app
        .sql(&format!(
            "INSERT INTO organization_domain (organization_id, domain_id, name, value, state)
             VALUES ('{}', gen_random_uuid(), '{name}', 'x', '{state}')
             ON CONFLICT (organization_id, name) DO UPDATE SET state = excluded.state",
            world.place
        ))
        .await;
}

fn subject(tokens: &Value) -> String {
    claims(tokens["id_token"].as_str().unwrap())["sub"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_person_joins_with_a_new_account_where_a_verified_domain_vouches_for_the_address() {
    let world = joining("verified").await;
    let mut ana = register_with_password(&world.app, "ana@example.test").await;
    let mut asked = world.vouched("new-there", &[]).await;
    assert_eq!((asked.flow.stage(), asked.flow.offers()), ("claim", vec!["claim/new", "claim/existing"]));
    asked.flow.act(&mut asked.browser, "claim/new", nothing()).await;
    let first = world.tokens(&mut asked).await;
    assert_eq!(asked.browser.get("/v1/account").await.status, 401, "only the directory vouches");
    let mut again = world.vouched("new-there", &[]).await;
    let second = world.tokens(&mut again).await;
    assert_eq!(subject(&first), subject(&second));
    assert!(world.rejected().await.is_empty());
    // Nothing happened to the account that has the address.
    let ana = account_of(&mut ana).await;
    let hers = format!("SELECT count(*) FROM membership WHERE account_id = '{ana}'");
    assert_eq!(world.app.count(&hers).await, 0);
    assert_eq!(world.app.count("SELECT count(*) FROM account").await, 2);
    let bare = "SELECT count(*) FROM credential JOIN membership USING (account_id)";
    assert_eq!(world.app.count(bare).await, 0, "the new account has no address");
    let source = "SELECT count(*) FROM membership WHERE source = 'jit' AND state = 'active'";
    assert_eq!(world.app.count(source).await, 1);
    let named = "SELECT count(*) FROM membership WHERE source = 'jit' AND display_name LIKE '%@%'";
    assert_eq!(world.app.count(named).await, 0, "an address is no name");
}

#[tokio::test]
async fn an_account_that_could_never_reach_the_level_is_not_made() {
    let world = joining("verified").await;
    let place = world.place;
    let policy = "jsonb_set(policy, '{min_level}', '\"aal2\"')";
    world
        .app
        .sql(&format!("UPDATE organization SET policy = {policy} WHERE organization_id = '{place}'"))
        .await;
    let asked = world.vouched("new-there", &[]).await;
    assert_eq!((asked.flow.stage(), asked.flow.offers()), ("claim", vec!["claim/existing"]));
}

#[tokio::test]
async fn a_person_who_uses_the_service_joins_with_their_own_account() {
    let world = joining("verified").await;
    let mut ben = register_with_password(&world.app, "ben@other.test").await;
    let account = account_of(&mut ben).await;
    let mut asked = world.vouched("ben-there", &[]).await;
    let Asked { browser, flow, .. } = &mut asked;
    flow.act(browser, "claim/existing", nothing()).await;
    let proof = json!({"identifier": "ben@other.test", "password": PASSWORD});
    flow.act(browser, "password/check", proof).await;
    assert_eq!(flow.now["claim"]["identity"], "ana@example.test", "as the directory calls them");
    flow.act(browser, "claim/attach", nothing()).await;
    if flow.stage() == "enrol" {
        flow.act(browser, "enrol/skip", nothing()).await;
    }
    world.tokens(&mut asked).await;
    let his = format!("SELECT count(*) FROM membership WHERE account_id = '{account}' AND state = 'active'");
    assert_eq!(world.app.count(&his).await, 1);
    assert_eq!(world.app.count("SELECT count(*) FROM account").await, 1);
}

/// Each reason tells the administrator what to change.
#[tokio::test]
async fn nobody_joins_without_a_verified_domain_and_a_verified_address() {
    let world = joining("pending").await;
    let pending = "the organization has not verified the domain example.test";
    let mut cases = vec![(json!({}), "pending", pending), (json!({}), "lapsed", pending)];
    cases.extend([
        (json!({"email": null}), "verified", "asserts no address"),
        (json!({"email_verified": false}), "verified", "mark the connection as authoritative"),
        (json!({"email_verified": null}), "verified", "mark the connection as authoritative"),
        (json!({"email": "ana@sub.example.test"}), "verified", "the domain sub.example.test"),
        (json!({"email": "ana@example.test@evil.test"}), "verified", "asserts no address"),
    ]);
    for (number, (bent, state, words)) in cases.into_iter().enumerate() {
        domain(&world, "example.test", state).await;
        world.provider.bend_claims(bent.clone());
        let asked = world.vouched(&format!("somebody-{number}"), &[]).await;
        assert_eq!(asked.flow.offers(), ["claim/existing"], "{bent}");
        let why = world.rejected().await;
        assert_eq!(why.len(), number + 1);
        assert!(why[0].contains(words), "{why:?}");
    }
    world.provider.bend_claims(json!({"email_verified": null}));
    let changed = world.change(json!({"jit_role": "member", "authoritative": true})).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let asked = world.vouched("somebody", &[]).await;
    assert_eq!(asked.flow.offers(), ["claim/new", "claim/existing"]);
    assert_eq!(world.change(json!({})).await.status, 200);
    world.vouched("somebody", &[]).await;
    assert!(world.rejected().await[0].contains("set jit_role"));
}

/// What was offered is decided again when the person takes it.
#[tokio::test]
async fn a_domain_that_lapses_meanwhile_admits_nobody() {
    let world = joining("verified").await;
    let mut asked = world.vouched("new-there", &[]).await;
    domain(&world, "example.test", "lapsed").await;
    asked.flow.act(&mut asked.browser, "claim/new", nothing()).await;
    assert_eq!(asked.flow.stage(), "authenticate", "{}", asked.flow.now);
    assert_eq!(world.app.count("SELECT count(*) FROM account").await, 0);
    assert_eq!(world.app.count("SELECT count(*) FROM membership").await, 0);
    assert_eq!(world.rejected().await.len(), 1);
}

#[tokio::test]
async fn one_identity_becomes_one_account_however_often_it_is_claimed_at_once() {
    let world = joining("verified").await;
    let mut racing = JoinSet::new();
    for _ in 0..6 {
        let Asked { mut browser, mut flow, .. } = world.vouched("new-there", &[]).await;
        racing.spawn(async move { flow.attempt(&mut browser, "claim/new", nothing()).await.status.as_u16() });
    }
    let statuses = racing.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    for table in ["account", "membership", "directory_identity"] {
        assert_eq!(world.app.count(&format!("SELECT count(*) FROM {table}")).await, 1, "{table}");
    }
}

/// Their identity was unlinked with the membership, so they are asked as everybody is.
#[tokio::test]
async fn a_former_member_who_proves_their_account_gets_the_old_membership_back() {
    let world = joining("verified").await;
    world.member("ana@example.test").await;
    let mut asked = world.link("ana-there", "ana@example.test").await;
    let before = world.tokens(&mut asked).await;
    let key = organization_key(&world.app, world.place, &["members:*", "organization:*"]).await;
    let one = format!("/v1/organizations/{}/members/{}", world.place, subject(&before));
    let tag = get(&world.app, &one, &key).await.headers["etag"].to_str().unwrap().to_owned();
    let gone = call(&world.app, Method::DELETE, &one, &key, None, &[("if-match", &tag)]).await;
    assert!(gone.status.is_success(), "{}", gone.text());
    let mut back = world.link("ana-there", "ana@example.test").await;
    assert_eq!(subject(&world.tokens(&mut back).await), subject(&before));
}

/// Whoever must stay out is disabled, not removed.
#[tokio::test]
async fn a_disabled_member_does_not_join_again() {
    let world = joining("verified").await;
    let (.., member) = world.member("ana@example.test").await;
    let key = organization_key(&world.app, world.place, &["members:*", "organization:*"]).await;
    let path = format!("/v1/organizations/{}/members/{member}/disable", world.place);
    let gone = call(&world.app, Method::POST, &path, &key, Some(&json!({})), &[]).await;
    assert!(gone.status.is_success(), "{}", gone.text());
    world.link("ana-there", "ana@example.test").await;
    assert!(world.rejected().await[0].contains("disabled"));
    assert_eq!(world.app.count("SELECT count(*) FROM directory_identity").await, 0);
}

/// Whoever is leaving neither joins nor links an identity.
#[tokio::test]
async fn an_account_that_is_being_deleted_is_not_linked() {
    let world = joining("verified").await;
    register_with_password(&world.app, "ben@other.test").await;
    world.member("ana@other.test").await;
    world.app.sql("UPDATE account SET deletion_at = now() + interval '14 days'").await;
    for (subject, address) in [("ben-there", "ben@other.test"), ("ana-there", "ana@other.test")] {
        let mut asked = world.vouched(subject, &[]).await;
        let Asked { browser, flow, .. } = &mut asked;
        flow.act(browser, "claim/existing", nothing()).await;
        flow.act(browser, "password/check", json!({"identifier": address, "password": PASSWORD})).await;
        flow.act(browser, "claim/attach", nothing()).await;
        let why = &world.rejected().await[0];
        assert!(why.contains("cannot be linked now"), "{why}");
    }
    assert_eq!(world.app.count("SELECT count(*) FROM directory_identity").await, 0);
    assert_eq!(world.app.count("SELECT count(*) FROM membership").await, 1);
    world.app.sql("UPDATE account SET deletion_at = NULL").await;
    world.link("ben-there", "ben@other.test").await;
    assert_eq!(world.app.count("SELECT count(*) FROM membership").await, 2);
}
