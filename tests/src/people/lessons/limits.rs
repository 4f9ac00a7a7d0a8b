//! Who is counted, and what does not reset the count.

use std::sync::Arc;

use porteiro_service::settings::Settings;
use porteiro_testkit::{Browser, TestApp};
use serde_json::{Value, json};

use super::{
    super::{PASSWORD, app, enrol, register, register_with_password},
    ANA, signed_in,
};

async fn guess(browser: &mut Browser, identifier: &str, password: &str) -> u16 {
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let input = json!({"identifier": identifier, "password": password});
    flow.attempt(browser, "password/check", input).await.status.as_u16()
}

/// Authelia CVE-2025-24806 and CVE-2026-47203: another spelling or a spoofed address was another counter.
#[tokio::test]
async fn cve_2025_24806_spellings_and_spoofed_addresses_share_one_bucket() {
    let app = app().await;
    register_with_password(&app, "rené@example.test").await;
    app.forget_limits().await;
    let spellings =
        ["rené@example.test", "RENÉ@EXAMPLE.TEST", "rene\u{301}@example.test", " René@Example.Test "];
    let mut looked_at = 0;
    for number in 0..24 {
        let mut browser = Browser::new(&app);
        for name in ["x-forwarded-for", "x-real-ip", "forwarded", "cf-connecting-ip"] {
            browser.headers.push((name, format!("198.51.100.{number}")));
        }
        let status = guess(&mut browser, spellings[number % spellings.len()], "not the right one").await;
        assert!(matches!(status, 422 | 429), "{status}");
        looked_at += u32::from(status == 422);
    }
    assert_eq!(looked_at, 10);
}

/// Zitadel 2025-10: changing the password was a way to guess it without a limit.
#[tokio::test]
async fn zitadel_2025_10_guessing_the_current_password_is_limited_too() {
    let app = app().await;
    let mut browser = register_with_password(&app, ANA).await;
    let mut flow = enrol(&mut browser, "password").await;
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    app.forget_limits().await;
    let input = json!({"current_password": "not the right one", "new_password": "another long password"});
    let mut answers = Vec::new();
    for _ in 0..12 {
        answers.push(flow.attempt(&mut browser, "password/set", input.clone()).await.status.as_u16());
    }
    assert_eq!(answers.iter().filter(|status| **status == 422).count(), 10, "{answers:?}");
    assert_eq!(&answers[10..], [429, 429]);
}

/// Keycloak issue 49960: signing in by another way reset the counter of guesses.
#[tokio::test]
async fn keycloak_49960_another_way_in_does_not_reset_the_count() {
    let app = app().await;
    register_with_password(&app, ANA).await;
    app.forget_limits().await;
    let (mut stranger, mut other) = (Browser::new(&app), Browser::new(&app));
    for _ in 0..10 {
        assert_eq!(guess(&mut stranger, ANA, "not the right one").await, 422);
    }
    let mut flow = other.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut other, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    flow.act(&mut other, "email_code/check", json!({"code": code})).await;
    assert_eq!(guess(&mut stranger, ANA, "not the right one").await, 429);
}

/// authentik CVE-2024-47070: a forwarded address that did not parse, and the password was not asked for.
#[tokio::test]
async fn cve_2024_47070_an_unreadable_forwarded_address_skips_nothing() {
    let app = Arc::new(
        TestApp::builder()
            .people()
            .settings(|settings| settings.trusted_proxies = vec!["203.0.113.0/24".parse().unwrap()])
            .start()
            .await,
    );
    register_with_password(&app, ANA).await;
    app.forget_limits().await;
    let mut statuses = Vec::new();
    for (number, junk) in ["not an address", "", ",,,", "999.1.1.1", "[::1", "a, b, c", "::ffff:"]
        .iter()
        .cycle()
        .take(14)
        .enumerate()
    {
        let mut browser = Browser::new(&app);
        browser.headers.push(("x-forwarded-for", (*junk).into()));
        let flow = browser.open(json!({"kind": "sign_in"})).await;
        assert_eq!((flow.stage(), &flow.now["account"]), ("authenticate", &Value::Null));
        statuses.push(guess(&mut browser, ANA, &format!("wrong guess number {number}")).await);
        assert!(browser.session().is_none());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 422).count(), 10, "{statuses:?}");
}

/// authentik CVE-2023-36456, Hanko 2026-07: headers anybody can send were believed unless somebody said otherwise.
#[tokio::test]
async fn cve_2023_36456_no_proxy_is_believed_by_default() {
    assert!(Settings::default().trusted_proxies.is_empty());
    let app = app().await;
    register(&app, ANA).await;
    let mut browser = signed_in(&app, ANA).await;
    browser.headers.push(("x-forwarded-for", "198.51.100.1".into()));
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    app.forget_limits().await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    flow.act(&mut browser, "enrol/skip", json!({})).await;
    let listed = browser.get("/v1/account/sessions").await.json();
    for session in listed["items"].as_array().unwrap() {
        assert_eq!(session["address"], "203.0.113.7");
    }
    let believed = "SELECT count(*) FROM security_log_personal WHERE personal->>'address' <> '203.0.113.7'";
    assert_eq!(app.count(believed).await, 0);
}

/// authentik CVE-2023-39522, Logto, Rauthy: recovery, registration and sign-in told who has an account.
#[tokio::test]
async fn cve_2023_39522_asking_for_a_code_tells_nothing_about_the_address() {
    let app = app().await;
    register(&app, ANA).await;
    for kind in ["sign_in", "register", "recover"] {
        let mut heard = Vec::new();
        for address in [ANA, "bob@example.test"] {
            app.forget_limits().await;
            let mut browser = Browser::new(&app);
            let mut flow = browser.open(json!({"kind": kind})).await;
            let sent = flow.attempt(&mut browser, "email_code/send", json!({"identifier": address})).await;
            let wrong = flow.attempt(&mut browser, "email_code/check", json!({"code": "wrong"})).await;
            for answer in [sent, wrong] {
                let mut body = answer.json();
                for path in ["/id", "/flow/id", "/instance"] {
                    mask(&mut body, path);
                }
                for path in ["/expires_at", "/phrase", "/flow/expires_at", "/flow/phrase"] {
                    mask(&mut body, path);
                }
                let text = body.to_string().replace("b•••", "a•••");
                heard.push((answer.status, answer.headers.len(), text));
            }
        }
        assert_eq!(heard[..2], heard[2..], "{kind}");
    }
}

fn mask(body: &mut Value, path: &str) {
    if let Some(value) = body.pointer_mut(path) {
        *value = json!("masked");
    }
}
