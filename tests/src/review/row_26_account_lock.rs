//! Waiting for an account's lock takes no database connection.

use std::{sync::Arc, time::Duration};

use http::{Request, header};
use porteiro_testkit::TestApp;
use tokio::task::JoinSet;

use crate::{
    oauth::{
        app_with,
        driver::{Relying, person, verifier},
    },
    people::single_connection,
};

/// One signed-in person, 300 requests at once, and an account whose row is not to be had.
#[tokio::test]
async fn one_person_with_many_requests_keeps_nobody_else_out() {
    // The one that holds the row's turn would hold the only connection.
    if single_connection() {
        return;
    }
    let app = app_with(4).await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    client.code(&mut browser, &[]).await;
    let session = browser.session().unwrap().clone();
    let database = app.database.client().await;
    database.batch_execute("BEGIN; SELECT 1 FROM account FOR UPDATE").await.unwrap();

    let mut flood = JoinSet::new();
    for _ in 0..300 {
        let (app, session) = (Arc::clone(&app), session.clone());
        let path = client.path(&verifier(), &[("prompt", "none")]);
        flood.spawn(async move { ask(&app, &path, &session).await });
    }
    // All but the 64 that may wait have been refused. One of those holds a connection, the others wait without one.
    let mut statuses: Vec<(u16, bool)> = Vec::new();
    while statuses.len() < 300 - 64 {
        statuses.push(flood.join_next().await.unwrap().unwrap());
    }
    for attempt in 0..20 {
        app.catch_up().await;
        let answer = tokio::time::timeout(Duration::from_secs(3), app.get("/readyz")).await;
        let answer = answer.unwrap_or_else(|_| panic!("attempt {attempt}: nobody gets a connection"));
        assert_eq!(answer.status, 200, "attempt {attempt}: {}", answer.text());
    }
    database.batch_execute("COMMIT").await.unwrap();
    statuses.extend(flood.join_all().await);
    let served = statuses.iter().filter(|(status, _)| *status == 200).count();
    assert!(served >= 1, "{statuses:?}");
    assert!(statuses.iter().all(|(status, _)| [200, 429, 503].contains(status)), "{statuses:?}");
    let refused = statuses.iter().filter(|(status, _)| *status != 200);
    assert!(refused.clone().count() > 200, "only a few wait");
    assert!(refused.clone().all(|(_, told)| *told), "each is told when to come back");
}

async fn ask(app: &TestApp, path: &str, session: &str) -> (u16, bool) {
    let request = Request::get(path)
        .header(header::ACCEPT, "application/json")
        .header(header::COOKIE, format!("__Host-session={session}"))
        .body(axum::body::Body::empty());
    let answer = app.send(request.unwrap()).await;
    (answer.status.as_u16(), !answer.header("retry-after").is_empty())
}
