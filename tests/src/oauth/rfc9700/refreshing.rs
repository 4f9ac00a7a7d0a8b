//! Refresh tokens (RFC 9700 §2.2.2, §4.14; OAuth 2.1 §4.3).

use porteiro_service::oauth::clients::{self, Trust};
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::{Value, json};

use super::{
    super::{
        LEDGER, app,
        codes::refused,
        driver::{Relying, person, userinfo},
    },
    known,
};
use crate::people::{PASSWORD, enrol};

fn text<'a>(tokens: &'a Value, name: &str) -> &'a str {
    tokens[name].as_str().unwrap_or_else(|| panic!("no {name} in {tokens}"))
}

/// Neither of the two opens anything any more.
async fn are_dead(app: &TestApp, client: &Relying, tokens: &Value) {
    refused(&client.refresh(app, text(tokens, "refresh_token"), &[]).await, "invalid_grant");
    assert_eq!(userinfo(app, text(tokens, "access_token")).await.status, 401);
}

#[tokio::test]
async fn a_public_clients_tokens_rotate_and_a_replay_ends_them_all() {
    let app = app().await;
    let mut browser = person(&app).await;
    for trust in [Trust::Unverified, Trust::Verified] {
        let client = Relying::public(&app, trust).await;
        let other = client.tokens(&mut browser, &app, &[]).await;
        let first = client.tokens(&mut browser, &app, &[]).await;
        let second = client.refresh(&app, text(&first, "refresh_token"), &[]).await.json();
        assert_ne!(second["refresh_token"], first["refresh_token"]);
        refused(&client.refresh(&app, text(&first, "refresh_token"), &[]).await, "invalid_grant");
        are_dead(&app, &client, &second).await;
        // Another authorization of the same client is another family.
        assert_eq!(client.refresh(&app, text(&other, "refresh_token"), &[]).await.status, 200);
    }
}

/// Of many that present one token at the same moment, one gets the next; the others end the family.
#[tokio::test]
async fn of_many_refreshes_at_once_one_succeeds() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (app, client, token) = (app.clone(), client.clone(), text(&tokens, "refresh_token").to_owned());
        racing.spawn(async move { client.refresh(&app, &token, &[]).await });
    }
    let answers = racing.join_all().await;
    let won: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(won.len(), 1);
    are_dead(&app, &client, &won[0].json()).await;
}

/// RFC 9700 §4.14.2: a token says nothing that could be changed, and no part of it is enough (GHSA-6mq3).
#[tokio::test]
async fn a_token_that_was_changed_anywhere_is_no_token() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let token = text(&tokens, "refresh_token");
    for index in 0..token.len() {
        let other = if token.as_bytes()[index] == b'A' { "B" } else { "A" };
        let changed = format!("{}{other}{}", &token[..index], &token[index + 1..]);
        for wrong in [changed.as_str(), &token[..index], &token[index + 1..]] {
            if !wrong.is_empty() {
                refused(&client.refresh(&app, wrong, &[]).await, "invalid_grant");
            }
        }
    }
    for wrong in [format!("{token}A"), format!(" {token}"), token.to_uppercase(), format!("{token}{token}")] {
        refused(&client.refresh(&app, &wrong, &[]).await, "invalid_grant");
    }
    assert_eq!(client.refresh(&app, token, &[]).await.status, 200, "none of that hurt it");
}

#[tokio::test]
async fn nothing_that_was_never_granted_can_be_asked_for_later() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let asked = [("scope", "openid invoices:read"), ("resource", LEDGER)];
    let mut tokens = client.tokens(&mut browser, &app, &asked).await;
    // More was allowed in another grant of the same client; this one does not grow by it.
    client.tokens(&mut browser, &app, &[("scope", "openid invoices:write"), ("resource", LEDGER)]).await;
    for (scope, error) in [
        ("openid invoices:read invoices:write", "invalid_scope"),
        ("invoices:write", "invalid_scope"),
        ("email", "invalid_scope"),
        ("offline_access", "invalid_scope"),
        ("INVOICES:READ", "invalid_scope"),
        ("invoices:rea", "invalid_scope"),
        ("invoices:read\u{e9}", "invalid_scope"),
    ] {
        refused(&client.refresh(&app, text(&tokens, "refresh_token"), &[("scope", scope)]).await, error);
    }
    for resource in ["https://id.example.test", "https://ledger.example.test/x", "https://evil.example"] {
        let answer = client.refresh(&app, text(&tokens, "refresh_token"), &[("resource", resource)]).await;
        refused(&answer, "invalid_target");
    }
    for scope in ["invoices:read", "openid", "invoices:read openid", ""] {
        let next = client.refresh(&app, text(&tokens, "refresh_token"), &[("scope", scope)]).await.json();
        let expected = if scope.is_empty() { "openid invoices:read" } else { scope };
        let (mut got, mut wanted): (Vec<_>, Vec<_>) =
            (text(&next, "scope").split(' ').collect(), expected.split(' ').collect());
        got.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(got, wanted);
        tokens = next;
    }
}

#[tokio::test]
async fn another_client_can_neither_use_nor_end_a_token() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, other) = (known(&app, &mut browser).await, known(&app, &mut browser).await);
    let public = Relying::public(&app, Trust::Verified).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    for thief in [&other, &public] {
        refused(&thief.refresh(&app, text(&tokens, "refresh_token"), &[]).await, "invalid_grant");
        assert_eq!(
            thief.call(&app, "/connect/revoke", &[("token", text(&tokens, "refresh_token"))]).await.status,
            200
        );
        assert_eq!(
            thief.call(&app, "/connect/revoke", &[("token", text(&tokens, "access_token"))]).await.status,
            200
        );
    }
    let impostor = Relying { secret: None, ..client.clone() };
    assert_eq!(impostor.refresh(&app, text(&tokens, "refresh_token"), &[]).await.status, 401);
    let borrowed = Relying { secret: other.secret.clone(), ..client.clone() };
    assert_eq!(borrowed.refresh(&app, text(&tokens, "refresh_token"), &[]).await.status, 401);
    assert_eq!(client.refresh(&app, text(&tokens, "refresh_token"), &[]).await.status, 200);
}

#[tokio::test]
async fn after_a_revocation_nothing_of_the_family_works() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    for (kind, hint) in [("refresh_token", ""), ("access_token", ""), ("refresh_token", "access_token")] {
        let first = client.tokens(&mut browser, &app, &[]).await;
        let second = client.refresh(&app, text(&first, "refresh_token"), &[]).await.json();
        let form = [("token", text(&second, kind)), ("token_type_hint", hint)];
        assert_eq!(client.call(&app, "/connect/revoke", &form).await.status, 200);
        are_dead(&app, &client, &second).await;
        are_dead(&app, &client, &first).await;
    }
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    clients::disable(&app.app.store, &client.id).await.unwrap();
    app.app.directory.forget(&client.id);
    assert_eq!(client.refresh(&app, text(&tokens, "refresh_token"), &[]).await.status, 401);
    assert_eq!(userinfo(&app, text(&tokens, "access_token")).await.status, 401);
}

#[tokio::test]
async fn signing_out_ends_what_was_not_asked_to_outlive_it() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let tied = client.tokens(&mut browser, &app, &[]).await;
    let (unused, right) = client.code(&mut browser, &[]).await;
    let kept = client.tokens(&mut browser, &app, &[("scope", "openid offline_access")]).await;
    let sessions = browser.get("/v1/account/sessions").await.json();
    let id = text(&sessions["items"][0], "id").to_owned();
    assert_eq!(browser.delete(&format!("/v1/account/sessions/{id}")).await.status, 204);
    are_dead(&app, &client, &tied).await;
    refused(&client.redeem(&app, &unused, &right).await, "invalid_grant");
    let next = client.refresh(&app, text(&kept, "refresh_token"), &[]).await;
    assert_eq!(next.status, 200, "{}", next.text());
}

/// The thief's session and all it led to end with the password it was made with, offline or not.
#[tokio::test]
async fn a_new_password_ends_what_the_old_one_opened() {
    let app = app().await;
    let mut owner = person(&app).await;
    let mut thief = Browser::new(&app);
    let mut flow = thief.open(json!({"kind": "sign_in"})).await;
    let login = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut thief, "password/check", login).await;
    flow.act(&mut thief, "enrol/skip", nothing()).await;
    let client = known(&app, &mut thief).await;
    let tied = client.tokens(&mut thief, &app, &[]).await;
    let offline = client.tokens(&mut thief, &app, &[("scope", "openid offline_access")]).await;
    assert_eq!(userinfo(&app, text(&tied, "access_token")).await.status, 200);

    let mut flow = enrol(&mut owner, "password").await;
    flow.act(&mut owner, "password/check", json!({"password": PASSWORD})).await;
    let change = json!({"new_password": "another long password", "current_password": PASSWORD});
    flow.act(&mut owner, "password/set", change).await;
    are_dead(&app, &client, &tied).await;
    are_dead(&app, &client, &offline).await;
}

/// Who gets refresh tokens: clients that registered for them, and nobody on the `fapi2` profile.
#[tokio::test]
async fn refresh_tokens_are_for_clients_that_asked_for_them() {
    let app = app().await;
    let mut browser = person(&app).await;
    let once = Relying::with(&app, Trust::Verified, json!({"grant_types": ["authorization_code"]})).await;
    let tokens = once.tokens(&mut browser, &app, &[]).await;
    assert!(tokens.get("refresh_token").is_none());
    let denied = browser
        .get(&once.path(&super::super::driver::verifier(), &[("scope", "openid offline_access")]))
        .await;
    assert_eq!(super::error(&denied), "invalid_scope");
    let known = known(&app, &mut browser).await;
    let theirs = known.tokens(&mut browser, &app, &[]).await;
    let answer = once.refresh(&app, text(&theirs, "refresh_token"), &[]).await;
    refused(&answer, "unauthorized_client");
}

/// Nor does it help the thief to have signed out: what was to outlive the session does not outlive the password.
#[tokio::test]
async fn a_new_password_ends_what_the_old_one_left_behind() {
    let app = app().await;
    let mut owner = person(&app).await;
    let mut thief = Browser::new(&app);
    let mut flow = thief.open(json!({"kind": "sign_in"})).await;
    let login = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut thief, "password/check", login).await;
    flow.act(&mut thief, "enrol/skip", nothing()).await;
    let client = known(&app, &mut thief).await;
    let offline = client.tokens(&mut thief, &app, &[("scope", "openid offline_access")]).await;
    let sessions = thief.get("/v1/account/sessions").await.json();
    let current = sessions["items"].as_array().unwrap().iter().find(|it| it["current"] == true).unwrap();
    let id = text(current, "id").to_owned();
    assert_eq!(thief.delete(&format!("/v1/account/sessions/{id}")).await.status, 204);
    let mut flow = enrol(&mut owner, "password").await;
    flow.act(&mut owner, "password/check", json!({"password": PASSWORD})).await;
    let change = json!({"new_password": "another long password", "current_password": PASSWORD});
    flow.act(&mut owner, "password/set", change).await;
    are_dead(&app, &client, &offline).await;
}
