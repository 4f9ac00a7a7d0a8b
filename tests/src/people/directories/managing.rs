//! Connections of an organization: who may configure them, and what is refused.

use http::Method;
use porteiro_testkit::Browser;
use serde_json::{Value, json};

use super::{super::federation::provider::Fault, connect, definition, world};
use crate::organizations::driver::{call, get, organization, organization_key};

#[tokio::test]
async fn a_connection_is_created_shown_changed_tested_and_deleted() {
    let world = world().await;
    let all = format!("/v1/organizations/{}/connections", world.place);
    let one = format!("{all}/{}", world.connection);
    let listed = get(&world.app, &all, &world.key).await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let shown = get(&world.app, &one, &world.key).await;
    assert!(!shown.text().contains(super::SECRET), "{}", shown.text());
    let uri = format!("https://id.example.test/ui/federation/{}", world.connection);
    assert_eq!(shown.json()["redirect_uri"], uri);
    assert_eq!(shown.json()["subject_claim"], "sub");
    let tested = call(&world.app, Method::POST, &format!("{one}/test"), &world.key, None, &[]).await;
    assert_eq!(tested.json()["ok"], true, "{}", tested.text());
    let changed =
        world.change(json!({"name": "Renamed", "subject_claim": "oid", "jit_role": "member"})).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!((&changed.json()["name"], &changed.json()["jit_role"]), (&json!("Renamed"), &json!("member")));
    let stale = call(
        &world.app,
        Method::PUT,
        &one,
        &world.key,
        Some(&definition(&world.provider, &json!({}))),
        &[("if-match", "\"1\"")],
    )
    .await;
    assert_eq!(stale.status, 412, "{}", stale.text());
    assert_eq!(world.change(json!({"issuer": "https://login.example.test"})).await.status, 422);
    let trail = format!("/v1/organizations/{}/audit-events?type=connection.changed", world.place);
    let trail = get(&world.app, &trail, &world.key).await;
    assert_eq!(trail.json()["items"].as_array().unwrap().len(), 2);
    assert!(!trail.text().contains(super::SECRET));
    assert_eq!(call(&world.app, Method::DELETE, &one, &world.key, None, &[]).await.status, 204);
    assert_eq!(get(&world.app, &one, &world.key).await.status, 404);
}

#[tokio::test]
async fn a_connection_by_which_members_signed_in_is_not_deleted() {
    let world = world().await;
    world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    let one = format!("/v1/organizations/{}/connections/{}", world.place, world.connection);
    assert_eq!(call(&world.app, Method::DELETE, &one, &world.key, None, &[]).await.status, 409);
}

#[tokio::test]
async fn an_organization_has_ten_connections_at_most_and_sees_its_own_only() {
    let world = world().await;
    let body = definition(&world.provider, &json!({}));
    let named = |number: u8| {
        let mut body = body.clone();
        body["name"] = json!(format!("Directory {number}"));
        body
    };
    for number in 1..10 {
        connect(&world.app, world.place, &world.key, &named(number)).await;
    }
    let all = format!("/v1/organizations/{}/connections", world.place);
    let full = call(&world.app, Method::POST, &all, &world.key, Some(&named(10)), &[]).await;
    assert_eq!(full.json()["code"], "quota", "{}", full.text());
    let other = organization(&world.app, "other").await;
    let key = organization_key(&world.app, other, &["connections:*"]).await;
    let one = format!("/v1/organizations/{other}/connections/{}", world.connection);
    assert_eq!(get(&world.app, &one, &key).await.status, 404);
    let test = call(&world.app, Method::POST, &format!("{one}/test"), &key, None, &[]).await;
    assert_eq!(test.status, 404);
}

/// A role that exceeds the caller's own permissions is refused.
#[tokio::test]
async fn people_join_with_no_more_than_their_administrator_holds() {
    let world = world().await;
    let all = format!("/v1/organizations/{}/connections", world.place);
    let refused = |more: Value| {
        let body = definition(&world.provider, &more);
        let (world, all) = (&world, &all);
        async move { call(&world.app, Method::POST, all, &world.key, Some(&body), &[]).await.json() }
    };
    assert_eq!(refused(json!({"jit_role": "owner"})).await["code"], "authority_exceeded");
    assert_eq!(refused(json!({"jit_role": "nothing"})).await["status"], 422);
    assert_eq!(refused(json!({"subject_claim": ""})).await["code"], "field_invalid");
    assert_eq!(refused(json!({"issuer": "https://id.example.test"})).await["code"], "field_invalid");
}

/// An organization's administrator is no operator: their addresses reach nothing that is not public.
#[tokio::test]
async fn a_directory_on_a_private_network_is_reached_only_if_the_operator_lists_it() {
    let world = world().await;
    let body = definition(&world.provider, &json!({"name": "Private", "issuer": "https://10.0.0.1"}));
    let id = connect(&world.app, world.place, &world.key, &body).await;
    let path = format!("/v1/organizations/{}/connections/{id}/test", world.place);
    let tested = call(&world.app, Method::POST, &path, &world.key, None, &[]).await.json();
    assert_eq!((&tested["ok"], &tested["steps"][1]["step"]), (&json!(false), &json!("metadata")));
}

/// People choose by the name, so one connection does not pass for another.
#[tokio::test]
async fn two_connections_of_an_organization_have_different_names() {
    let world = world().await;
    let all = format!("/v1/organizations/{}/connections", world.place);
    let same = definition(&world.provider, &json!({"name": "ACME Directory"}));
    let taken = call(&world.app, Method::POST, &all, &world.key, Some(&same), &[]).await;
    assert_eq!((taken.status.as_u16(), &taken.json()["code"]), (409, &json!("conflict")), "{}", taken.text());
    let other = definition(&world.provider, &json!({"name": "Another"}));
    let id = connect(&world.app, world.place, &world.key, &other).await;
    assert_eq!(world.change(json!({"name": "another"})).await.status, 409);
    assert_eq!(world.change(json!({"name": "ACME directory"})).await.status, 200, "its own");
    assert_ne!(id, world.connection);
    let elsewhere = organization(&world.app, "other").await;
    let key = organization_key(&world.app, elsewhere, &["connections:*"]).await;
    connect(&world.app, elsewhere, &key, &other).await;
}

/// The metadata must not lead us to the directory of another organization.
#[tokio::test]
async fn endpoints_on_other_hosts_than_the_issuers_are_refused() {
    let world = world().await;
    let path = format!("/v1/organizations/{}/connections/{}/test", world.place, world.connection);
    for name in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
        world.provider.bend_metadata(json!({name: "http://127.0.0.1:1/elsewhere"}));
        let tested = call(&world.app, Method::POST, &path, &world.key, None, &[]).await.json();
        let last = tested["steps"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["step"], &last["ok"]), (&json!("metadata_content"), &json!(false)), "{tested}");
        assert!(last["explanation"].as_str().unwrap().contains(name), "{last}");
    }
    let mut asked = world.ask(porteiro_testkit::Browser::new(&world.app), &[]).await;
    let chosen = json!({"connection": world.connection});
    let refused = asked.flow.attempt(&mut asked.browser, "federated/begin", chosen).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
}

/// The administrator reads why an ID token was refused at a sign-in, and what to do; whoever made an answer up leaves
/// nothing there.
#[tokio::test]
async fn an_id_token_that_is_refused_at_a_sign_in_is_explained_to_the_administrators() {
    let world = world().await;
    let attempt = async |claims: Value, fault: Option<Fault>, code: Option<&str>| {
        world.provider.bend_claims(claims);
        world.provider.fail(fault);
        let mut asked = world.ask(Browser::new(&world.app), &[]).await;
        let mut answer = world.go(&mut asked, "ana-there").await;
        if let Some(code) = code {
            answer["code"] = json!(code);
        }
        let refused = asked.flow.attempt(&mut asked.browser, "federated/finish", answer).await;
        assert_eq!(refused.status, 422, "{}", refused.text());
        assert!(!refused.text().contains("ID token"), "for the administrators alone");
    };
    for (claims, fault, cause, remedy) in [
        (json!({"iss": "https://other.example.test"}), None, "of another issuer", "also in the last slash"),
        (json!({"aud": "another client"}), None, "for another client", "client_id is"),
        (json!({}), Some(Fault::OtherAlgorithm), "the connection's algorithm", "choose the algorithm"),
        (json!({}), Some(Fault::UnknownKey), "an unknown key", "test the connection"),
    ] {
        attempt(claims, fault, None).await;
        let entries = world.rejections().await;
        let why = entries[0]["reason"].as_str().unwrap();
        assert!(why.contains(cause) && why.contains(remedy), "{why}");
        assert!(entries[0]["directory_subject"].is_null(), "the token is not believed about it either");
        assert_eq!(entries[0]["target"], json!({"kind": "connection", "id": world.connection}));
    }
    attempt(json!({}), None, Some("made up")).await;
    attempt(json!({}), Some(Fault::NoIdToken), None).await;
    assert_eq!(world.rejections().await.len(), 4);
}
