//! The member and the organization's administrators see the identities, and unlink them.

use http::Method;
use porteiro_testkit::Browser;
use serde_json::{Value, json};

use super::{World, world};
use crate::{
    oauth::driver::{parameter, verifier},
    organizations::driver::{call, get, organization_key},
    people::PASSWORD,
};

async fn signed_in(world: &World) -> (Browser, Value) {
    let mut asked = world.vouched("ana-there", &[("scope", "openid offline_access")]).await;
    let tokens = world.tokens(&mut asked).await;
    (asked.browser, tokens)
}

async fn is_out(world: &World, browser: &mut Browser, tokens: &Value) {
    let refreshed = world.client.refresh(&world.app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(refreshed.json()["error"], "invalid_grant");
    let silent = [("organization", "acme"), ("prompt", "none")];
    let answer = world.client.ask(browser, &verifier(), &silent).await.json();
    assert_eq!(parameter(&answer, "error").as_deref(), Some("login_required"), "{answer}");
    let left = "SELECT count(*) FROM session WHERE ended_at IS NULL AND proofs @? '$[*].organization'";
    assert_eq!(world.app.count(left).await, 0);
    let asked = world.vouched("ana-there", &[]).await;
    assert_eq!(asked.flow.stage(), "claim", "nobody has it");
}

#[tokio::test]
async fn a_member_sees_and_unlinks_their_own_identities() {
    let world = world().await;
    let (mut ana, ..) = world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    let (mut ben, ..) = world.member("ben@example.test").await;
    let (mut browser, tokens) = signed_in(&world).await;
    for person in [&mut ana, &mut ben] {
        let mut proving = person.open(json!({"kind": "reauthenticate"})).await;
        proving.act(person, "password/check", json!({"password": PASSWORD})).await;
    }
    let listed = ana.get("/v1/account/directory-identities").await.json();
    let one = &listed["items"][0];
    assert_eq!((&one["subject"], &one["connection"]), (&json!("ana-there"), &json!("Acme directory")));
    assert_eq!(one["issuer"], world.provider.issuer());
    let path = format!("/v1/account/directory-identities/{}", one["id"].as_str().unwrap());
    assert_eq!(ben.get("/v1/account/directory-identities").await.json()["items"], json!([]));
    assert_eq!(ben.delete(&path).await.status, 404, "another person's");
    assert_eq!(ana.delete(&path).await.status, 204);
    assert_eq!(ana.delete(&path).await.status, 404);
    is_out(&world, &mut browser, &tokens).await;
}

#[tokio::test]
async fn an_administrator_unlinks_an_identity_of_a_member_who_holds_no_more() {
    let world = world().await;
    let (.., member) = world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    let (mut browser, tokens) = signed_in(&world).await;
    let key = organization_key(&world.app, world.place, &["members:*", "organization:*"]).await;
    let all = format!("/v1/organizations/{}/members/{member}/directory-identities", world.place);
    let listed = get(&world.app, &all, &key).await.json();
    assert_eq!(listed["items"][0]["subject"], "ana-there", "{listed}");
    let one = format!("{all}/{}", listed["items"][0]["id"].as_str().unwrap());
    assert_eq!(call(&world.app, Method::DELETE, &one, &key, None, &[]).await.status, 204);
    assert_eq!(call(&world.app, Method::DELETE, &one, &key, None, &[]).await.status, 404);
    is_out(&world, &mut browser, &tokens).await;
    let trail = format!("/v1/organizations/{}/audit-events?type=external_identity.removed", world.place);
    let trail = get(&world.app, &trail, &world.key).await.json();
    assert_eq!(trail["items"][0]["target"]["id"], member.to_string(), "{trail}");
}

/// Neither the trail of links nor that of rejected sign-ins keeps whom the directory named.
#[tokio::test]
async fn a_directorys_subject_is_gone_from_the_trail_after_an_erasure() {
    let world = world().await;
    let (_, ana, _) = world.member("ana@example.test").await;
    // Somebody stays, so that the organization goes on.
    world.member("ben@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    assert_eq!(world.rejections().await[0]["directory_subject"], "ana-there");
    let kept = "SELECT count(*) FROM trail t LEFT JOIN trail_personal p USING (organization_id, entry_id)
                WHERE t::text LIKE '%ana-there%' OR p::text LIKE '%ana-there%'";
    assert_eq!(world.app.count(kept).await, 1, "only outside the chain");
    world.app.sql(&format!("UPDATE account SET deletion_at = now() WHERE account_id = '{ana}'")).await;
    assert_eq!(porteiro_service::personal_data::erase_due(&world.app.app).await.unwrap(), 1);
    assert_eq!(world.app.count(kept).await, 0);
    let entry = &world.rejections().await[0];
    assert!(entry["reason"].is_string() && entry["directory_subject"].is_null(), "{entry}");
}
