//! People whom SCIM provisioned claim that membership at their first sign-in (docs/decisions/0131).

use porteiro_testkit::nothing;
use serde_json::{Value, json};

use super::{Asked, World, entering::domain, world_with};
use crate::{
    organizations::driver::{account_of, claims, organization_key},
    people::{PASSWORD, register_with_password},
    scim::driver::Directory,
};

/// An organization whose directory provisions its people, and by which they sign in.
async fn provisioning() -> (World, Directory) {
    let world = world_with(json!({})).await;
    world.app.sql("UPDATE organization_connection SET match_provisioned = true").await;
    let directory = Directory::new(&world.app, world.place).await;
    (world, directory)
}

fn subject(tokens: &Value) -> String {
    claims(tokens["id_token"].as_str().unwrap())["sub"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_provisioned_person_claims_their_membership_with_a_new_account() {
    let (world, directory) = provisioning().await;
    let id = directory.user("ana").await;
    let mut asked = world.vouched("x-ana", &[]).await;
    assert_eq!((asked.flow.stage(), asked.flow.offers()), ("claim", vec!["claim/new", "claim/existing"]));
    asked.flow.act(&mut asked.browser, "claim/new", nothing()).await;
    assert_eq!(subject(&world.tokens(&mut asked).await), id, "the member whom SCIM knows");
    assert_eq!(world.app.count("SELECT count(*) FROM membership WHERE state = 'active'").await, 1);
    assert!(world.rejected().await.is_empty());
    // From now on the identity is theirs, and the directory still ends them.
    let mut again = world.vouched("x-ana", &[]).await;
    assert_eq!(subject(&world.tokens(&mut again).await), id);
    let off = json!([{"op": "replace", "path": "active", "value": false}]);
    assert_eq!(directory.patch(&format!("Users/{id}"), off).await.status, 200);
    let asked = world.vouched("x-ana", &[]).await;
    assert!(!asked.flow.offers().contains(&"claim/new"), "{}", asked.flow.now);
    assert_eq!(world.app.count("SELECT count(*) FROM membership").await, 1);
}

#[tokio::test]
async fn a_provisioned_person_claims_their_membership_with_their_own_account() {
    let (world, directory) = provisioning().await;
    let id = directory.user("ana").await;
    let mut ana = register_with_password(&world.app, "ana@home.test").await;
    let account = account_of(&mut ana).await;
    let mut asked = world.link("x-ana", "ana@home.test").await;
    assert_eq!(subject(&world.tokens(&mut asked).await), id);
    let hers = format!("SELECT count(*) FROM membership WHERE account_id = '{account}' AND state = 'active'");
    assert_eq!(world.app.count(&hers).await, 1);
}

/// Two memberships of one account would be one person with two subjects: an administrator decides.
#[tokio::test]
async fn an_account_that_is_a_member_claims_no_second_membership() {
    let (world, directory) = provisioning().await;
    let id = directory.user("ana").await;
    let (.., member) = world.member("ana@home.test").await;
    let mut asked = world.vouched("x-ana", &[]).await;
    let Asked { browser, flow, .. } = &mut asked;
    flow.act(browser, "claim/existing", nothing()).await;
    flow.act(browser, "password/check", json!({"identifier": "ana@home.test", "password": PASSWORD})).await;
    flow.act(browser, "claim/attach", nothing()).await;
    let why = &world.rejected().await[0];
    assert!(why.contains(&id) && why.contains(&member.to_string()), "{why}");
    assert_eq!(world.app.count("SELECT count(*) FROM directory_identity").await, 0);
    let unclaimed =
        format!("SELECT count(*) FROM membership WHERE membership_id = '{id}' AND state = 'provisioned'");
    assert_eq!(world.app.count(&unclaimed).await, 1);
}

/// One directory provisions; another of the same organization may choose the subjects of its people freely.
#[tokio::test]
async fn a_connection_that_does_not_match_gives_no_provisioned_membership_and_no_second_one() {
    let world = world_with(json!({"jit_role": "member"})).await;
    domain(&world, "example.test", "verified").await;
    let directory = Directory::new(&world.app, world.place).await;
    let (ana, ben) = (directory.user("ana").await, directory.user("ben").await);
    let off = json!([{"op": "replace", "path": "active", "value": false}]);
    assert_eq!(directory.patch(&format!("Users/{ben}"), off).await.status, 200);
    for (subject, words) in [("x-ana", "set match_provisioned"), ("x-ben", "disabled")] {
        let asked = world.vouched(subject, &[]).await;
        assert_eq!(asked.flow.offers(), ["claim/existing"], "{subject}");
        let why = &world.rejected().await[0];
        assert!(why.contains(words), "{why}");
    }
    // Nor does one that matches admit whom the directory deactivated.
    world.app.sql("UPDATE organization_connection SET match_provisioned = true").await;
    let asked = world.vouched("x-ben", &[]).await;
    assert_eq!(asked.flow.offers(), ["claim/existing"]);
    let unclaimed =
        format!("SELECT count(*) FROM membership WHERE membership_id = '{ana}' AND state = 'provisioned'");
    assert_eq!(world.app.count(&unclaimed).await, 1);
    assert_eq!(world.app.count("SELECT count(*) FROM account").await, 0);
}

/// Entra's default `externalId` is `mailNickname`: the administrator reads so.
#[tokio::test]
async fn a_person_whom_no_external_id_names_is_told_which_one_was_compared() {
    let (world, directory) = provisioning().await;
    directory.user("ana").await;
    world.vouched("00aa", &[]).await;
    let why = &world.rejected().await[0];
    assert!(why.contains("claim sub of this subject as externalId") && why.contains("mailNickname"), "{why}");
    assert_eq!(world.rejections().await[0]["directory_subject"], "00aa");
}

#[tokio::test]
async fn only_an_owner_lets_people_claim_provisioned_memberships() {
    let world = world_with(json!({})).await;
    let refused = world.change(json!({"match_provisioned": true})).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    let all = ["connections:*", "organization:*", "members:*", "roles:*", "domains:*", "scim:provision"];
    let most = World { key: organization_key(&world.app, world.place, &all).await, ..world };
    assert_eq!(most.change(json!({"match_provisioned": true})).await.status, 403);
    let seen = most.change(json!({})).await;
    assert_eq!((seen.status.as_u16(), &seen.json()["match_provisioned"]), (200, &json!(false)));
}
