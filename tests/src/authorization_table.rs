//! Who gets what from every route. A route without a row fails here and in `cargo xtask tidy`.

use http::{Method, StatusCode};
use porteiro_service::http::Access;
use porteiro_testkit::TestApp;

/// Route, and what somebody without any credential gets.
const TABLE: &[(&str, StatusCode)] = &[
    ("GET /healthz", StatusCode::OK),
    ("GET /readyz", StatusCode::OK),
    ("GET /.well-known/openid-configuration", StatusCode::OK),
    ("GET /.well-known/oauth-authorization-server", StatusCode::OK),
    ("GET /.well-known/oauth-protected-resource", StatusCode::OK),
    ("GET /.well-known/jwks.json", StatusCode::OK),
];

#[tokio::test]
async fn every_route_answers_strangers_as_the_table_says() {
    let app = TestApp::new().await;
    let mut rows: Vec<&str> = TABLE.iter().map(|(route, _)| *route).collect();
    for route in porteiro_service::table() {
        let name = format!("{} {}", route.method, route.path);
        let Some((_, expected)) = TABLE.iter().find(|(row, _)| *row == name) else {
            panic!("{name} has no row in the authorization table");
        };
        rows.retain(|row| *row != name);
        let answer = app.method(route.method.clone(), route.path).await;
        assert_eq!(answer.status, *expected, "{name}: {}", answer.text());
        match route.access {
            Access::Public(why) => assert!(!why.is_empty(), "{name} does not say why it is public"),
        }
    }
    assert!(rows.is_empty(), "rows without a route: {rows:?}");
}

#[tokio::test]
async fn a_route_takes_no_method_it_does_not_declare() {
    let app = TestApp::new().await;
    for route in porteiro_service::table() {
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let declared =
                porteiro_service::table().iter().any(|one| one.path == route.path && one.method == method);
            if !declared {
                let answer = app.method(method.clone(), route.path).await;
                assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {}", route.path);
            }
        }
    }
}
