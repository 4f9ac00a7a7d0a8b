//! Passwords: optional, long, blocklisted, hashed, never confirmed to a stranger.

use std::sync::Arc;

use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::json;

use super::{
    PASSWORD, app, enrol, register, register_to_enrolment, register_with_password, single_connection,
};

async fn try_password(browser: &mut Browser, address: &str, password: &str) -> (u16, String) {
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let input = json!({"identifier": address, "password": password});
    let answer = flow.attempt(browser, "password/check", input).await;
    (answer.status.as_u16(), flow.stage().to_owned())
}

#[tokio::test]
async fn sign_in_with_a_password() {
    let app = app().await;
    register_with_password(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let (status, stage) = try_password(&mut browser, "ana@example.test", PASSWORD).await;
    assert_eq!((status, stage.as_str()), (200, "enrol"));
    assert_eq!(try_password(&mut browser, "ana@example.test", "correct horse batterz").await.0, 422);
    assert_eq!(try_password(&mut browser, "ana@example.test", &PASSWORD.to_uppercase()).await.0, 422);
    let stored = app.count("SELECT count(*) FROM credential WHERE body->>'hash' LIKE '$argon2id$%'").await;
    assert_eq!(stored, 1);
}

#[tokio::test]
async fn asvs_6_2_1_and_6_2_4_short_and_common_passwords_are_refused_with_a_reason() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = register_to_enrolment(&app, &mut browser, "ana@example.test").await;
    for (password, code, reason) in [
        ("fourteen chars", "too_short", "at least 15"),
        ("passwordpassword", "common", "too common"),
        ("porteiroporteiro", "guessable", "this service"),
        (&"x".repeat(5_000), "too_long", "at most"),
    ] {
        let answer = flow.attempt(&mut browser, "password/set", json!({"new_password": password})).await;
        assert_eq!(answer.status, 422, "{password}");
        let answer = answer.json();
        assert!(answer["detail"].as_str().unwrap().contains(reason), "{answer}");
        let error =
            json!({"pointer": "/new_password", "code": code, "detail": answer["errors"][0]["detail"]});
        assert_eq!(answer["errors"], json!([error]));
    }
    flow.act(&mut browser, "password/set", json!({"new_password": "fifteen is fine"})).await;
    assert_eq!(flow.stage(), "complete");
}

#[tokio::test]
async fn asvs_6_2_3_a_change_takes_the_current_password() {
    let app = app().await;
    let mut browser = register_with_password(&app, "ana@example.test").await;
    // Mailbox proof only: the account has a password, so more is asked for.
    let mut flow = enrol(&mut browser, "password").await;
    assert_eq!(flow.stage(), "raise");
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(flow.stage(), "enrol");
    let without =
        flow.attempt(&mut browser, "password/set", json!({"new_password": "another long password"})).await;
    assert_eq!(without.status, 422);
    let wrong = json!({"new_password": "another long password", "current_password": "not the right one"});
    assert_eq!(flow.attempt(&mut browser, "password/set", wrong).await.status, 422);
    let right = json!({"new_password": "another long password", "current_password": PASSWORD});
    flow.act(&mut browser, "password/set", right).await;
    assert_eq!(flow.stage(), "complete");

    let mut other = Browser::new(&app);
    assert_eq!(try_password(&mut other, "ana@example.test", PASSWORD).await.0, 422);
    assert_eq!(try_password(&mut other, "ana@example.test", "another long password").await.0, 200);
    assert_eq!(app.count("SELECT count(*) FROM credential WHERE kind = 'password'").await, 1);
}

#[tokio::test]
async fn unknown_and_known_people_get_the_same_answer() {
    let app = app().await;
    register_with_password(&app, "ana@example.test").await;
    register(&app, "bob@example.test").await;
    let mut bodies = Vec::new();
    for address in ["ana@example.test", "bob@example.test", "nobody@example.test"] {
        let mut browser = Browser::new(&app);
        let mut flow = browser.open(json!({"kind": "sign_in"})).await;
        let input = json!({"identifier": address, "password": "not the right one"});
        let answer = flow.attempt(&mut browser, "password/check", input).await;
        let mut body = answer.json();
        for path in ["/instance", "/flow/id", "/flow/expires_at", "/flow/phrase"] {
            *body.pointer_mut(path).unwrap() = json!("masked");
        }
        let mut names: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
        names.sort();
        bodies.push((answer.status, names, body.to_string()));
    }
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "{bodies:#?}");
}

#[tokio::test]
async fn f_brute_guesses_in_parallel_never_exceed_the_limit() {
    // Forty at once wait longer for a single connection than anybody waits.
    if single_connection() {
        return;
    }
    let app = Arc::new(TestApp::builder().people().connections(4).start().await);
    register_with_password(&app, "ana@example.test").await;
    app.forget_limits().await;
    let mut guesses = tokio::task::JoinSet::new();
    for guess in 0..40 {
        let app = app.clone();
        guesses.spawn(async move {
            let mut browser = Browser::new(&app);
            // Spelling makes no new subject (CVE-2025-24806).
            let address = if guess % 2 == 0 { "ana@example.test" } else { "ANA@EXAMPLE.TEST" };
            try_password(&mut browser, address, &format!("wrong guess number {guess}")).await.0
        });
    }
    let answers = guesses.join_all().await;
    let looked_at = answers.iter().filter(|status| **status == 422).count();
    assert!(looked_at <= 10, "{looked_at} guesses were looked at");
    assert!(answers.iter().all(|status| matches!(status, 422 | 429)), "{answers:?}");

    // Nobody is locked out: a mailbox still opens the door.
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
}

#[tokio::test]
async fn a_known_device_has_a_bucket_of_its_own() {
    let app = app().await;
    let mut known = register_with_password(&app, "ana@example.test").await;
    known.cookies.remove("__Host-session");
    app.forget_limits().await;
    let mut stranger = Browser::new(&app);
    for _ in 0..10 {
        assert_eq!(try_password(&mut stranger, "ana@example.test", "not the right one").await.0, 422);
    }
    assert_eq!(try_password(&mut stranger, "ana@example.test", PASSWORD).await.0, 429);
    assert_eq!(try_password(&mut known, "ana@example.test", PASSWORD).await.0, 200);
}

#[tokio::test]
async fn fifty_failures_in_a_row_exhaust_a_password_until_it_is_bound_again() {
    let app = app().await;
    register_with_password(&app, "ana@example.test").await;
    app.sql("UPDATE credential SET failures = 49 WHERE kind = 'password'").await;
    let mut browser = Browser::new(&app);
    assert_eq!(try_password(&mut browser, "ana@example.test", "not the right one").await.0, 422);
    assert_eq!(try_password(&mut browser, "ana@example.test", PASSWORD).await.0, 422, "exhausted");
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'credential.exhausted'").await, 1);
}

#[tokio::test]
async fn an_old_hash_is_upgraded_when_its_password_is_used() {
    let app = app().await;
    register_with_password(&app, "ana@example.test").await;
    let before: String = app
        .database
        .client()
        .await
        .query_one("SELECT body->>'hash' FROM credential WHERE kind = 'password'", &[])
        .await
        .unwrap()
        .get(0);
    assert!(before.contains("m=19456,t=2,p=1"), "{before}");
    let mut browser = Browser::new(&app);
    let (status, _) = try_password(&mut browser, "ana@example.test", PASSWORD).await;
    assert_eq!(status, 200);
    let _ = nothing();
}
