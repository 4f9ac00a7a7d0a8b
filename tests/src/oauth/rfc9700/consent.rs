//! When a person is asked, what they are shown, and how they take it back (OAuth 2.1 §7.3, §7.9).

use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, Browser, Flow, nothing};
use serde_json::{Value, json};

use super::{
    super::{
        LEDGER, app,
        codes::refused,
        driver::{Relying, agree, get_json, parameter, person, userinfo, verifier},
    },
    error, known, location, stays, value,
};

async fn asks(client: &Relying, browser: &mut Browser, more: &[(&str, &str)]) -> bool {
    let answer = client.ask(browser, &verifier(), more).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    match answer.json()["stage"].as_str() {
        Some("consent") => true,
        Some("complete") => false,
        other => panic!("{other:?}"),
    }
}

async fn silently(client: &Relying, browser: &mut Browser) -> Answer {
    browser.get(&client.path(&verifier(), &[("prompt", "none")])).await
}

/// Anybody's program can be at such an address, so a yes of yesterday is nobody's yes today.
#[tokio::test]
async fn an_app_that_cannot_prove_itself_is_asked_about_every_time() {
    let app = app().await;
    let mut browser = person(&app).await;
    for trust in [Trust::Verified, Trust::FirstParty] {
        for uri in ["http://127.0.0.1/cb", "http://localhost/cb", "com.example.app:/cb"] {
            let metadata = json!({"redirect_uris": [uri], "token_endpoint_auth_method": "none"});
            let client = Relying::with(&app, trust, metadata).await;
            client.tokens(&mut browser, &app, &[]).await;
            assert!(asks(&client, &mut browser, &[]).await, "{uri}");
            let answer = silently(&client, &mut browser).await;
            assert_eq!(error(&answer), "consent_required", "{uri}");
            assert!(value(&location(&answer), "code").is_none());
        }
    }
}

/// docs/decisions/0023, ASVS 10.4.7: whoever registered it, nobody vouches that it is the same one.
#[tokio::test]
async fn a_client_that_nobody_checked_is_asked_about_every_time() {
    let app = app().await;
    let mut browser = person(&app).await;
    for method in ["none", "client_secret_post"] {
        let metadata = json!({"token_endpoint_auth_method": method});
        let client = Relying::with(&app, Trust::Unverified, metadata).await;
        client.tokens(&mut browser, &app, &[]).await;
        assert!(asks(&client, &mut browser, &[]).await, "{method}");
        let silent = get_json(&mut browser, &client.path(&verifier(), &[("prompt", "none")])).await;
        assert_eq!(parameter(&silent.json(), "code"), None, "{}", silent.text());
    }
}

#[tokio::test]
async fn a_yes_covers_what_was_shown_and_no_more() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let both = [("scope", "openid invoices:read"), ("resource", LEDGER)];
    assert_eq!(error(&silently(&client, &mut browser).await), "consent_required");
    client.tokens(&mut browser, &app, &both).await;
    assert!(!asks(&client, &mut browser, &both).await);
    assert!(!asks(&client, &mut browser, &[("scope", "invoices:read"), ("resource", LEDGER)]).await);
    assert!(asks(&client, &mut browser, &[("scope", "openid invoices:write"), ("resource", LEDGER)]).await);
    // What was allowed for one API is not allowed for another.
    assert!(asks(&client, &mut browser, &[("scope", "openid")]).await);
    assert!(asks(&client, &mut browser, &[both[0], both[1], ("prompt", "consent")]).await);
    // Nor for another client, nor for another person.
    let other = Relying::web(&app).await;
    assert!(asks(&other, &mut browser, &both).await);
    let mut bob = crate::people::register_with_password(&app, "bob@example.test").await;
    assert!(asks(&client, &mut bob, &both).await);
}

#[tokio::test]
async fn a_person_is_shown_who_asks_for_what_and_where_the_answer_goes() {
    let app = app().await;
    let mut browser = person(&app).await;
    let links = json!({"client_name": "Photo Printer", "client_uri": "https://printer.example",
                       "logo_uri": "https://printer.example/logo.png"});
    for (trust, shows_links) in [(Trust::Unverified, false), (Trust::Verified, true)] {
        let client = Relying::with(&app, trust, links.clone()).await;
        let more = [("scope", "openid invoices:read"), ("resource", LEDGER)];
        let shown = client.ask(&mut browser, &verifier(), &more).await.json()["request"].clone();
        assert_eq!(shown["client"]["name"], "Photo Printer");
        assert_eq!(shown["client"]["trust"], json!(trust));
        assert_eq!(shown["redirect_host"], "app.example.test");
        assert_eq!((&shown["audience"], &shown["audience_name"]), (&json!(LEDGER), &json!("Ledger")));
        let names: Vec<&Value> = shown["scopes"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        assert_eq!(names, [&json!("openid"), &json!("invoices:read")]);
        assert!(shown["scopes"].as_array().unwrap().iter().all(|it| it["description"].is_string()));
        // A stranger's pictures and links are for deceiving.
        assert_eq!(shown["client"].get("logo_uri").is_some(), shows_links);
        assert_eq!(shown["client"].get("uri").is_some(), shows_links);
    }
}

#[tokio::test]
async fn a_no_is_told_to_the_client_and_is_no_yes_later() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let answer = client.ask(&mut browser, &verifier(), &[]).await;
    let mut flow = Flow::new(answer.json());
    let said = flow.attempt(&mut browser, "consent/deny", nothing()).await;
    assert!(said.status.is_success(), "{}", said.text());
    assert_eq!(parameter(&flow.now, "error").as_deref(), Some("access_denied"), "{}", flow.now);
    assert_eq!(parameter(&flow.now, "iss").as_deref(), Some(super::ISSUER));
    assert_eq!(parameter(&flow.now, "code"), None);
    // It cannot be turned into a yes afterwards.
    let again = flow.attempt(&mut browser, "consent/allow", nothing()).await;
    assert!(!again.text().contains("code="), "{}", again.text());
    assert!(asks(&client, &mut browser, &[]).await);
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 0);
}

#[tokio::test]
async fn a_person_sees_what_they_allowed_and_takes_it_back() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, other) = (known(&app, &mut browser).await, known(&app, &mut browser).await);
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let kept = other.tokens(&mut browser, &app, &[]).await;
    let (unused, right) = client.code(&mut browser, &[]).await;
    let listed = browser.get("/v1/account/grants").await.json();
    let ids: Vec<&str> =
        listed["items"].as_array().unwrap().iter().filter_map(|it| it["client_id"].as_str()).collect();
    assert!(ids.contains(&client.id.as_str()) && ids.contains(&other.id.as_str()), "{listed}");

    assert_eq!(browser.delete(&format!("/v1/account/grants/{}", client.id)).await.status, 204);
    refused(&client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await, "invalid_grant");
    refused(&client.redeem(&app, &unused, &right).await, "invalid_grant");
    assert_eq!(userinfo(&app, tokens["access_token"].as_str().unwrap()).await.status, 401);
    assert!(asks(&client, &mut browser, &[]).await, "what was taken back is not remembered");
    assert_eq!(userinfo(&app, kept["access_token"].as_str().unwrap()).await.status, 200);
    assert!(!asks(&other, &mut browser, &[]).await);
}

/// A flow that asks for consent is its browser's: another cannot say yes in it.
#[tokio::test]
async fn only_the_person_who_was_asked_can_say_yes() {
    let app = app().await;
    let mut ana = person(&app).await;
    let mut bob = crate::people::register_with_password(&app, "bob@example.test").await;
    let client = Relying::web(&app).await;
    let asked = client.ask(&mut ana, &verifier(), &[]).await.json();
    let mut flow = Flow::new(asked.clone());
    assert_eq!(flow.attempt(&mut bob, "consent/allow", nothing()).await.status, 404);
    // Signed out in the meantime, nobody says yes.
    let mut left = Flow::new(asked);
    assert_eq!(ana.get("/v1/account/sessions").await.json()["items"].as_array().unwrap().len(), 1);
    app.sql("UPDATE session SET ended_at = now()").await;
    let late = left.attempt(&mut ana, "consent/allow", nothing()).await;
    assert!(parameter(&late.json(), "code").is_none(), "{}", late.text());
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 0);
}

#[tokio::test]
async fn a_request_that_is_no_longer_good_when_the_person_agrees_gets_no_code() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let asked = client.ask(&mut browser, &verifier(), &[]).await.json();
    porteiro_service::oauth::clients::disable(&app.app.store, &client.id).await.unwrap();
    let mut flow = Flow::new(asked);
    let late = flow.attempt(&mut browser, "consent/allow", nothing()).await;
    assert!(parameter(&late.json(), "code").is_none(), "{}", late.text());
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 0);
    stays(&browser.get(&client.path(&verifier(), &[])).await, "a client that is gone");
    let body = agree(&mut browser, late.json()).await;
    assert!(parameter(&body, "code").is_none());
}
