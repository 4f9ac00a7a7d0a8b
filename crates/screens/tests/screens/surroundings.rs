//! Pages have the same layers as every other route.

use std::sync::Arc;

use axum::{Router, body::Body, extract::Request};
use http::{StatusCode, header};
use porteiro_screens::{Deployment, mount};
use porteiro_service::http::Surroundings;
use porteiro_testkit::TestApp;

use crate::driver::{Person, app, title};

#[tokio::test]
async fn pages_have_an_id_and_what_is_too_large_is_refused_early() {
    let (app, _) = app().await;
    for path in ["/ui/sign-in", "/ui/account", "/ui/link", "/", "/ui/look/none-none.css"] {
        let answer = Person::new(&app).get(path).await;
        assert!(!answer.header("x-request-id").is_empty(), "{path}");
        assert_eq!(answer.headers.get_all("x-request-id").iter().count(), 1, "{path}");
    }
    // A request that is passed on has the service's id, and is counted only there.
    let answer = Person::new(&app).get("/healthz").await;
    assert_eq!(answer.headers.get_all("x-request-id").iter().count(), 1);
    let long = format!("/ui/link?x={}", "a".repeat(20_000));
    assert_eq!(Person::new(&app).get(&long).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    let request = Request::post("/ui/invitation").header(header::CONTENT_LENGTH, "2000000");
    let answer = app.send(request.body(Body::empty()).expect("a request")).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
}

/// The screens in front of a service with only these routes.
async fn before(service: Router) -> Arc<TestApp> {
    let app =
        TestApp::builder().people().settings(|settings| settings.request_timeout_seconds = 1).start().await;
    let mut deployment =
        Deployment::of(&app.app.checked.settings, Arc::clone(&app.app.entropy)).expect("a deployment");
    deployment.surroundings = Some(Surroundings::of(&app.app.core));
    Arc::new(app.mounted(|_| mount(service, deployment)))
}

#[tokio::test]
async fn a_page_that_breaks_or_takes_too_long_is_a_page_that_says_so() {
    async fn breaks() {
        panic!("as a fault would");
    }
    let broken = before(Router::new().fallback(breaks)).await;
    for path in ["/ui/sign-in", "/ui/account/security", "/connect/authorize"] {
        let page = Person::new(&broken).get(path).await;
        assert_eq!(page.status, StatusCode::INTERNAL_SERVER_ERROR, "{path}");
        assert_eq!(title(&page), "Something went wrong on our side", "{path}");
    }
    let request = Request::get("/ui/sign-in").header(header::ACCEPT, "application/json");
    let answer = broken.send(request.body(Body::empty()).expect("a request")).await;
    assert_eq!(answer.header("content-type"), "application/problem+json");

    let slow = before(Router::new().fallback(std::future::pending::<()>)).await;
    let page = Person::new(&slow).get("/ui/sign-in").await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(!page.header("x-request-id").is_empty());
}
