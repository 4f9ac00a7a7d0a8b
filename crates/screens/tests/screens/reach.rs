//! The screens call only what any client may call: the flow API and the person's own account.

use std::{collections::BTreeSet, sync::Arc};

use http::Method;
use porteiro_screens::{DEVICE_PAGE, INVITATION_PAGE, LINK_PAGE};
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::TestApp;

use crate::{
    around::{asking, belongs, client, payroll, television},
    driver::{Person, app, title},
};

const PUBLIC: &[&str] = &[
    "activity",
    "api-keys",
    "approvals",
    "credentials",
    "delegations",
    "deletion",
    "export",
    "grants",
    "invitations",
    "organizations",
    "push-subscriptions",
    "recovery",
    "sessions",
];

#[tokio::test]
async fn only_public_calls_are_made() {
    let (app, record) = app().await;
    let mut ana = Person::new(&app);
    front(&mut ana).await;
    ana.register("ana@example.test").await;
    account(&mut ana).await;
    app.forget_limits().await;
    invitation(&app, &mut ana).await;
    request(&app, &mut ana).await;
    let codes_asked_for = device(&app, &mut ana).await;
    app.forget_limits().await;
    recovery(&mut ana).await;
    ana.post("/ui/account/sign-out", &[]).await;
    ana.get("/connect/logout").await;
    ana.get("/connect/authorize?client_id=nobody").await;

    assert_eq!(unseen(&ana.been), BTreeSet::new(), "every page was opened");
    let mut calls = record.lock().expect("the record").clone();
    let before = calls.len();
    calls.retain(|(_, path)| path != "/connect/device");
    assert_eq!(before - calls.len(), codes_asked_for, "the device's own");
    assert!(calls.len() > 60, "{}", calls.len());
    for (method, path) in calls {
        assert!(is_public(&method, &path), "{method} {path}");
    }
}

fn is_public(method: &Method, path: &str) -> bool {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let public = match parts.as_slice() {
        ["v1", "flows", ..] => parts.len() <= 5,
        ["v1", "account", "organizations", _, "permissions"]
        | ["v1", "account", "approvals", _, "approve" | "deny" | "report"]
        | ["v1", "account"]
        | ["v1", "invitations", "look"]
        | ["connect", "authorize" | "logout"] => true,
        ["v1", "account", part, ..] => PUBLIC.contains(part) && parts.len() <= 4,
        // No such page: passed on to the service, which answers 404.
        ["ui", "assets" | "look", ..] => method == Method::GET,
        _ => false,
    };
    public && !parts.contains(&"..")
}

/// The routes of the crate that were not requested, read from its source: axum does not list them.
fn unseen(been: &[String]) -> BTreeSet<&'static str> {
    let source = concat!(include_str!("../../src/lib.rs"), include_str!("../../src/account/mod.rs"));
    let routes: BTreeSet<&str> = source
        .split(".route(")
        .skip(1)
        .map(|rest| match rest.split([',', ')']).next().unwrap_or_default().trim() {
            "DEVICE_PAGE" => DEVICE_PAGE,
            "INVITATION_PAGE" => INVITATION_PAGE,
            "LINK_PAGE" => LINK_PAGE,
            literal => literal.trim_matches('"'),
        })
        .collect();
    assert!(routes.len() > 15 && routes.iter().all(|route| route.starts_with('/')), "{routes:?}");
    let is = |route: &str, path: &str| {
        let same = |(one, other): (&str, &str)| one == other || one.starts_with('{');
        route.split('/').count() == path.split('/').count() && route.split('/').zip(path.split('/')).all(same)
    };
    routes.into_iter().filter(|route| !been.iter().any(|path| is(route, path))).collect()
}

/// Pages without a session.
async fn front(ana: &mut Person) {
    for path in ["/", "/ui/account", "/.well-known/change-password"] {
        assert_eq!(ana.get(path).await.status, 303, "{path}");
    }
    assert!(ana.get("/.well-known/passkey-endpoints").await.json()["manage"].is_string());
    assert_eq!(title(&ana.get("/ui/link").await), "Almost there");
    assert_eq!(ana.get("/ui/federation/x?state=y.z&code=c").await.status, 404, "an answer to no flow");
    assert_eq!(ana.get("/o/..%2f..%2faccount").await.status, 303, "a name like another");
    assert_eq!(ana.get("/ui/look/7a1f5c-none.css").await.status, 200);
    assert_eq!(ana.get("/ui/look/nothing").await.status, 404);
    let worker = ana.get("/ui/worker.js?lang=pt").await;
    assert_eq!(worker.header("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
    assert!(worker.text().contains("Há algo à espera da sua decisão"), "{}", worker.text());
    let text = ana.visit("/ui/sign-in").await.1.text();
    for path in text.split('"').filter(|part| part.starts_with("/ui/assets/")) {
        assert_eq!(ana.get(path).await.status, 200, "{path}");
    }
    assert_eq!(ana.get("/ui/assets/x/nothing").await.status, 404);
    ana.get("/ui/flow/..%2f..%2faccount").await;
}

async fn account(ana: &mut Person) {
    for page in ["security", "sessions", "apps", "approvals", "keys", "organizations", "activity", "profile"]
    {
        ana.visit(&format!("/ui/account/{page}")).await;
    }
    assert_eq!(ana.get("/ui/account/approvals/..%2f..%2fplatform").await.status, 404);
    for kind in ["passkey", "password", "totp", "recovery_codes", "email", "phone", "federated"] {
        ana.post("/ui/account/security", &[("action", "enrol"), ("kind", kind)]).await;
    }
    for (page, action) in [
        ("profile", "save"),
        ("profile", "export"),
        ("profile", "delete"),
        ("profile", "keep"),
        ("security", "remove"),
        ("security", "rename"),
        ("security", "stop-recovery"),
        ("sessions", "end"),
        ("sessions", "end-others"),
        ("apps", "withdraw"),
        ("approvals", "approve-10"),
        ("approvals", "deny"),
        ("approvals", "report"),
        ("keys", "make"),
        ("keys", "revoke"),
        ("organizations", "accept"),
        ("organizations", "leave"),
    ] {
        // The field must not lead to another path.
        ana.post(&format!("/ui/account/{page}"), &[("action", action), ("id", "../../platform/x?y")]).await;
    }
}

async fn invitation(app: &Arc<TestApp>, ana: &mut Person) {
    let mut nobody = Person::new(app);
    for person in [ana, &mut nobody] {
        assert_eq!(title(&person.get("/ui/invitation").await), "You are invited");
        for action in ["look", "accept", "register"] {
            person.post("/ui/invitation", &[("action", action), ("token", "../../platform/x?y")]).await;
        }
    }
}

/// A client's request: the choice of the organization, and the consent.
async fn request(app: &Arc<TestApp>, ana: &mut Person) {
    payroll(app).await;
    let client = client(app, Trust::Verified).await;
    let account = ana.get("/v1/account").await.json()["id"].as_str().expect("an id").parse().expect("an id");
    let here = belongs(app, account, "here", "owner").await.to_string();
    belongs(app, account, "there", "owner").await;
    let (path, page) = ana.visit(&asking(&client, "openid%20salaries%3Aread")).await;
    assert_eq!(title(&page), "Choose an organization", "{}", page.text());
    ana.act(&page, &path, "organization/choose", &[("organization", "../../platform/x?y")]).await;
    let page = ana.act(&page, &path, "organization/choose", &[("organization", &here)]).await;
    assert_eq!(title(&page), "Allow Ledger?", "{}", page.text());
    let page = ana.act(&page, &path, "consent/allow", &[]).await;
    assert_eq!(title(&page), "Continuing to app.example.test", "{}", page.text());
    let (path, page) = ana.visit(&asking(&client, "openid%20email")).await;
    let page = ana.act(&page, &path, "consent/deny", &[]).await;
    assert!(page.text().contains("error=access_denied"), "{}", page.text());
}

/// How often the device requested a code.
async fn device(app: &Arc<TestApp>, ana: &mut Person) -> usize {
    let television = television(app).await;
    let asked = app.form("/connect/device", format!("client_id={television}&scope=openid%20email")).await;
    let code = asked.json()["user_code"].as_str().expect("a code").to_owned();
    let (path, page) = ana.visit(&format!("/device?user_code={code}")).await;
    ana.act(&page, &path, "device/look", &[("user_code", "../../platform/x?y")]).await;
    let page = ana.get(&path).await;
    let page = ana.act(&page, &path, "device/look", &[("user_code", &code)]).await;
    let page = ana.act(&page, &path, "consent/allow", &[]).await;
    assert_eq!(title(&page), "Your device is connected", "{}", page.text());
    1
}

async fn recovery(ana: &mut Person) {
    ana.visit("/ui/step-up").await;
    let (path, page) = ana.visit("/ui/recover").await;
    ana.act(&page, &path, "email_code/send", &[("identifier", "ana@example.test")]).await;
    ana.act(&page, &path, "../../account/x", &[]).await;
    ana.act(&page, &path, "cancel", &[]).await;
}
