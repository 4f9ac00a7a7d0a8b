//! Who is signed in, since when, and who is asked again.

use porteiro_testkit::{Browser, Flow};
use serde_json::{Value, json};

use super::{
    super::{is_error, text},
    MODES, Visit,
};
use crate::people::PASSWORD;

/// Some time passes since the person proved anything.
async fn wait(visit: &Visit, seconds: u32) {
    let older = format!(
        "UPDATE session SET proofs = (SELECT jsonb_agg(jsonb_set(p, '{{at}}', to_jsonb((p->>'at')::bigint - {seconds})))
         FROM jsonb_array_elements(proofs) p)"
    );
    visit.app.sql(&older).await;
}

/// The second request asks for the password, and its token says so.
async fn proves_again(visit: &mut Visit, mode: &str, more: (&str, &str)) -> Value {
    let (body, verifier) = visit.ask(mode, &[more]).await;
    assert_eq!((&body["stage"], &body["kind"]), (&json!("raise"), &json!("reauthenticate")), "{body}");
    let mut flow = Flow::new(body);
    flow.act(&mut visit.browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
    let callback = super::arrived(&visit.client.redirect_uri, mode, &flow.now);
    let tokens = visit.redeem(&callback, &verifier).await;
    visit.id(&tokens).await
}

#[tokio::test]
async fn oidcc_prompt_login() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        visit.tokens(mode, &[]).await;
        wait(&visit, 100).await;
        let tokens = visit.tokens(mode, &[]).await;
        let first = visit.id(&tokens).await;
        let second = proves_again(&mut visit, mode, ("prompt", "login")).await;
        assert_eq!(first["sub"], second["sub"]);
        assert!(second["auth_time"].as_i64() > first["auth_time"].as_i64(), "{first} {second}");
    }
}

#[tokio::test]
async fn oidcc_prompt_none_not_logged_in() {
    let mut visit = Visit::new().await;
    visit.browser = Browser::new(&visit.app);
    let state = "s".repeat(128);
    for mode in MODES {
        let (callback, _) = visit.silently(mode, &[("prompt", "none"), ("state", &state)]).await;
        is_error(&callback, &["login_required"], Some(&state));
    }
}

#[tokio::test]
async fn oidcc_prompt_none_logged_in() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        let tokens = visit.tokens(mode, &[]).await;
        let first = visit.id(&tokens).await;
        let (callback, verifier) = visit.silently(mode, &[("prompt", "none")]).await;
        let tokens = visit.redeem(&callback, &verifier).await;
        let second = visit.id(&tokens).await;
        assert_eq!((&first["sub"], &first["auth_time"]), (&second["sub"], &second["auth_time"]));
    }
}

#[tokio::test]
async fn oidcc_max_age_1() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        visit.tokens(mode, &[]).await;
        wait(&visit, 2).await;
        let tokens = visit.tokens(mode, &[]).await;
        let first = visit.id(&tokens).await;
        let second = proves_again(&mut visit, mode, ("max_age", "1")).await;
        assert!(second["auth_time"].as_i64() > first["auth_time"].as_i64(), "{first} {second}");
        assert!(second["iat"].as_i64().unwrap() - second["auth_time"].as_i64().unwrap() < 60);
    }
}

#[tokio::test]
async fn oidcc_max_age_10000() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        let tokens = visit.tokens(mode, &[("max_age", "15000")]).await;
        let first = visit.id(&tokens).await;
        let (callback, verifier) = visit.silently(mode, &[("max_age", "10000")]).await;
        let tokens = visit.redeem(&callback, &verifier).await;
        let second = visit.id(&tokens).await;
        assert!(first["auth_time"].is_i64());
        assert_eq!((&first["sub"], &first["auth_time"]), (&second["sub"], &second["auth_time"]));
    }
}

#[tokio::test]
async fn oidcc_id_token_hint() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        let tokens = visit.tokens(mode, &[]).await;
        let first = visit.id(&tokens).await;
        let more = [("prompt", "none"), ("id_token_hint", text(&tokens, "id_token"))];
        let (callback, verifier) = visit.silently(mode, &more).await;
        let tokens = visit.redeem(&callback, &verifier).await;
        let second = visit.id(&tokens).await;
        assert_eq!((&first["sub"], &first["auth_time"]), (&second["sub"], &second["auth_time"]));
    }
}
