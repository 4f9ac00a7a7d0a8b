//! Home-realm discovery (docs/decisions/0133): a typed address leads to the connections of its domain's organization only
//! where that wants it, and never says who exists.

use http::Method;
use porteiro_testkit::{Browser, Flow};
use serde_json::{Value, json};

use super::{Asked, World, entering::domain, world};
use crate::{
    oauth::driver::verifier,
    organizations::driver::{call, get},
    people::PASSWORD,
};

/// The client needs an organization and names none.
pub async fn needing() -> World {
    let world = world().await;
    world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    world.app.sql("UPDATE client SET organization_mode = 'required'").await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    world
}

pub async fn discovery(world: &World, discovery: &str) {
    let path = format!("/v1/organizations/{}/policy", world.place);
    let tag = get(&world.app, &path, &world.key).await.header("etag").to_owned();
    let policy = json!({"discovery": discovery});
    let set = call(&world.app, Method::PUT, &path, &world.key, Some(&policy), &[("if-match", &tag)]).await;
    assert_eq!((set.status.as_u16(), &set.json()["discovery"]), (200, &json!(discovery)), "{}", set.text());
}

pub async fn open(world: &World, more: &[(&str, &str)]) -> Asked {
    world.app.forget_limits().await;
    let (mut browser, verifier) = (Browser::new(&world.app), verifier());
    let answer = world.client.ask(&mut browser, &verifier, more).await;
    Asked { browser, flow: Flow::new(answer.json()), verifier }
}

/// What somebody sees who types this address, without what differs in every flow.
async fn typed(world: &World, action: &str, address: &str) -> Value {
    let mut asked = open(world, &[]).await;
    let input = json!({"identifier": address, "password": PASSWORD});
    let input = if action == "password/check" { input } else { json!({"identifier": address}) };
    let answer = asked.flow.attempt(&mut asked.browser, action, input).await;
    let mut body = answer.json();
    for name in ["id", "expires_at", "phrase", "step"] {
        body.as_object_mut().unwrap().remove(name);
    }
    json!({"status": answer.status.as_u16(), "body": body})
}

#[tokio::test]
async fn an_address_at_a_verified_domain_leads_to_the_connection_whoever_has_it() {
    let world = needing().await;
    domain(&world, "example.test", "verified").await;
    discovery(&world, "public").await;
    let mails = "SELECT count(*) FROM job WHERE kind = 'mail'";
    let before = world.app.count(mails).await;
    let known = typed(&world, "email_code/send", "ana@example.test").await;
    assert_eq!(known["body"]["stage"], "authenticate", "{known}");
    let offered = known["body"]["actions"].as_array().unwrap().iter().map(|action| action["name"].clone());
    let offered: Vec<Value> = offered.collect();
    assert_eq!(
        offered,
        ["federated/begin", "federated/finish", "flow/back"].map(|name| json!(name)),
        "{known}"
    );
    assert_eq!(known["body"]["connections"][0]["id"], json!(world.connection));
    for (action, address) in [
        ("email_code/send", "nobody@example.test"),
        ("password/check", "ana@example.test"),
        ("password/check", "nobody@example.test"),
    ] {
        assert_eq!(typed(&world, action, address).await, known, "{action} {address}");
    }
    assert_eq!(world.app.count(mails).await, before, "nobody gets a mail");
}

#[tokio::test]
async fn the_connection_then_signs_the_person_in_to_its_organization() {
    let world = needing().await;
    domain(&world, "example.test", "verified").await;
    discovery(&world, "public").await;
    let mut asked = open(&world, &[]).await;
    asked.flow.act(&mut asked.browser, "email_code/send", json!({"identifier": "x@example.test"})).await;
    asked.flow.act(&mut asked.browser, "flow/back", json!({})).await;
    assert!(asked.flow.offers().contains(&"password/check"), "{}", asked.flow.now);
    asked.flow.act(&mut asked.browser, "email_code/send", json!({"identifier": "x@example.test"})).await;
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    let tokens = world.tokens(&mut asked).await;
    assert_eq!(tokens["organization"], json!(world.place));
}

#[tokio::test]
async fn nothing_shows_while_it_is_quiet_or_the_domain_is_not_verified() {
    let world = needing().await;
    let generic = typed(&world, "email_code/send", "ana@elsewhere.test").await;
    assert_eq!(generic["body"]["stage"], "challenge", "{generic}");
    // What is sent to the address is another matter: `quiet.rs`.
    domain(&world, "example.test", "verified").await;
    for state in ["quiet", "pending", "lapsed", "disabled", "suspended"] {
        if state == "pending" {
            discovery(&world, "public").await;
        }
        match state {
            "quiet" => {}
            "disabled" => {
                domain(&world, "example.test", "verified").await;
                assert_eq!(world.change(json!({"enabled": false})).await.status, 200);
            }
            "suspended" => {
                world.app.sql("UPDATE organization_connection SET enabled = true").await;
                crate::organizations::driver::set_status(&world.app, world.place, "suspended").await;
            }
            _ => domain(&world, "example.test", state).await,
        }
        assert_eq!(typed(&world, "email_code/send", "ana@example.test").await, generic, "{state}");
    }
}

/// A request for the account alone, or for another organization, has nothing to do with it.
#[tokio::test]
async fn a_request_that_needs_no_organization_or_names_one_is_not_led_elsewhere() {
    let world = needing().await;
    domain(&world, "example.test", "verified").await;
    discovery(&world, "public").await;
    crate::organizations::driver::organization(&world.app, "other").await;
    let mut asked = open(&world, &[("organization", "other")]).await;
    asked.flow.act(&mut asked.browser, "email_code/send", json!({"identifier": "x@example.test"})).await;
    assert_eq!(asked.flow.stage(), "challenge", "{}", asked.flow.now);
    let mut browser = Browser::new(&world.app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "x@example.test"})).await;
    assert_eq!(flow.stage(), "challenge", "{}", flow.now);
}

#[tokio::test]
async fn a_browser_remembers_the_connection_and_offers_it_first_to_that_browser_alone() {
    let world = needing().await;
    let mut asked = world.vouched("ana-there", &[]).await;
    world.tokens(&mut asked).await;
    let door = asked.browser.cookies.get("__Host-door").cloned().expect("remembered");
    assert_eq!(door, format!("{}.{}", world.place, world.connection));
    // The same browser, later: the session is over.
    let mut browser = Browser::new(&world.app);
    browser.cookies.insert("__Host-door".into(), door.clone());
    let verifier = verifier();
    let answer = world.client.ask(&mut browser, &verifier, &[]).await.json();
    let mut asked = Asked { browser, flow: Flow::new(answer), verifier };
    assert_eq!(asked.flow.now["remembered"], json!({"id": world.connection, "name": "Acme directory"}));
    asked.flow.act(&mut asked.browser, "organization/remembered", json!({})).await;
    assert!(asked.flow.offers().contains(&"federated/begin"), "{}", asked.flow.now);
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    world.tokens(&mut asked).await;

    let other = open(&world, &[]).await;
    assert!(other.flow.now.get("remembered").is_none(), "{}", other.flow.now);
    assert_eq!(world.change(json!({"enabled": false})).await.status, 200);
    for door in [door.as_str(), "x", "../../.", ""] {
        let mut browser = Browser::new(&world.app);
        browser.cookies.insert("__Host-door".into(), door.to_owned());
        let answer = world.client.ask(&mut browser, &crate::oauth::driver::verifier(), &[]).await.json();
        assert!(answer.get("remembered").is_none() && answer["stage"] == "authenticate", "{door}: {answer}");
    }
}
