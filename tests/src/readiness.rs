//! `/healthz` and `/readyz`: alive is not the same as ready.

use std::sync::atomic::Ordering;

use http::StatusCode;
use porteiro_protocol::time::Duration;
use porteiro_testkit::TestApp;

#[tokio::test]
async fn f8_a_clock_more_than_two_seconds_off_is_not_ready() {
    let app = TestApp::new().await;
    assert_eq!(app.get("/readyz").await.status, StatusCode::OK);
    for off in [Duration::seconds(30), Duration::seconds(-60)] {
        app.clock.advance(off);
        let answer = app.get("/readyz").await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(answer.json()["detail"].as_str().unwrap().contains("differs from the database's"));
        assert_eq!(app.get("/healthz").await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_schema_that_is_not_ours_is_not_ready() {
    let app = TestApp::new().await;
    let database = app.database.client().await;
    for (sql, expected) in [
        ("UPDATE schema_migration SET checksum = '\\x00' WHERE version = 1", "differs from this binary's"),
        ("DELETE FROM schema_migration", "run: porteiro migrate"),
    ] {
        database.batch_execute(sql).await.unwrap();
        let answer = app.get("/readyz").await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(answer.text().contains(expected), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_node_that_is_stopping_is_not_ready_and_still_answers() {
    let app = TestApp::new().await;
    app.app.start_draining();
    assert_eq!(app.get("/readyz").await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(app.get("/.well-known/jwks.json").await.status, StatusCode::OK);
}

#[tokio::test]
async fn without_a_database_the_public_documents_still_come_and_readiness_does_not() {
    let app = TestApp::builder().proxied().start().await;
    app.proxy.as_ref().unwrap().faults.stalled.store(true, Ordering::Relaxed);
    assert_eq!(app.get("/healthz").await.status, StatusCode::OK);
    assert_eq!(app.get("/.well-known/jwks.json").await.status, StatusCode::OK);
    assert_eq!(app.get("/.well-known/openid-configuration").await.status, StatusCode::OK);
    let answer = app.get("/readyz").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.header("retry-after"), "1");
}
