//! Transactions, migrations and what a broken connection means.

use std::sync::atomic::Ordering;

use porteiro_service::store::{
    StoreError, TxError,
    migrations::{self, SchemaState},
};
use porteiro_testkit::{Database, TestApp};

async fn mark(app: &TestApp, name: &str) -> Result<u64, StoreError> {
    let name = &name;
    app.app
        .store
        .run_tx("test.mark", |tx| async move {
            tx.execute("INSERT INTO schedule (name) VALUES ($1)", &[name]).await
        })
        .await
}

async fn marked(app: &TestApp, name: &str) -> bool {
    let rows =
        app.database.client().await.query("SELECT 1 FROM schedule WHERE name = $1", &[&name]).await.unwrap();
    !rows.is_empty()
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_an_unknown_outcome_never_a_success() {
    let app = TestApp::builder().proxied().start().await;
    let faults = &app.proxy.as_ref().unwrap().faults;

    faults.after_commit.store(true, Ordering::Relaxed);
    let outcome = mark(&app, "committed").await;
    assert!(matches!(outcome, Err(StoreError::Unknown(_))), "{outcome:?}");
    assert!(marked(&app, "committed").await, "it did happen, and nobody could know");

    faults.after_commit.store(false, Ordering::Relaxed);
    faults.before_commit.store(true, Ordering::Relaxed);
    let outcome = mark(&app, "lost").await;
    assert!(matches!(outcome, Err(StoreError::Unknown(_))), "{outcome:?}");
    assert!(!marked(&app, "lost").await);

    faults.before_commit.store(false, Ordering::Relaxed);
    assert_eq!(mark(&app, "healed").await.unwrap(), 1);
}

#[tokio::test]
async fn a_refusal_leaves_nothing_behind_unless_it_is_recorded() {
    let app = TestApp::new().await;
    for (name, recorded) in [("refused", false), ("recorded", true)] {
        let outcome: Result<(), TxError<&str>> = app
            .app
            .store
            .try_tx("test.refused", |tx| async move {
                tx.execute("INSERT INTO schedule (name) VALUES ($1)", &[&name]).await?;
                Err(if recorded { TxError::Recorded("no") } else { TxError::Refused("no") })
            })
            .await;
        assert!(matches!(outcome, Err(TxError::Refused("no") | TxError::Recorded("no"))), "{outcome:?}");
        assert_eq!(marked(&app, name).await, recorded, "{name}");
    }
    assert_eq!(mark(&app, "next").await.unwrap(), 1, "the connection is good again");
}

#[tokio::test]
async fn a_connection_lost_before_commit_changed_nothing() {
    let app = TestApp::new().await;
    let database = app.database.client().await;
    let outcome = app
        .app
        .store
        .run_tx("test.terminated", |tx| {
            let database = &database;
            async move {
                tx.execute("INSERT INTO schedule (name) VALUES ('gone')", &[]).await?;
                let pid: i32 = tx.query("SELECT pg_backend_pid()", &[]).await?[0].get(0);
                database.query("SELECT pg_terminate_backend($1)", &[&pid]).await.unwrap();
                tx.execute("INSERT INTO schedule (name) VALUES ('gone too')", &[]).await
            }
        })
        .await;
    assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
    assert!(!marked(&app, "gone").await);
}

#[tokio::test]
async fn serialization_failures_are_retried_until_they_pass() {
    let app = std::sync::Arc::new(
        TestApp::builder().settings(|settings| settings.database_pool_size = 4).start().await,
    );
    mark(&app, "counter").await.unwrap();
    app.database
        .client()
        .await
        .batch_execute("CREATE TABLE counter (n int); INSERT INTO counter VALUES (0)")
        .await
        .unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let app = app.clone();
        writers.spawn(async move {
            for _ in 0..5 {
                app.app
                    .store
                    .run_tx("test.serializable", |tx| async move {
                        tx.batch("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").await?;
                        let n: i32 = tx.query("SELECT n FROM counter", &[]).await?[0].get(0);
                        tx.execute("UPDATE counter SET n = $1", &[&(n + 1)]).await
                    })
                    .await
                    .ok();
            }
        });
    }
    writers.join_all().await;
    let n: i32 = app.database.client().await.query_one("SELECT n FROM counter", &[]).await.unwrap().get(0);
    assert!(n >= 15, "only {n} of 20 survived the conflicts");
}

#[tokio::test]
async fn dropping_a_transaction_half_way_leaves_no_connection_inside_it() {
    let app = TestApp::builder().settings(|settings| settings.database_pool_size = 1).start().await;
    let slow = app.app.store.run_tx("test.cancelled", |tx| async move {
        tx.execute("INSERT INTO schedule (name) VALUES ('cancelled')", &[]).await?;
        tx.query("SELECT pg_sleep(5)", &[]).await
    });
    assert!(tokio::time::timeout(std::time::Duration::from_millis(200), slow).await.is_err());
    assert_eq!(mark(&app, "next").await.unwrap(), 1);
    assert!(!marked(&app, "cancelled").await);
}

#[tokio::test]
async fn ten_nodes_may_migrate_at_once() {
    let database = Database::empty().await;
    let mut nodes = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let store = database.store();
        nodes.spawn(async move { migrations::apply(&store, |_| {}).await.unwrap() });
    }
    let applied: u32 = nodes.join_all().await.into_iter().sum();
    assert_eq!(usize::try_from(applied).unwrap(), migrations::MIGRATIONS.len());
    assert_eq!(migrations::state(&database.store()).await.unwrap(), SchemaState::Expected);
}

#[tokio::test]
async fn an_empty_database_is_behind_not_an_error() {
    let database = Database::empty().await;
    let state = migrations::state(&database.store()).await.unwrap();
    assert_eq!(state, SchemaState::Behind { applied: 0, expected: migrations::expected() });
}
