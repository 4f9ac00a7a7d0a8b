//! Who may look up a code, how often, and what it tells them.

use std::{fmt::Write, net::Ipv4Addr, sync::Arc};

use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::{Value, json};

use super::{super::app, allows, asks, error, person, polls, television, typed};
use crate::people::{PASSWORD, register_with_password};

async fn looks(browser: &mut Browser, code: &str) -> (u16, Value) {
    let mut flow = browser.open(json!({"kind": "confirm_device"})).await;
    let answer = flow.attempt(browser, "device/look", json!({"user_code": code})).await;
    (answer.status.as_u16(), answer.json())
}

#[tokio::test]
async fn nobody_looks_up_codes_without_a_name() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    let mut stranger = Browser::new(&app);
    let opened = json!({"kind": "confirm_device", "user_code": asked.user_code});
    let mut flow = stranger.open(opened).await;
    assert_eq!(flow.stage(), "authenticate");
    assert_eq!(flow.now["request"], Value::Null, "a link tells nobody who asks");
    let answer = flow.attempt(&mut stranger, "device/look", json!({"user_code": asked.user_code})).await;
    assert_eq!(answer.json()["code"], "unknown_action", "{}", answer.text());

    // They sign in on the way, and find what the link carried, to compare; it is not looked up by itself.
    register_with_password(&app, "ana@example.test").await;
    let ana = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut stranger, "password/check", ana).await;
    assert_eq!(flow.stage(), "device", "{}", flow.now);
    assert_eq!(flow.now["user_code"], asked.user_code.as_str());
    assert_eq!(flow.now["request"], Value::Null);
    flow.act(&mut stranger, "device/look", json!({"user_code": asked.user_code})).await;
    flow.act(&mut stranger, "consent/allow", nothing()).await;
    assert!(stranger.session().is_some(), "and they are signed in");
    assert_eq!(polls(&app, &device, &asked.device_code).await.status, 200);
}

/// Somebody without an account has nothing to let a device into.
#[tokio::test]
async fn a_device_makes_nobody_an_account() {
    let app = app().await;
    let mut nobody = Browser::new(&app);
    let mut flow = nobody.open(json!({"kind": "confirm_device"})).await;
    flow.act(&mut nobody, "email_code/send", json!({"identifier": "nobody@example.test"})).await;
    let (subject, _) = app.mail("nobody@example.test").await;
    assert!(!subject.starts_with(|c: char| c.is_ascii_digit()), "no code in «{subject}»");
    assert_eq!(app.count("SELECT count(*) FROM account").await, 0);
}

/// RFC 8628 §5.1. Unknown, expired, decided and somebody else's look the same.
#[tokio::test]
async fn guessing_is_slow_and_teaches_nothing() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    let mut bob = register_with_password(&app, "bob@example.test").await;
    let [taken, old, decided, good] = [
        asks(&app, &device, &[("scope", "openid")]).await,
        asks(&app, &device, &[("scope", "openid")]).await,
        asks(&app, &device, &[("scope", "openid")]).await,
        asks(&app, &device, &[("scope", "openid")]).await,
    ];
    typed(&mut bob, &taken.user_code).await;
    allows(&mut bob, &decided.user_code).await;
    app.sql(&format!(
        "UPDATE device_request SET expires_at = now() WHERE secret_hash = '\\x{}'",
        hash(&app, &old.device_code)
    ))
    .await;
    let mut answers = Vec::new();
    for code in ["BBBB-BBBB", &taken.user_code, &old.user_code, &decided.user_code] {
        let (status, mut body) = looks(&mut ana, code).await;
        body["instance"] = json!("masked");
        answers.push((status, body));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!((answers[0].0, &answers[0].1["errors"][0]["pointer"]), (422, &json!("/user_code")));
    // A right one does not count; the fifth wrong one does, and then a right one has to wait as well.
    assert_eq!(looks(&mut ana, &good.user_code).await.0, 200);
    assert_eq!(looks(&mut ana, "not a code").await.0, 422);
    assert_eq!(looks(&mut ana, "CCCC-CCCC").await.0, 429);
    assert_eq!(looks(&mut ana, &good.user_code).await.0, 429);
    // Another person is not in their way.
    assert_eq!(looks(&mut bob, &taken.user_code).await.0, 200);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn hash(app: &TestApp, device_code: &str) -> String {
    let handle = app.app.secrets.handles.open(porteiro_service::secrets::HandleKind::DeviceCode, device_code);
    hex(&handle.unwrap().hash)
}

/// Many accounts, many networks: together they run into a limit of their own.
#[tokio::test]
async fn everybody_together_is_limited_too() {
    let app = app().await;
    let mut ana = person(&app).await;
    assert_eq!(looks(&mut ana, "BBBB-BBBB").await.0, 422);
    // The shared bucket as a distributed guesser leaves it.
    let rule = porteiro_service::limits::DEVICE_CODE_ALL;
    let key = app.app.secrets.limit_key(rule.name, b"");
    let hex = hex(&key);
    app.sql(&format!(
        "UPDATE limit_bucket SET full_at = now() + interval '1 hour' WHERE bucket_key = '\\x{hex}'"
    ))
    .await;
    let mut elsewhere = Browser::new(&app.from_address(Ipv4Addr::new(203, 0, 113, 9)));
    elsewhere.cookies.clone_from(&ana.cookies);
    assert_eq!(looks(&mut elsewhere, "CCCC-CCCC").await.0, 429);
}

#[tokio::test]
async fn whoever_looked_it_up_decides_it() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    let mut bob = register_with_password(&app, "bob@example.test").await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    let mut flow = typed(&mut ana, &asked.user_code).await;
    assert_eq!(looks(&mut bob, &asked.user_code).await.0, 422, "it is hers");
    assert_eq!(looks(&mut ana, &asked.user_code).await.0, 200, "again, in another window");
    // She was signed in as the wrong one: she says so, signs in as the other, and types it anew.
    flow.act(&mut ana, "account/switch", nothing()).await;
    assert_eq!((flow.stage(), &flow.now["request"]), ("authenticate", &Value::Null));
    let other = json!({"identifier": "bob@example.test", "password": PASSWORD});
    flow.act(&mut ana, "password/check", other).await;
    assert_eq!((flow.stage(), &flow.now["user_code"]), ("device", &json!(asked.user_code)));
    flow.act(&mut ana, "device/look", json!({"user_code": asked.user_code})).await;
    flow.act(&mut ana, "consent/allow", nothing()).await;
    let tokens = polls(&app, &device, &asked.device_code).await.json();
    let me = super::userinfo(&app, tokens["access_token"].as_str().unwrap()).await.json();
    let bobs = bob.get("/v1/account").await.json()["id"].clone();
    assert_eq!(me["sub"], bobs);
}

/// Two people type the same code in the same moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_gets_to_decide() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let ana = Arc::new(tokio::sync::Mutex::new(person(&app).await));
    let bob = register_with_password(&app, "bob@example.test").await;
    let bob = Arc::new(tokio::sync::Mutex::new(bob));
    for _ in 0..8 {
        app.forget_limits().await;
        let code = asks(&app, &device, &[("scope", "openid")]).await.user_code;
        let mut racing = tokio::task::JoinSet::new();
        for who in [&ana, &bob] {
            let (who, code) = (Arc::clone(who), code.clone());
            racing.spawn(async move { looks(&mut *who.lock().await, &code).await.0 });
        }
        let mut statuses = racing.join_all().await;
        statuses.sort_unstable();
        assert_eq!((statuses[0], statuses[1] >= 400), (200, true), "{statuses:?}");
    }
}

/// T-dev-phish: the person sees that the device is not where they are.
#[tokio::test]
async fn a_device_somewhere_else_is_shown_as_one() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    let elsewhere = app.from_address(Ipv4Addr::new(203, 0, 113, 9));
    let asked = asks(&elsewhere, &device, &[("scope", "openid")]).await;
    let flow = typed(&mut ana, &asked.user_code).await;
    let shown = &flow.now["request"]["device"];
    assert_eq!((&shown["address"], &shown["same_network"]), (&json!("203.0.113.9"), &json!(false)));
}

#[tokio::test]
async fn devices_that_cannot_prove_themselves_are_counted() {
    let app = app().await;
    let more =
        json!({"redirect_uris": [], "grant_types": [super::GRANT], "token_endpoint_auth_method": "none"});
    let device = super::Relying::with(&app, Trust::Verified, more).await;
    for _ in 0..60 {
        asks(&app, &device, &[("scope", "openid")]).await;
    }
    let answer = device.call(&app, "/connect/device", &[("scope", "openid")]).await;
    let wait: u32 = answer.header("retry-after").parse().unwrap();
    assert!(answer.status == 429 && (1..=10).contains(&wait), "{wait}");
    let known = television(&app, Trust::Verified).await;
    asks(&app, &known, &[("scope", "openid")]).await;
    let nobody = app.form("/connect/device", "client_id=nobody&scope=openid").await;
    assert_eq!(nobody.status, 401);
    let unproved = app.form("/connect/device", format!("client_id={}&scope=openid", known.id)).await;
    assert_eq!(unproved.json()["error"], "invalid_client");
    let unasked = known.call(&app, "/connect/device", &[("scope", "no:such")]).await;
    assert_eq!(error(&unasked), "invalid_scope");
}
