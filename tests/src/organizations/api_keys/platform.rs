//! Platform keys, and what the first administrator begins with.

use http::Method;
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::{Value, json};

use porteiro_service::{
    management::platform::{Change, change_at_console},
    oauth::clients::Trust,
};

use super::code;
use crate::{
    oauth::{self, driver::Relying},
    organizations::driver::{call, get, platform_key},
    people,
};

const PATH: &str = "/v1/platform/api-keys";

fn wanted(permissions: &[&str]) -> Value {
    json!({"name": "Robot", "permissions": permissions})
}

#[tokio::test]
async fn a_platform_key_makes_others_within_what_it_holds_by_name() {
    let app = TestApp::new().await;
    let key = platform_key(&app, &["platform.api-keys:*", "platform.accounts:*"]).await;
    let make = async |names: &[&str]| call(&app, Method::POST, PATH, &key, Some(&wanted(names)), &[]).await;
    let made = make(&["platform.accounts:read"]).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    assert_eq!((&made["kind"], &made["organization"]), (&json!("platform"), &Value::Null));
    for beyond in ["platform.clients:read", "organizations:administer", "members:impersonate"] {
        assert_eq!(code(&make(&[beyond]).await), (403, "authority_exceeded".into()), "{beyond}");
    }
    assert_eq!(code(&make(&["members:read"]).await), (422, "field_invalid".into()));
    let strong = platform_key(&app, &["platform.api-keys:write", "organizations:administer"]).await;
    let body = wanted(&["organizations:administer"]);
    assert_eq!(call(&app, Method::POST, PATH, &strong, Some(&body), &[]).await.status, 201);
    let child = made["secret"].as_str().unwrap();
    assert_eq!(get(&app, PATH, child).await.status, 403, "it holds less than who made it");
    let listed = get(&app, PATH, &key).await;
    assert_eq!(listed.json()["items"].as_array().unwrap().len(), 4);
    assert!(!listed.text().contains(&child[20..63]));
    let path = format!("{PATH}/{}", made["id"].as_str().unwrap());
    assert_eq!(call(&app, Method::DELETE, &path, child, None, &[]).await.status, 403);
    assert_eq!(call(&app, Method::DELETE, &path, &key, None, &[]).await.status, 204);
    assert_eq!(get(&app, PATH, child).await.status, 401);
    for kind in ["created", "revoked"] {
        let sql = format!("SELECT count(*) FROM security_log WHERE kind = 'api_key.{kind}'");
        assert!(app.count(&sql).await >= 1, "{kind}");
    }
}

/// What is reserved goes into a key only by a token that carries it, after a recent second factor.
#[tokio::test]
async fn an_operator_passes_on_what_is_reserved_only_when_they_have_just_proved_themselves() {
    let app = oauth::app().await;
    let client = Relying::with(&app, Trust::FirstParty, json!({})).await;
    let all: Vec<_> =
        ["platform.api-keys:write", "organizations:administer"].map(|it| it.parse().unwrap()).into();
    let (mut weak, mut strong) = (
        people::register_with_password(&app, "ana@example.test").await,
        people::register_with_passkey(&app, "ben@example.test").await,
    );
    let mut flow = strong.0.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut strong.0, "passkey/begin", nothing()).await;
    let response = strong.1.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut strong.0, "passkey/finish", json!({"credential": response})).await;
    for browser in [&mut weak, &mut strong.0] {
        let account = browser.get("/v1/account").await.json()["id"].as_str().unwrap().parse().unwrap();
        let (store, now, change) = (&app.app.store, app.app.clock.now(), Change::Grant(all.clone()));
        let held = change_at_console(store, now, &*app.app.entropy, account, &change).await;
        assert_eq!(held.unwrap().unwrap().len(), 2);
    }
    let both = "platform.api-keys:write organizations:administer";
    for (what, has_passkey, scope, expected) in [
        ("a password", false, both, 403),
        ("not carried", true, "platform.api-keys:write", 403),
        ("a passkey", true, both, 201),
    ] {
        let browser = if has_passkey { &mut strong.0 } else { &mut weak };
        let tokens = client.tokens(browser, &app, &[("scope", scope)]).await;
        let token = tokens["access_token"].as_str().unwrap();
        let ordinary = wanted(&["platform.api-keys:write"]);
        assert_eq!(call(&app, Method::POST, PATH, token, Some(&ordinary), &[]).await.status, 201, "{what}");
        let body = wanted(&["organizations:administer"]);
        let answer = call(&app, Method::POST, PATH, token, Some(&body), &[]).await;
        assert_eq!(answer.status, expected, "{what}: {}", answer.text());
    }
    assert_eq!(
        app.count("SELECT count(*) FROM security_log WHERE kind = 'platform.authority_changed'").await,
        2
    );
}

/// A repeated request is told that it was done, and not the secret: nobody has it.
#[tokio::test]
async fn a_secret_is_shown_once_even_to_whoever_asks_again() {
    let app = TestApp::new().await;
    let key = platform_key(&app, &["platform.api-keys:*"]).await;
    let body = wanted(&["platform.api-keys:read"]);
    let more = [("idempotency-key", "once")];
    let first = call(&app, Method::POST, PATH, &key, Some(&body), &more).await;
    assert_eq!(first.status, 201, "{}", first.text());
    let again = call(&app, Method::POST, PATH, &key, Some(&body), &more).await;
    assert_eq!(code(&again), (409, "secret_already_shown".into()));
    assert!(!again.text().contains(&first.json()["secret"].as_str().unwrap()[20..63]));
    assert_eq!(app.count("SELECT count(*) FROM api_key").await, 2);
    let page = get(&app, &format!("{PATH}?limit=1"), &key).await.json();
    let next = page["next_cursor"].as_str().unwrap();
    let rest = get(&app, &format!("{PATH}?limit=1&cursor={next}"), &key).await.json();
    assert_ne!(page["items"][0]["id"], rest["items"][0]["id"]);
    assert_eq!(rest["next_cursor"], Value::Null);
}

#[tokio::test]
async fn the_first_administrator_holds_everything_of_the_platform_but_what_is_reserved() {
    let app = std::sync::Arc::new(TestApp::builder().people().start().await);
    let armed = porteiro_service::bootstrap::arm(&app.app.store, &*app.app.entropy).await.unwrap();
    let porteiro_service::bootstrap::Armed::Key { key, .. } = armed else { panic!("no key") };
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "register", "bootstrap_key": key.reveal().as_str()})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "first@example.test"})).await;
    let code = app.mailed_code("first@example.test").await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    flow.act(&mut browser, "profile/set", json!({"display_name": "Root"})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    let account = browser.get("/v1/account").await.json()["id"].as_str().unwrap().parse().unwrap();
    let held = porteiro_service::platform::held(&app.app.store, account).await.unwrap();
    for own in porteiro_service::permissions::OWN {
        let permission: porteiro_protocol::permission::Permission = own.name.parse().unwrap();
        let expected =
            own.reach == porteiro_service::permissions::Reach::Platform && !permission.is_reserved();
        assert_eq!(held.covers(&permission), expected, "{permission}");
    }
    crate::people::register(&app, "second@example.test").await;
    assert_eq!(app.count("SELECT count(*) FROM platform_authority").await, 1);
}
