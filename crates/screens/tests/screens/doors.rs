//! Where browsers meet the service: pages for them, the same answers as before for everybody else.

use axum::{body::Body, extract::Request};
use http::{StatusCode, header};

use crate::driver::{Person, app, title};

#[tokio::test]
async fn a_browser_sees_a_page_where_nothing_is_and_a_program_the_problem() {
    let (app, _) = app().await;
    let page = Person::new(&app).get("/nowhere").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert_eq!(title(&page), "There is nothing here");
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
