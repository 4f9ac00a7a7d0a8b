//! The address that an organization hands to its people (docs/decisions/0133): a sign-in that names the organization and
//! serves no client.

use porteiro_testkit::{Browser, Flow, nothing};
use serde_json::{Value, json};

use super::{
    Asked, World,
    entering::joining,
    required::{owned, require},
    world,
};
use crate::{
    organizations::driver::{organization, set_status},
    people::{PASSWORD, register_with_password},
};

async fn open(world: &World, mut browser: Browser, name: &str) -> Asked {
    world.app.forget_limits().await;
    let flow = browser.open(json!({"kind": "sign_in", "organization": name})).await;
    Asked { browser, flow, verifier: String::new() }
}

/// By the directory, in a new browser.
async fn vouched(world: &World, subject: &str) -> Asked {
    let mut asked = open(world, Browser::new(&world.app), "acme").await;
    let answer = world.go(&mut asked, subject).await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    asked
}

async fn with_password(asked: &mut Asked, address: &str) {
    let proof = json!({"identifier": address, "password": PASSWORD});
    asked.flow.act(&mut asked.browser, "password/check", proof).await;
    if asked.flow.stage() == "enrol" {
        asked.flow.act(&mut asked.browser, "enrol/skip", nothing()).await;
    }
}

fn entered(world: &World, flow: &Flow, confined: bool) {
    let next = json!({"type": "organization", "outcome": "entered", "confined": confined,
                      "organization": {"id": world.place, "slug": "acme", "name": flow.now["continue"]["organization"]["name"]}});
    assert_eq!((flow.stage(), &flow.now["continue"]), ("complete", &next), "{}", flow.now);
}

fn unavailable(flow: &Flow) {
    let next = json!({"type": "organization", "outcome": "unavailable"});
    assert_eq!((flow.stage(), &flow.now["continue"]), ("denied", &next), "{}", flow.now);
    assert_eq!(flow.now["reason"], "request_refused");
}

#[tokio::test]
async fn it_offers_the_organizations_connections_at_once_and_signs_the_member_in_there_alone() {
    let world = world().await;
    world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    let asked = open(&world, Browser::new(&world.app), "acme").await;
    assert_eq!(asked.flow.now["connections"][0]["id"], json!(world.connection), "{}", asked.flow.now);
    let Asked { mut browser, flow, .. } = vouched(&world, "ana-there").await;
    entered(&world, &flow, true);
    assert!(browser.confined_session().is_some() && browser.session().is_none());
    assert_eq!(browser.get("/v1/account").await.status, 401);
    // What the browser holds is enough the next time, also by the organization's id.
    for name in ["acme".to_owned(), world.place.to_string()] {
        let Asked { browser: again, flow, .. } = open(&world, browser, &name).await;
        entered(&world, &flow, true);
        browser = again;
    }
    // An application of the organization asks nothing but consent.
    let asked = world.ask(browser, &[]).await;
    assert_eq!(asked.flow.stage(), "consent", "{}", asked.flow.now);
}

#[tokio::test]
async fn a_member_may_use_their_account_and_is_signed_in_to_it() {
    let world = world().await;
    let (mut signed_in, ..) = world.member("ana@example.test").await;
    let mut asked = open(&world, Browser::new(&world.app), "acme").await;
    with_password(&mut asked, "ana@example.test").await;
    entered(&world, &asked.flow, false);
    assert_eq!(asked.browser.get("/v1/account").await.status, 200);
    let flows = world.app.count("SELECT count(*) FROM flow").await;
    let asked = open(&world, signed_in, "acme").await;
    entered(&world, &asked.flow, false);
    signed_in = asked.browser;
    assert_eq!(signed_in.get("/v1/account").await.status, 200);
    assert_eq!(world.app.count("SELECT count(*) FROM flow").await, flows, "nothing was asked");
}

#[tokio::test]
async fn somebody_new_joins_by_it_as_by_an_application() {
    let world = joining("verified").await;
    let mut asked = vouched(&world, "new-there").await;
    assert_eq!((asked.flow.stage(), asked.flow.offers()), ("claim", vec!["claim/new", "claim/existing"]));
    asked.flow.act(&mut asked.browser, "claim/new", nothing()).await;
    entered(&world, &asked.flow, true);
}

/// What a stranger sees, without what differs in every flow.
async fn seen(world: &World, name: &str) -> Value {
    let mut body = open(world, Browser::new(&world.app), name).await.flow.now;
    for name in ["id", "expires_at", "phrase", "challenge"] {
        body.as_object_mut().unwrap().remove(name);
    }
    body
}

#[tokio::test]
async fn one_that_does_not_exist_and_one_that_is_suspended_are_the_same_to_everybody() {
    let world = world().await;
    let (mut member, ..) = world.member("ana@example.test").await;
    register_with_password(&world.app, "ben@example.test").await;
    organization(&world.app, "plain").await;
    set_status(&world.app, world.place, "suspended").await;
    let unknown = seen(&world, "nowhere").await;
    assert_eq!(unknown["stage"], "authenticate");
    for name in ["acme", "plain", "00000000-0000-0000-0000-000000000001"] {
        assert_eq!(seen(&world, name).await, unknown, "{name}");
    }
    // Who has signed in hears it, whoever they are.
    for (name, address) in [
        ("nowhere", "ana@example.test"),
        ("acme", "ana@example.test"),
        ("acme", "ben@example.test"),
        ("plain", "ana@example.test"),
    ] {
        let mut asked = open(&world, Browser::new(&world.app), name).await;
        with_password(&mut asked, address).await;
        unavailable(&asked.flow);
        assert!(asked.browser.session().is_none(), "{name} {address}");
        let asked = open(&world, member, name).await;
        unavailable(&asked.flow);
        member = asked.browser;
    }
}

/// Their session is of somebody whom the directory may not know.
#[tokio::test]
async fn who_is_signed_in_and_no_member_may_come_by_the_directory() {
    let world = world().await;
    world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    let ben = register_with_password(&world.app, "ben@example.test").await;
    let mut asked = open(&world, ben, "acme").await;
    assert_eq!(asked.flow.stage(), "authenticate", "{}", asked.flow.now);
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    entered(&world, &asked.flow, true);
    assert_eq!(
        asked.browser.get("/v1/account").await.json()["display_name"],
        json!("Ana"),
        "Ben's own session"
    );
}

#[tokio::test]
async fn what_the_organization_requires_is_required_here_too() {
    let (world, browser) = owned().await;
    require(&world, json!({})).await;
    let mut asked = open(&world, browser, "acme").await;
    assert_eq!(
        (asked.flow.stage(), asked.flow.offers()[0]),
        ("raise", "federated/begin"),
        "{}",
        asked.flow.now
    );
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    entered(&world, &asked.flow, false);
}

#[tokio::test]
async fn a_disabled_member_does_not_get_in() {
    let world = world().await;
    let (_, account, _) = world.member("ana@example.test").await;
    world.app.sql(&format!("UPDATE membership SET state = 'disabled' WHERE account_id = '{account}'")).await;
    let mut asked = open(&world, Browser::new(&world.app), "acme").await;
    with_password(&mut asked, "ana@example.test").await;
    unavailable(&asked.flow);
}

#[tokio::test]
async fn only_a_sign_in_names_an_organization_and_a_name_is_short() {
    let world = world().await;
    let mut browser = Browser::new(&world.app);
    for request in [
        json!({"kind": "register", "organization": "acme"}),
        json!({"kind": "recover", "organization": "acme"}),
        json!({"kind": "confirm_device", "organization": "acme"}),
        json!({"kind": "sign_in", "organization": ""}),
        json!({"kind": "sign_in", "organization": "a".repeat(101)}),
    ] {
        let answer = browser.post("/v1/flows", &request).await;
        assert_eq!(answer.json()["code"], "field_invalid", "{request}: {}", answer.text());
    }
    // The purpose itself is not a kind.
    let answer = browser.post("/v1/flows", &json!({"kind": "organization_sign_in"})).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(world.app.count("SELECT count(*) FROM flow").await, 0);
}
