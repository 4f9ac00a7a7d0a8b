//! Retry-After, sign-out, denied flows, languages, names, OpenAPI, passkeys first. Where a page shows it, the test is in
//! `crates/screens/tests/screens/review.rs`.

use http::Method;
use porteiro_testkit::{Browser, nothing};
use serde_json::json;

use crate::people::{PASSWORD, app, enrol, register, register_with_password};

const ANA: &str = "ana@example.test";

/// Says the flow's whole answer to a password that is wrong.
async fn guess(browser: &mut Browser) -> porteiro_testkit::Answer {
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.attempt(browser, "password/check", json!({"identifier": ANA, "password": "wrong wrong wrong"})).await
}

/// `password.subject` refills one guess in 300 seconds; the answer was 60 whatever the bucket said.
#[tokio::test]
async fn retry_after_says_when_the_next_attempt_fits() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    for _ in 0..10 {
        assert_eq!(guess(&mut browser).await.status, 422);
    }
    let refused = guess(&mut browser).await;
    let wait: u32 = refused.header("retry-after").parse().unwrap();
    assert_eq!(refused.status, 429);
    assert!((290..=300).contains(&wait), "{wait}");
    app.sql("UPDATE limit_bucket SET full_at = full_at - interval '200 seconds'").await;
    let wait: u32 = guess(&mut browser).await.header("retry-after").parse().unwrap();
    assert!((90..=100).contains(&wait), "{wait}");
    app.sql("UPDATE limit_bucket SET full_at = full_at - interval '100 seconds'").await;
    assert_eq!(guess(&mut browser).await.status, 422, "and then it does fit");
}

#[tokio::test]
async fn retry_after_of_another_code_is_what_is_left_of_thirty_seconds() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    app.sql("UPDATE challenge SET created_at = created_at - interval '20 seconds'").await;
    let refused = flow.attempt(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let wait: u32 = refused.header("retry-after").parse().unwrap();
    assert!((8..=11).contains(&wait), "{wait}");
}

#[tokio::test]
async fn signing_out_without_a_session_forgets_the_flows_that_wait() {
    let app = app().await;
    register(&app, ANA).await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    assert!(browser.cookies.contains_key("__Host-bind"));
    assert_eq!(browser.get("/connect/logout").await.status, 200);
    assert_eq!(browser.cookies.get("__Host-bind").map_or("", String::as_str), "");
    assert_eq!(flow.show(&mut browser).await.status, 404, "whoever comes next cannot go on with it");
}

#[tokio::test]
async fn a_flow_that_was_denied_is_gone() {
    let app = app().await;
    let mut browser = register_with_password(&app, ANA).await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    assert_eq!(flow.stage(), "raise");
    // It ends by something else than a step of its own.
    app.sql("UPDATE session SET ended_at = now(), end_reason = 'ended_by_owner'").await;
    flow.show(&mut browser).await;
    assert_eq!((flow.stage(), &flow.now["reason"]), ("denied", &json!("session_ended")));
    let answer = flow.attempt(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["code"]), (410, &json!("flow_finished")));
}

/// Whoever signs in may be somebody else, at a browser that speaks something else.
#[tokio::test]
async fn notices_are_written_in_the_language_of_the_account() {
    let app = app().await;
    register_with_password(&app, ANA).await;
    app.sql("UPDATE account SET locale = 'pt'; DELETE FROM job").await;
    let mut stranger = Browser::new(&app);
    let mut flow = stranger.open(json!({"kind": "sign_in", "locale": "en"})).await;
    flow.act(&mut stranger, "password/check", json!({"identifier": ANA, "password": PASSWORD})).await;
    assert_eq!(flow.now["account"]["locale"], "pt", "and a page can speak it");
    flow.act(&mut stranger, "enrol/skip", nothing()).await;
    let (subject, _) = app.mail(ANA).await;
    assert!(
        subject.contains("acesso") || subject.contains("entrou") || subject.contains("dispositivo"),
        "{subject}"
    );
}

#[tokio::test]
async fn names_hold_nothing_that_cannot_be_seen() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "register"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    let hidden =
        ["A\u{200b}na", "\u{202e}anA", "A\u{2060}na", "A\u{200d}na", "\u{3164}", "A\u{e0041}na", "A\u{ad}na"];
    for name in hidden {
        let answer = flow.attempt(&mut browser, "profile/set", json!({"display_name": name})).await;
        assert_eq!(answer.status, 422, "{name:?}");
    }
    flow.act(&mut browser, "profile/set", json!({"display_name": "می\u{200c}خواهم"})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    let id =
        browser.get("/v1/account/credentials").await.json()["items"][0]["id"].as_str().unwrap().to_owned();
    for label in hidden {
        let path = format!("/v1/account/credentials/{id}");
        let answer = browser.call(Method::PATCH, &path, Some(&json!({"label": label}))).await;
        assert_eq!(answer.status, 422, "{label:?}");
    }
    let mut authenticator =
        porteiro_testkit::VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    let mut adding = enrol(&mut browser, "passkey").await;
    adding.act(&mut browser, "passkey/enrol_begin", nothing()).await;
    let response = authenticator.register(&adding.now["challenge"]["public_key"]);
    let input = json!({"credential": response, "label": "My\u{202e}yek"});
    adding.act(&mut browser, "passkey/enrol_finish", input).await;
    assert_eq!(app.count("SELECT count(*) FROM credential WHERE label = 'Passkey'").await, 1);
}

#[test]
fn every_route_of_the_product_api_has_an_operation() {
    let table = porteiro_service::table();
    let routes = table.iter().filter(|route| route.path.starts_with("/v1/"));
    let missing: Vec<String> = routes
        .filter(|route| route.documented().is_none())
        .map(|route| format!("{} {}", route.method, route.path))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// A key's name is read by whoever decides whether to revoke it.
#[test]
fn names_of_keys_and_members_hold_nothing_that_cannot_be_seen() {
    for hidden in ["pay\u{200b}roll", "\u{202e}llorayp", "pay\u{feff}roll"] {
        assert!(porteiro_service::management::members::decide::name(hidden).is_none(), "{hidden:?}");
    }
}
