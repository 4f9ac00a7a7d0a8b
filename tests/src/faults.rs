//! With the line to PostgreSQL cut at random: no deadlock, no false success.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use porteiro_service::{jobs, store::StoreError};
use porteiro_testkit::TestApp;

/// What a caller was told about each change.
#[derive(Debug, Default)]
struct History {
    succeeded: Vec<String>,
    refused: Vec<String>,
    unknown: usize,
}

async fn change(app: &TestApp, name: &str) -> Result<u64, StoreError> {
    let name = &name;
    app.app
        .store
        .run_tx("test.change", |tx| async move {
            tx.execute("INSERT INTO schedule (name) VALUES ($1)", &[name]).await
        })
        .await
}

async fn random_cuts(pool: usize) {
    let app =
        TestApp::builder().proxied().settings(|settings| settings.database_pool_size = pool).start().await;
    let app = Arc::new(app);
    let faults = app.proxy.as_ref().unwrap().faults.clone();
    faults.random_per_mille.store(30, Ordering::Relaxed);
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..6 {
        let app = app.clone();
        callers.spawn(async move {
            let mut history = History::default();
            for index in 0..40 {
                let name = format!("{caller}-{index}");
                match change(&app, &name).await {
                    Ok(_) => history.succeeded.push(name),
                    Err(StoreError::Unknown(_)) => history.unknown += 1,
                    Err(_) => history.refused.push(name),
                }
                // The rest of the service keeps answering, whatever it can say.
                let status = app.get("/readyz").await.status.as_u16();
                assert!(status == 200 || status == 503, "{status}");
                let _ = jobs::run_due(&app.app).await;
            }
            history
        });
    }
    let histories =
        tokio::time::timeout(Duration::from_mins(2), callers.join_all()).await.expect("a deadlock");
    faults.random_per_mille.store(0, Ordering::Relaxed);

    let database = app.database.client().await;
    for history in &histories {
        for (names, expected) in [(&history.succeeded, true), (&history.refused, false)] {
            for name in names {
                let found = !database
                    .query("SELECT 1 FROM schedule WHERE name = $1", &[name])
                    .await
                    .unwrap()
                    .is_empty();
                assert_eq!(found, expected, "{name}: told otherwise than it is");
            }
        }
    }
    assert!(faults.cuts.load(Ordering::Relaxed) > 20, "the proxy hardly cut anything");
    assert!(histories.iter().any(|history| !history.succeeded.is_empty()));
    change(&app, "after the storm").await.unwrap();
    app.catch_up().await;
    assert_eq!(app.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn f2_random_cuts_never_make_a_false_success() {
    random_cuts(4).await;
}

#[tokio::test]
async fn f11_nor_with_a_single_connection() {
    random_cuts(1).await;
}
