//! Which member an identity is.

use porteiro_testkit::{Browser, Flow, nothing};
use serde_json::json;

use super::{Asked, World, world};
use crate::{
    oauth::driver::{parameter, userinfo, verifier},
    organizations::driver::{account_of, claims, join, organization},
    people::{PASSWORD, enrol_totp, register_with_password},
};

#[tokio::test]
async fn a_member_links_an_identity_by_a_proof_of_their_own_and_signs_in_by_it_from_then_on() {
    let world = world().await;
    let (_, _, member) = world.member("ana@example.test").await;
    let mut linked = world.link("ana-there", "ana@example.test").await;
    world.tokens(&mut linked).await;
    assert_eq!(linked.browser.get("/v1/account").await.status, 200, "the person proved their account too");
    assert!(world.rejected().await[0].starts_with("no member is linked to the identity"));

    let mut asked = world.vouched("ana-there", &[("scope", "openid profile email")]).await;
    assert_eq!(asked.flow.stage(), "consent", "nothing else is asked for");
    let shown = json!({"display_name": "A member", "masked_address": null, "locale": null});
    assert_eq!(asked.flow.now["account"], shown, "nothing of the account");
    let tokens = world.tokens(&mut asked).await;
    let said = claims(tokens["id_token"].as_str().unwrap());
    assert_eq!((&said["sub"], &said["amr"]), (&json!(member.to_string()), &json!(["fed"])));
    assert_eq!(said["acr"], "http://idmanagement.gov/ns/assurance/aal/1");
    assert_eq!(tokens["organization"], world.place.to_string());
    let told = userinfo(&world.app, tokens["access_token"].as_str().unwrap()).await.json();
    assert_eq!(told, json!({"sub": member.to_string(), "name": "A member"}), "nothing of the account");
    assert_eq!(world.provider.scope(), "openid profile email");
}

/// The directory says that its person has Ana's verified address: nothing follows from that.
#[tokio::test]
async fn an_identity_is_never_matched_by_its_address() {
    let world = world().await;
    world.member("ana@example.test").await;
    let asked = world.vouched("mallory-there", &[]).await;
    assert_eq!((asked.flow.stage(), asked.flow.offers()), ("claim", vec!["claim/existing"]));
    let host = world.provider.host();
    assert_eq!(asked.flow.now["claim"]["issuer_host"], host, "not only the name that somebody chose");
    assert!(asked.browser.session().is_none() && asked.browser.confined_session().is_none());
    assert_eq!(world.app.count("SELECT count(*) FROM directory_identity").await, 0);
}

#[tokio::test]
async fn an_account_that_is_no_member_links_nothing() {
    let world = world().await;
    let mut ben = register_with_password(&world.app, "ben@example.test").await;
    let elsewhere = organization(&world.app, "elsewhere").await;
    let account = account_of(&mut ben).await;
    join(&world.app, elsewhere, account, "owner").await;
    let asked = world.link("ben-there", "ben@example.test").await;
    assert_eq!(parameter(&asked.flow.now, "error").as_deref(), Some("access_denied"), "{}", asked.flow.now);
    assert_eq!(world.app.count("SELECT count(*) FROM directory_identity").await, 0);
    assert!(world.rejected().await[0].starts_with("the person signed in to an account that is not a member"));
}

/// Whose the identity is was decided before: another person gets nothing by it, and links nothing.
#[tokio::test]
async fn an_identity_is_one_members() {
    let world = world().await;
    let (_, _, ana) = world.member("ana@example.test").await;
    world.member("ben@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    let mut asked = world.vouched("ana-there", &[]).await;
    let tokens = world.tokens(&mut asked).await;
    assert_eq!(claims(tokens["id_token"].as_str().unwrap())["sub"], ana.to_string());
}

/// Two members claim one identity at the same time: both proved it, and one has it.
#[tokio::test]
async fn of_two_claims_of_one_identity_one_is_lost() {
    let world = world().await;
    for address in ["ana@example.test", "ben@example.test"] {
        world.member(address).await;
    }
    let mut claims = Vec::new();
    for address in ["ana@example.test", "ben@example.test"] {
        let Asked { mut browser, mut flow, .. } = world.vouched("shared-there", &[]).await;
        flow.act(&mut browser, "claim/existing", nothing()).await;
        let proof = json!({"identifier": address, "password": PASSWORD});
        flow.act(&mut browser, "password/check", proof).await;
        claims.push((browser, flow));
    }
    let mut statuses = Vec::new();
    for (mut browser, mut flow) in claims {
        statuses.push(flow.attempt(&mut browser, "claim/attach", nothing()).await.status.as_u16());
    }
    assert_eq!(statuses, [200, 422]);
    assert_eq!(world.app.count("SELECT count(*) FROM directory_identity").await, 1);
}

/// A password alone does not link for an account that has a second factor too.
#[tokio::test]
async fn an_identity_is_linked_like_a_credential_at_the_best_level_of_the_account() {
    let world = world().await;
    let (mut ana, _, _) = world.member("ana@example.test").await;
    let mut proving = ana.open(json!({"kind": "reauthenticate"})).await;
    proving.act(&mut ana, "password/check", json!({"password": PASSWORD})).await;
    enrol_totp(&mut ana).await;
    let Asked { mut browser, mut flow, .. } = world.vouched("ana-there", &[]).await;
    flow.act(&mut browser, "claim/existing", nothing()).await;
    let proof = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut browser, "password/check", proof).await;
    assert_eq!(flow.stage(), "raise", "{}", flow.now);
}

/// Somebody who is signed in and no member is not turned away, but led to the directory.
#[tokio::test]
async fn a_person_who_is_no_member_yet_is_offered_the_directory_also_when_signed_in() {
    let world = world().await;
    let ben = register_with_password(&world.app, "ben@example.test").await;
    let asked = world.ask(ben, &[]).await;
    assert_eq!((asked.flow.stage(), &asked.flow.now["account"]), ("authenticate", &json!(null)));
    assert!(asked.flow.offers().contains(&"federated/begin"));
    let silent = world.ask(asked.browser, &[("prompt", "none")]).await;
    assert_eq!(parameter(&silent.flow.now, "error").as_deref(), Some("access_denied"));
}

#[tokio::test]
async fn each_organization_offers_its_own_connections_only() {
    let world = world().await;
    organization(&world.app, "other").await;
    let asked = world.ask(Browser::new(&world.app), &[]).await;
    let offered = json!([{"id": world.connection, "name": "Acme directory"}]);
    assert_eq!(asked.flow.now["connections"], offered);
    assert_eq!(asked.flow.now["stage"], "authenticate");
    for more in [[("organization", "other")], [("organization", "")]] {
        let mut asked = ask_for(&world, &more).await;
        assert!(asked.flow.now.get("connections").is_none(), "{}", asked.flow.now);
        let path = json!({"connection": world.connection});
        let refused = asked.flow.attempt(&mut asked.browser, "federated/begin", path).await;
        assert_eq!(refused.json()["code"], "unknown_action", "{}", refused.text());
    }
    let mut browser = Browser::new(&world.app);
    let flow = browser.open(json!({"kind": "sign_in"})).await;
    assert!(flow.now.get("connections").is_none());
}

async fn ask_for(world: &World, more: &[(&str, &str)]) -> Asked {
    let (mut browser, verifier) = (Browser::new(&world.app), verifier());
    let answer = world.client.ask(&mut browser, &verifier, more).await;
    Asked { browser, flow: Flow::new(answer.json()), verifier }
}
