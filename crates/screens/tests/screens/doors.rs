//! Browsers get pages; all other clients get the same answers as without screens.

use axum::{body::Body, extract::Request};
use http::{StatusCode, header};
use porteiro_service::oauth::clients::{self, Trust};
use serde_json::json;

use crate::driver::{Person, app, title};

#[tokio::test]
async fn a_browser_sees_a_page_where_nothing_is_and_a_program_the_problem() {
    let (app, _) = app().await;
    let page = Person::new(&app).get("/nowhere").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert_eq!(title(&page), "Page not found");
    assert!(!page.header("x-request-id").is_empty());
    for accept in ["*/*", "application/json", ""] {
        let request = Request::get("/nowhere").header(header::ACCEPT, accept).body(Body::empty());
        let answer = app.send(request.expect("a request")).await;
        assert_eq!(answer.header("content-type"), "application/problem+json", "{accept}");
    }
}

#[tokio::test]
async fn a_request_nobody_can_answer_is_a_page() {
    let (app, _) = app().await;
    let page = Person::new(&app).get("/connect/authorize?client_id=nobody").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    assert_eq!(title(&page), "We can’t continue");
    assert!(page.text().contains("<code>invalid_request</code>"));
    let request =
        Request::get("/connect/authorize?client_id=nobody").header(header::ACCEPT, "application/json");
    let answer = app.send(request.body(Body::empty()).expect("a request")).await;
    assert_eq!(answer.json()["error"], "invalid_request");
}

#[tokio::test]
async fn signing_out_is_asked_and_done() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let page = ana.get("/connect/logout").await;
    assert_eq!(title(&page), "Sign out?");
    let text = page.text();
    let confirm = text.split("name=\"confirm\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let done = ana.post("/connect/logout", &[("confirm", confirm)]).await;
    assert_eq!(title(&done), "You are signed out");
    assert_eq!(ana.get("/ui/account/security").await.header("location"), "/ui/sign-in");
}

#[tokio::test]
async fn helpers_of_password_managers_lead_to_the_account() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    assert_eq!(ana.get("/.well-known/change-password").await.header("location"), "/ui/account/security");
    let endpoints = ana.get("/.well-known/passkey-endpoints").await.json();
    assert_eq!(endpoints["enroll"], "https://id.example.test/ui/account/security");
}

/// Otherwise each would hold a connection for as long as it likes.
#[tokio::test]
async fn a_form_that_never_ends_is_not_waited_for() {
    let (app, _) = app().await;
    let mut nobody = Person::new(&app);
    for path in ["/connect/logout", "/ui/account/security"] {
        let waited = tokio::time::timeout(std::time::Duration::from_secs(25), nobody.trickle(path));
        assert_eq!(waited.await.expect("still waiting").status, 408, "{path}");
    }
}

/// A page full of pictures of our sign-in page would use up the flows that its visitor's network may open.
#[tokio::test]
async fn a_picture_or_frame_on_a_page_of_somebody_else_opens_no_flow() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    for path in ["/ui/sign-in", "/ui/register", "/ui/recover", "/ui/step-up", "/device", "/o/acme"] {
        for what in ["image", "iframe", "script", "empty"] {
            assert_eq!(ana.fetched(path, what).await.status, 403, "{path} as {what}");
        }
        assert!(ana.cookies.is_empty());
        assert_eq!(app.count("SELECT count(*) FROM flow").await, 0);
    }
    assert_eq!(ana.fetched("/ui/sign-in", "document").await.status, 303, "a link is followed");
}

#[tokio::test]
async fn a_form_on_a_page_of_somebody_else_opens_no_flow() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let flows = app.count("SELECT count(*) FROM flow").await;
    let before = ana.cookies.clone();
    ana.origin = "https://evil.example";
    ana.post("/ui/invitation", &[("action", "register"), ("token", "x")]).await;
    ana.post("/ui/account/security", &[("action", "enrol"), ("kind", "totp")]).await;
    assert_eq!(app.count("SELECT count(*) FROM flow").await, flows);
    assert_eq!(ana.cookies, before);
}

/// The browser withholds our cookies (`SameSite=Lax`): a signed-in person must not be shown as signed out, and other
/// tabs are not affected.
#[tokio::test]
async fn a_form_of_an_app_comes_once_more_as_a_link() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let mut from_app = Person::new(&app);
    from_app.origin = "https://app.example";
    let again = from_app.post("/connect/logout", &[("state", "a b&c")]).await;
    assert_eq!(
        (again.status, again.header("location")),
        (StatusCode::SEE_OTHER, "/connect/logout?state=a+b%26c")
    );
    assert_eq!(title(&ana.get("/connect/logout?state=a+b%26c").await), "Sign out?");
    let again =
        from_app.post("/connect/authorize", &[("client_id", "nobody"), ("response_type", "code")]).await;
    assert_eq!(again.header("location"), "/connect/authorize?client_id=nobody&response_type=code");
    assert!(from_app.cookies.is_empty(), "nothing takes the place of what the browser has");
    // Too long for a link: it is handled as it came.
    let long = "x".repeat(5000);
    let answer = from_app.post("/connect/authorize", &[("client_id", "nobody"), ("state", &long)]).await;
    assert_eq!(title(&answer), "We can’t continue");
}

#[tokio::test]
async fn no_link_of_a_page_that_is_not_there_leads_elsewhere() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    let text = ana.get("//evil.example/x").await.text();
    assert!(text.contains("lang=pt") && !text.contains("\"//evil"), "{text}");
}

/// An app chooses its scheme and what follows it freely: what looks like a host there identifies no owner.
#[tokio::test]
async fn what_an_app_puts_where_a_host_would_be_is_not_shown_as_one() {
    let (app, _) = app().await;
    let callback = "com.evil.app://your-bank.example/cb";
    let metadata = json!({
        "client_name": "Calculator",
        "redirect_uris": [callback],
        "grant_types": ["authorization_code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    });
    let made = clients::create(&app.app.store, &*app.app.entropy, &metadata, Trust::Unverified).await;
    let client = made.expect("a client").client_id;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let asking = format!(
        "/connect/authorize?client_id={client}&redirect_uri=com.evil.app%3A%2F%2Fyour-bank.example%2Fcb\
         &response_type=code&scope=openid&state=s&code_challenge={}&code_challenge_method=S256",
        "A".repeat(43)
    );
    let (path, page) = ana.visit(&asking).await;
    let left = ana.act(&page, &path, "consent/deny", &[]).await;
    assert_eq!(title(&left), "Continuing to the app");
    assert!(left.text().contains(callback), "it goes there all the same: {}", left.text());
}
