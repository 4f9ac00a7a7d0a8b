//! Signing keys that something is wrong with, and ID tokens whose key is retired (decision record 0087).

use std::sync::Arc;

use porteiro_protocol::jose::Algorithm;
use porteiro_service::{
    oauth::{
        clients::Trust,
        keys::{self, KeyRecord, KeyState, KeysError, Rotation},
    },
    secrets::MasterKey,
};
use porteiro_testkit::{Browser, SeededEntropy, TestApp, verify};
use serde_json::{Value, json};

use crate::oauth::{
    app,
    driver::{Relying, get_json, parameter, person, userinfo, verifier},
    encode,
};

const AFTER: &str = "https://app.example.test/bye";

/// A master key that no node has.
fn other_master() -> Arc<MasterKey> {
    let entropy = Arc::new(SeededEntropy::new(87));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.key");
    std::fs::write(&file, MasterKey::generate_text(&*entropy)).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    Arc::new(MasterKey::from_file(&file, entropy).unwrap())
}

async fn rotate(app: &TestApp, master: &Arc<MasterKey>, algorithm: Algorithm) -> Result<(), KeysError> {
    let settings = &app.app.checked.settings;
    keys::rotate(&app.app.store, master, settings, algorithm, Rotation::Now).await
}

async fn key(app: &TestApp, algorithm: Algorithm, state: KeyState) -> KeyRecord {
    let listed = keys::list(&app.app.store).await.unwrap();
    listed.into_iter().find(|key| key.algorithm == algorithm && key.state == state).unwrap()
}

/// Rotates every ring, and retires what signed before.
async fn replace_every_key(app: &TestApp) {
    for algorithm in Algorithm::ALL {
        rotate(app, app.app.keys.master(), *algorithm).await.unwrap();
        let old = key(app, *algorithm, KeyState::Retiring).await.public.kid;
        let settings = &app.app.checked.settings;
        keys::retire(&app.app.store, settings, &old, Rotation::Now).await.unwrap();
    }
    app.app.keys.reload(&app.app.store).await.unwrap();
}

/// Whether readiness fails for the keys. The test's clock stands still, and may be a reason of its own.
async fn says_unusable(app: &TestApp) -> bool {
    app.get("/readyz").await.text().contains("no usable signing key")
}

async fn damage_next(app: &TestApp, what: &str) {
    app.sql(&format!("UPDATE signing_key SET {what} WHERE algorithm = 'ES256' AND state = 'next'")).await;
}

#[tokio::test]
async fn keys_are_made_only_under_the_master_key_of_the_others() {
    let app = TestApp::new().await;
    let before = keys::list(&app.app.store).await.unwrap().len();
    let other = other_master();
    let rotated = rotate(&app, &other, Algorithm::Es256).await;
    assert!(matches!(rotated, Err(KeysError::OtherMaster(_))), "{rotated:?}");
    app.sql("DELETE FROM signing_key WHERE algorithm = 'ES256' AND state = 'next'").await;
    let made = keys::generate(&app.app.store, &other, keys::Origin::Dev).await;
    assert!(matches!(made, Err(KeysError::OtherMaster(_))), "{made:?}");
    assert_eq!(keys::list(&app.app.store).await.unwrap().len(), before - 1);
}

/// Whatever is wrong with one key, another one that leaked is retired on every node.
#[tokio::test]
async fn an_unusable_key_does_not_keep_a_retired_one_alive() {
    for damage in ["sealed = decode('00', 'hex')", "public_jwk = '{}'"] {
        let app = app().await;
        let mut browser = person(&app).await;
        let client = Relying::web(&app).await;
        let tokens = client.tokens(&mut browser, &app, &[]).await;
        let token = tokens["access_token"].as_str().unwrap();
        assert_eq!(userinfo(&app, token).await.status, 200);
        replace_every_key_but_damage(&app, damage).await;

        assert_eq!(userinfo(&app, token).await.status, 401, "{damage}");
        let jwks = app.get("/.well-known/jwks.json").await.json();
        assert!(verify(token, &jwks).unwrap_err().contains("not published"), "{damage}");
        assert_eq!(app.app.keys.current().faults(), 1, "{damage}");
        let fresh = client.tokens(&mut browser, &app, &[]).await;
        assert!(verify(fresh["access_token"].as_str().unwrap(), &jwks).is_ok(), "{damage}");
        assert!(!says_unusable(&app).await, "the active keys sign");
    }
}

async fn replace_every_key_but_damage(app: &TestApp, damage: &str) {
    for algorithm in Algorithm::ALL {
        rotate(app, app.app.keys.master(), *algorithm).await.unwrap();
    }
    let listed = keys::list(&app.app.store).await.unwrap();
    damage_next(app, damage).await;
    for old in listed.iter().filter(|key| key.state == KeyState::Retiring) {
        let settings = &app.app.checked.settings;
        keys::retire(&app.app.store, settings, &old.public.kid, Rotation::Now).await.unwrap();
    }
    app.app.keys.reload(&app.app.store).await.unwrap();
}

#[tokio::test]
async fn an_active_key_that_is_damaged_signs_no_more_and_can_be_rotated_away() {
    let app = TestApp::new().await;
    let active = "algorithm = 'ES256' AND state = 'active'";
    app.sql(&format!("UPDATE signing_key SET sealed = decode('00', 'hex') WHERE {active}")).await;
    app.app.keys.reload(&app.app.store).await.unwrap();
    assert!(app.app.keys.current().signer(Algorithm::Es256).is_err());
    assert!(app.app.keys.current().signer(Algorithm::EdDsa).is_ok());
    assert!(says_unusable(&app).await);
    rotate(&app, app.app.keys.master(), Algorithm::Es256).await.unwrap();
    app.app.keys.reload(&app.app.store).await.unwrap();
    assert!(!says_unusable(&app).await);
}

#[tokio::test]
async fn a_next_key_that_is_damaged_never_signs_and_is_replaced() {
    let app = TestApp::new().await;
    damage_next(&app, "sealed = decode('00', 'hex')").await;
    let damaged = key(&app, Algorithm::Es256, KeyState::Next).await.public.kid;
    let refused = rotate(&app, app.app.keys.master(), Algorithm::Es256).await;
    assert!(matches!(refused, Err(KeysError::UnusableNext(_))), "{refused:?}");
    let made = keys::generate(&app.app.store, app.app.keys.master(), keys::Origin::Dev).await.unwrap();
    assert_eq!(made, 1);
    assert_ne!(key(&app, Algorithm::Es256, KeyState::Next).await.public.kid, damaged);
    rotate(&app, app.app.keys.master(), Algorithm::Es256).await.unwrap();
}

async fn leave(browser: &mut Browser, pairs: &[(&str, &str)]) -> (u16, Value) {
    let answer = get_json(browser, &format!("/connect/logout?{}", encode(pairs))).await;
    (answer.status.as_u16(), answer.json())
}

/// Sessions live for a month and keys may not: the person may still leave, and only they say so.
#[tokio::test]
async fn at_sign_out_a_hint_of_a_retired_key_is_no_hint() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::with(&app, Trust::Verified, json!({"post_logout_redirect_uris": [AFTER]})).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let hint = tokens["id_token"].as_str().unwrap();
    replace_every_key(&app).await;
    let pairs = [("id_token_hint", hint), ("post_logout_redirect_uri", AFTER), ("state", "x")];
    let (status, asked) = leave(&mut browser, &pairs).await;
    assert_eq!((status, &asked["stage"]), (200, &json!("confirm")), "{asked}");
    assert_eq!(browser.get("/v1/account").await.status, 200, "still signed in");
    let forged = format!("{}AAAA", &hint[..hint.len() - 4]);
    assert_eq!(leave(&mut browser, &[("id_token_hint", &forged)]).await.0, 400, "a forged one is refused");

    let confirmed = [&pairs[..], &[("confirm", asked["confirm"].as_str().unwrap())]].concat();
    let (_, out) = leave(&mut browser, &confirmed).await;
    assert_eq!((&out["stage"], &out["continue"]["type"]), (&json!("complete"), &json!("none")), "{out}");
    let (_, again) = leave(&mut browser, &pairs).await;
    assert_eq!(again["continue"]["type"], "none", "nor is anybody sent anywhere afterwards");
}

#[tokio::test]
async fn at_authorization_a_hint_of_a_retired_key_is_no_hint() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let hint = tokens["id_token"].as_str().unwrap();
    replace_every_key(&app).await;
    let silent = [("id_token_hint", hint), ("prompt", "none")];
    let silent = client.ask(&mut browser, &verifier(), &silent).await.json();
    assert_eq!(parameter(&silent, "error").as_deref(), Some("login_required"), "{silent}");
    let asked = client.ask(&mut browser, &verifier(), &[("id_token_hint", hint)]).await.json();
    assert!(parameter(&asked, "code").is_some(), "{asked}");
    let forged = format!("{}AAAA", &hint[..hint.len() - 4]);
    let refused = client.ask(&mut browser, &verifier(), &[("id_token_hint", &forged)]).await.json();
    assert_eq!(parameter(&refused, "error").as_deref(), Some("invalid_request"), "{refused}");
}
