//! The smoke set through PgBouncer in transaction mode, where it can be had.

use porteiro_service::{jobs, oauth::keys};
use porteiro_testkit::{TestApp, variable};

#[tokio::test]
async fn everything_works_through_pgbouncer_in_transaction_mode() {
    let Some(pooler) = variable("PORTEIRO_TEST_PGBOUNCER_URL") else {
        assert!(
            variable("CI").is_none() || variable("PORTEIRO_TEST_NO_PGBOUNCER").is_some(),
            "PgBouncer is missing"
        );
        return;
    };
    let app = std::sync::Arc::new(
        TestApp::builder().through(pooler).settings(|settings| settings.database_pool_size = 8).start().await,
    );
    assert_eq!(app.get("/readyz").await.status, 200);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let app = app.clone();
        callers.spawn(async move {
            for _ in 0..10 {
                // The test's clock stands still; the database's does not.
                app.catch_up().await;
                assert_eq!(app.get("/readyz").await.status, 200);
                keys::list(&app.app.store).await.unwrap();
                jobs::run_due(&app.app).await.unwrap();
                app.app
                    .store
                    .run_tx("test.several", |tx| async move {
                        tx.query("SELECT count(*) FROM job", &[]).await?;
                        tx.query("SELECT $1::int4 + 1", &[&1_i32]).await
                    })
                    .await
                    .unwrap();
            }
        });
    }
    callers.join_all().await;
}
