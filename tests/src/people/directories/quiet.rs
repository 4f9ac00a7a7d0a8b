//! Quiet discovery (docs/decisions/0133): the screen says the same to everybody, and the mail to an address at a verified
//! domain leads its reader to the organization's connections.

use porteiro_testkit::{Browser, nothing};
use serde_json::json;

use super::{
    Asked, World,
    discovery::{discovery, needing, open},
    entering::domain,
};
use crate::organizations::driver::{organization, set_status};

const LINE: &str = "Your company uses single sign-on: continue";

/// Ana's domain is verified, and the policy says nothing about discovery.
async fn quiet() -> World {
    let world = needing().await;
    domain(&world, "example.test", "verified").await;
    world
}

/// A code is sent to this address, in a flow of the client that names no organization.
async fn sent(world: &World, address: &str) -> Asked {
    let mut asked = open(world, &[]).await;
    asked.flow.act(&mut asked.browser, "email_code/send", json!({"identifier": address})).await;
    assert_eq!(asked.flow.stage(), "challenge", "{}", asked.flow.now);
    asked
}

/// The tokens of the links in the newest mail to this address.
async fn tokens(world: &World, address: &str) -> Vec<String> {
    let (_, text) = world.app.mail(address).await;
    let links = text.lines().filter(|line| line.starts_with("https://id.example.test/ui/link#"));
    links.map(|link| link.rsplit('.').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_mail_leads_its_reader_to_the_connections_whether_they_have_an_account_or_not() {
    let world = quiet().await;
    for address in ["ana@example.test", "nobody@example.test"] {
        let mut asked = sent(&world, address).await;
        let (_, text) = world.app.mail(address).await;
        assert!(text.contains(LINE), "{text}");
        let token = tokens(&world, address).await.pop().unwrap();
        asked.flow.act(&mut asked.browser, "email_link/redeem", json!({"token": token})).await;
        assert_eq!(asked.flow.offers(), ["federated/begin", "federated/finish", "flow/back"]);
        assert_eq!(asked.flow.now["connections"][0]["id"], json!(world.connection));
        assert!(asked.flow.now["account"].is_null(), "it proves nothing");
        let answer = world.go(&mut asked, "ana-there").await;
        asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
        assert_eq!(world.tokens(&mut asked).await["organization"], json!(world.place));
    }
}

#[tokio::test]
async fn the_link_is_for_the_browser_that_began_and_counts_once() {
    let world = quiet().await;
    let mut asked = sent(&world, "ana@example.test").await;
    let token = tokens(&world, "ana@example.test").await.pop().unwrap();
    let mut elsewhere = Browser::new(&world.app);
    let path = format!("/v1/flows/{}/email_link/redeem", asked.flow.id());
    let step = asked.flow.now["step"].clone();
    let answer = elsewhere.post(&path, &json!({"step": step, "token": token})).await;
    assert_eq!(answer.json()["code"], "flow_not_found", "{}", answer.text());
    asked.flow.act(&mut asked.browser, "email_link/redeem", json!({"token": token})).await;
    asked.flow.act(&mut asked.browser, "flow/back", nothing()).await;
    assert!(asked.flow.offers().contains(&"password/check"), "{}", asked.flow.now);
    let again = asked.flow.attempt(&mut asked.browser, "email_link/redeem", json!({"token": token})).await;
    assert_eq!(again.json()["code"], "unknown_action", "{}", again.text());
}

/// One mail, two links; a wrong one is neither.
#[tokio::test]
async fn the_link_that_signs_in_signs_in_as_before() {
    let world = quiet().await;
    let mut asked = sent(&world, "ana@example.test").await;
    let links = tokens(&world, "ana@example.test").await;
    assert_eq!(links.len(), 2);
    let wrong = asked.flow.attempt(&mut asked.browser, "email_link/redeem", json!({"token": "x"})).await;
    assert_eq!(wrong.json()["code"], "refused", "{}", wrong.text());
    asked.flow.act(&mut asked.browser, "email_link/redeem", json!({"token": links[0]})).await;
    assert!(!asked.flow.now["account"].is_null(), "{}", asked.flow.now);
}

#[tokio::test]
async fn a_mail_says_nothing_where_the_domain_leads_nowhere() {
    let world = quiet().await;
    for state in ["elsewhere", "pending", "lapsed", "disabled", "suspended"] {
        match state {
            "elsewhere" => {}
            "disabled" => {
                domain(&world, "example.test", "verified").await;
                assert_eq!(world.change(json!({"enabled": false})).await.status, 200);
            }
            "suspended" => {
                world.app.sql("UPDATE organization_connection SET enabled = true").await;
                set_status(&world.app, world.place, "suspended").await;
            }
            _ => domain(&world, "example.test", state).await,
        }
        let address = if state == "elsewhere" { "ana@elsewhere.test" } else { "ana@example.test" };
        sent(&world, address).await;
        let (_, text) = world.app.mail(address).await;
        assert!(!text.contains(LINE), "{state}: {text}");
        assert_eq!(tokens(&world, address).await.len(), 1, "{state}");
    }
}

/// Elsewhere a directory vouches for nobody.
#[tokio::test]
async fn a_mail_says_nothing_in_a_flow_that_needs_no_organization_or_names_one() {
    let world = quiet().await;
    organization(&world.app, "other").await;
    let mut named = open(&world, &[("organization", "other")]).await;
    let address = json!({"identifier": "ana@example.test"});
    named.flow.act(&mut named.browser, "email_code/send", address.clone()).await;
    assert!(!world.app.mail("ana@example.test").await.1.contains(LINE));
    for kind in ["sign_in", "recover", "register"] {
        world.app.forget_limits().await;
        let mut browser = Browser::new(&world.app);
        let mut flow = browser.open(json!({"kind": kind})).await;
        flow.act(&mut browser, "email_code/send", address.clone()).await;
        assert!(!world.app.mail("ana@example.test").await.1.contains(LINE), "{kind}");
    }
}

#[tokio::test]
async fn a_link_to_a_domain_that_lapsed_meanwhile_leads_nowhere() {
    let world = quiet().await;
    let mut asked = sent(&world, "ana@example.test").await;
    let token = tokens(&world, "ana@example.test").await.pop().unwrap();
    domain(&world, "example.test", "lapsed").await;
    let refused = asked.flow.attempt(&mut asked.browser, "email_link/redeem", json!({"token": token})).await;
    assert_eq!(refused.json()["code"], "refused", "{}", refused.text());
    assert_eq!(asked.flow.stage(), "challenge");
    // The code is as good as before.
    let code = world.app.mailed_code("ana@example.test").await;
    asked.flow.act(&mut asked.browser, "email_code/check", json!({"code": code})).await;
    assert!(!asked.flow.now["account"].is_null(), "{}", asked.flow.now);
}

#[tokio::test]
async fn with_public_discovery_no_mail_is_sent_at_all() {
    let world = quiet().await;
    discovery(&world, "public").await;
    let mut asked = open(&world, &[]).await;
    let address = json!({"identifier": "new@example.test"});
    asked.flow.act(&mut asked.browser, "email_code/send", address).await;
    assert!(world.app.mails("new@example.test").await.is_empty());
}
