//! The screens touch nothing but what anybody may call: the flow API and the person's own account.

use crate::driver::{Person, app};

const PUBLIC: &[&str] = &[
    "activity",
    "api-keys",
    "credentials",
    "grants",
    "invitations",
    "organizations",
    "recovery",
    "sessions",
];

#[tokio::test]
async fn only_public_calls_are_made() {
    let (app, record) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    for page in ["security", "sessions", "apps", "keys", "organizations", "activity"] {
        ana.visit(&format!("/ui/account/{page}")).await;
    }
    for kind in ["passkey", "password", "totp", "recovery_codes", "email", "phone"] {
        ana.post("/ui/account/security", &[("action", "enrol"), ("kind", kind)]).await;
    }
    for (page, action) in [
        ("security", "remove"),
        ("security", "rename"),
        ("security", "stop-recovery"),
        ("sessions", "end"),
        ("apps", "withdraw"),
        ("keys", "make"),
        ("keys", "revoke"),
        ("organizations", "accept"),
        ("organizations", "leave"),
    ] {
        // What is in the field must not lead anywhere else.
        ana.post(&format!("/ui/account/{page}"), &[("action", action), ("id", "../../platform/x?y")]).await;
    }
    let (path, page) = ana.visit("/ui/recover").await;
    ana.act(&page, &path, "email_code/send", &[("identifier", "ana@example.test")]).await;
    ana.act(&page, &path, "../../account/x", &[]).await;
    ana.act(&page, &path, "cancel", &[]).await;
    ana.get("/ui/flow/..%2f..%2faccount").await;
    ana.post("/ui/account/sign-out", &[]).await;
    ana.get("/connect/logout").await;
    ana.get("/connect/authorize?client_id=nobody").await;

    let calls = record.lock().expect("the record").clone();
    assert!(calls.len() > 30);
    for (method, path) in calls {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let public = match parts.as_slice() {
            ["v1", "flows", ..] => parts.len() <= 5,
            ["v1", "account", "organizations", _, "permissions"]
            | ["v1", "account"]
            | ["connect", "authorize" | "logout"] => true,
            ["v1", "account", part, ..] => PUBLIC.contains(part) && parts.len() <= 4,
            _ => false,
        };
        assert!(public && !parts.contains(&".."), "{method} {path}");
    }
}
