//! Platform keys, and what the first administrator begins with.

use http::Method;
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::{Value, json};

use super::code;
use crate::organizations::driver::{call, get, platform_key};

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
    for own in porteiro_service::roles::permissions::OWN {
        let permission: porteiro_protocol::permission::Permission = own.name.parse().unwrap();
        let expected =
            own.reach == porteiro_service::roles::permissions::Reach::Platform && !permission.is_reserved();
        assert_eq!(held.covers(&permission), expected, "{permission}");
    }
    crate::people::register(&app, "second@example.test").await;
    assert_eq!(app.count("SELECT count(*) FROM platform_authority").await, 1);
}
