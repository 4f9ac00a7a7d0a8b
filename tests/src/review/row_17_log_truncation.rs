//! Logs cannot be truncated by partition, and every use of `organizations:administer` is recorded.

use http::Method;
use porteiro_service::store::partitions;
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use crate::{
    organizations::driver::{call, organization, platform_key},
    people,
};

async fn partitions_of(app: &TestApp, log: &str) -> Vec<String> {
    let client = app.database.client().await;
    let sql =
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1::text::regclass ORDER BY 1";
    client.query(sql, &[&log]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Every statement that would change what a log says, at every table that holds it.
async fn attack(app: &TestApp, log: &str) {
    let client = app.database.client().await;
    let mut tables = partitions_of(app, log).await;
    assert!(tables.len() > 1, "{tables:?}");
    tables.push(log.to_owned());
    for table in tables {
        let before = app.count(&format!("SELECT count(*) FROM {log}")).await;
        for statement in [
            format!("TRUNCATE {table}"),
            format!("TRUNCATE {table} CASCADE"),
            format!("TRUNCATE ONLY {table}"),
            format!("DELETE FROM {table}"),
            format!("UPDATE {table} SET kind = 'x'"),
        ] {
            match client.batch_execute(&statement).await {
                Ok(()) => assert!(!statement.starts_with("TRUNCATE"), "{statement} got through"),
                Err(error) => {
                    let message = error.as_db_error().unwrap().message().to_owned();
                    let expected = ["append-only", "permission denied", "cannot truncate only"];
                    assert!(expected.iter().any(|it| message.contains(it)), "{statement}: {message}");
                }
            }
        }
        assert_eq!(app.count(&format!("SELECT count(*) FROM {log}")).await, before, "{table}");
        assert_eq!(app.count(&format!("SELECT count(*) FROM {log} WHERE kind = 'x'")).await, 0, "{table}");
    }
}

#[tokio::test]
async fn no_partition_of_a_log_can_be_truncated_changed_or_emptied() {
    let app = people::app().await;
    people::register_with_password(&app, "ana@example.test").await;
    let here = organization(&app, "here").await;
    let key = platform_key(&app, &["organizations:administer"]).await;
    let reason = [("porteiro-reason", "a test")];
    let path = format!("/v1/organizations/{here}/members");
    assert_eq!(call(&app, Method::GET, &path, &key, None, &reason).await.status, 200);
    for log in ["security_log", "trail"] {
        assert!(app.count(&format!("SELECT count(*) FROM {log}")).await > 0);
        attack(&app, log).await;
    }
}

#[tokio::test]
async fn a_partition_made_later_is_guarded_like_the_others() {
    let app = people::app().await;
    for log in ["security_log", "trail"] {
        let newest = partitions_of(&app, log).await.pop().unwrap();
        app.sql(&format!("DROP TABLE {newest}")).await;
        assert!(partitions::maintain(&app.app.store).await.unwrap().created > 0);
        assert!(partitions_of(&app, log).await.contains(&newest));
        // As a node of an older release would have made it.
        app.sql(&format!("DROP TRIGGER {log}_no_truncate ON {newest}")).await;
        partitions::maintain(&app.app.store).await.unwrap();
        attack(&app, log).await;
    }
}

async fn recorded(app: &TestApp) -> Vec<(String, Option<String>, String)> {
    let client = app.database.client().await;
    let sql = "SELECT kind, reason, target->>'id' FROM trail ORDER BY sequence";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

#[tokio::test]
async fn every_use_of_administer_is_in_the_trail_though_it_changes_nothing() {
    let app = TestApp::new().await;
    let here = organization(&app, "here").await;
    let key = platform_key(&app, &["organizations:administer"]).await;
    let use_it = async |verb: &str, reason: &str, body: Option<Value>| {
        let path = format!("/v1/organizations/{here}/{verb}");
        let more = [("porteiro-reason", reason)];
        let answer = call(&app, Method::POST, &path, &key, body.as_ref(), &more).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    let unpaid = || Some(json!({"reason_code": "unpaid"}));
    use_it("resume", "one", None).await;
    use_it("suspend", "two", unpaid()).await;
    use_it("suspend", "three", unpaid()).await;
    use_it("suspend", "four", unpaid()).await;
    use_it("resume", "five", None).await;
    use_it("resume", "six", None).await;
    let at = |verb: &str| format!("POST /v1/organizations/{here}/{verb}");
    let expected: Vec<(String, Option<String>, String)> = [
        ("platform.administered", "one", at("resume")),
        ("organization.suspended", "two", here.to_string()),
        ("platform.administered", "three", at("suspend")),
        ("platform.administered", "four", at("suspend")),
        ("organization.resumed", "five", here.to_string()),
        ("platform.administered", "six", at("resume")),
    ]
    .map(|(kind, reason, target)| (kind.to_owned(), Some(reason.to_owned()), target))
    .into();
    assert_eq!(recorded(&app).await, expected);
    // The words of the first suspension stay: a repetition is recorded, not done.
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind LIKE 'organization.%'").await, 2);
}
