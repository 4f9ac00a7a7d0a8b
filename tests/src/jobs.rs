//! The outbox and its runner: at least once, never lost, never silently dropped.

use porteiro_protocol::id::{Id, JobId};
use porteiro_service::{jobs, mail, registers, store::StoreError};
use porteiro_testkit::TestApp;
use serde_json::json;

async fn enqueue(app: &TestApp, kind: &'static str, payload: serde_json::Value) -> JobId {
    use porteiro_protocol::time::Clock;
    let id = Id::ordered(app.clock.now(), &*app.app.entropy);
    let payload = &payload;
    app.app
        .store
        .run_tx("test.enqueue", |tx| async move { jobs::enqueue(&tx, id, kind, payload).await })
        .await
        .unwrap();
    id
}

async fn count(app: &TestApp, sql: &str) -> i64 {
    app.database.client().await.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_job_exists_exactly_when_its_transaction_commits() {
    let app = TestApp::new().await;
    let id = Id::random(&*app.app.entropy);
    let rolled_back: Result<(), StoreError> = app
        .app
        .store
        .run_tx("test.rollback", |tx| async move {
            jobs::enqueue(&tx, id, mail::JOB, &json!({})).await?;
            Err(StoreError::Inconsistent("on purpose".into()))
        })
        .await;
    assert!(rolled_back.is_err());
    assert_eq!(count(&app, "SELECT count(*) FROM job").await, 0);
    enqueue(&app, mail::JOB, json!({})).await;
    assert_eq!(count(&app, "SELECT count(*) FROM job").await, 1);
}

#[tokio::test]
async fn schedules_run_once_however_many_nodes_look() {
    let app = TestApp::new().await;
    let mut nodes = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let app = app.app.clone();
        nodes.spawn(async move { jobs::run_due(&app).await.unwrap() });
    }
    nodes.join_all().await;
    assert_eq!(count(&app, "SELECT count(*) FROM job").await, 0);
    let done = count(&app, "SELECT count(*) FROM job_outcome").await;
    let recurring = registers::JOBS.iter().filter(|kind| kind.every_seconds.is_some()).count();
    assert_eq!(usize::try_from(done).unwrap(), recurring);
}

#[tokio::test]
async fn a_poisoned_job_is_parked_visible_and_can_be_retried() {
    let app = TestApp::new().await;
    jobs::run_due(&app.app).await.unwrap();
    let id = enqueue(&app, mail::JOB, json!({"not": "a mail"})).await;
    jobs::run_due(&app.app).await.unwrap();
    let parked = jobs::parked(&app.app.store).await.unwrap();
    assert_eq!(parked.len(), 1);
    assert_eq!((parked[0].job_id, parked[0].kind.as_str()), (id, mail::JOB));
    assert_eq!(parked[0].last_error.as_deref(), Some("not a mail"));

    assert_eq!(jobs::run_due(&app.app).await.unwrap(), 0, "a parked job is left alone");
    assert_eq!(jobs::retry_parked(&app.app.store, Some(id)).await.unwrap(), 1);
    assert_eq!(jobs::run_due(&app.app).await.unwrap(), 1, "until somebody says so");
}

#[tokio::test]
async fn a_job_of_a_killed_node_is_taken_over_when_its_lease_runs_out() {
    let app = TestApp::new().await;
    jobs::run_due(&app.app).await.unwrap();
    enqueue(&app, "partitions.maintain", json!({})).await;
    // What a node leaves behind that was killed in the middle of a job.
    let database = app.database.client().await;
    database
        .batch_execute(
            "UPDATE job SET attempts = 1, leased_by = gen_random_uuid(), leased_until = now() + interval '1 minute'",
        )
        .await
        .unwrap();
    assert_eq!(jobs::run_due(&app.app).await.unwrap(), 0, "the lease still holds");
    database.batch_execute("UPDATE job SET leased_until = now() - interval '1 second'").await.unwrap();
    assert_eq!(jobs::run_due(&app.app).await.unwrap(), 1);
    let attempts = count(&app, "SELECT max(attempts)::bigint FROM job_outcome").await;
    assert_eq!(attempts, 2);
}

#[tokio::test]
async fn a_job_that_kills_every_node_is_parked_in_the_end() {
    let app = TestApp::new().await;
    jobs::run_due(&app.app).await.unwrap();
    enqueue(&app, "partitions.maintain", json!({})).await;
    app.database
        .client()
        .await
        .batch_execute("UPDATE job SET attempts = 5, leased_by = gen_random_uuid(), leased_until = now() - interval '1 s'")
        .await
        .unwrap();
    jobs::run_due(&app.app).await.unwrap();
    let parked = jobs::parked(&app.app.store).await.unwrap();
    assert_eq!(parked.len(), 1);
    assert!(parked[0].last_error.as_deref().unwrap().contains("ended with the node"));
}

#[tokio::test]
async fn jobs_of_a_newer_release_are_left_for_it() {
    let app = TestApp::new().await;
    enqueue(&app, "a.kind.nobody.knows.yet", json!({})).await;
    jobs::run_due(&app.app).await.unwrap();
    assert_eq!(count(&app, "SELECT count(*) FROM job WHERE attempts = 0").await, 1);
}

#[tokio::test]
async fn expired_outcomes_leave_with_their_partition() {
    let app = TestApp::new().await;
    let database = app.database.client().await;
    // A partition of last month, with a row in it, as an old database would have.
    let start = 1_700_006_400_i64;
    let floor = |seconds: i64| {
        porteiro_protocol::id::ordered_floor(
            porteiro_protocol::time::OffsetDateTime::from_unix_timestamp(seconds).unwrap(),
        )
    };
    database
        .batch_execute(&format!(
            "CREATE TABLE job_outcome_p{start} PARTITION OF job_outcome FOR VALUES FROM ('{}') TO ('{}');
             INSERT INTO job_outcome (job_id, kind, attempts) VALUES ('{}', 'old', 1)",
            floor(start),
            floor(start + 86_400),
            floor(start + 5)
        ))
        .await
        .unwrap();
    assert_eq!(count(&app, "SELECT count(*) FROM job_outcome WHERE kind = 'old'").await, 1);
    let done = porteiro_service::store::partitions::maintain(&app.app.store).await.unwrap();
    assert_eq!(done.dropped, 1);
    assert_eq!(count(&app, "SELECT count(*) FROM job_outcome WHERE kind = 'old'").await, 0);
    let again = porteiro_service::store::partitions::maintain(&app.app.store).await.unwrap();
    assert_eq!((again.created, again.dropped), (0, 0));
}
