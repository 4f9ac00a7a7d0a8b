//! What nodes remember of clients and APIs: nothing is asked twice, and nothing is believed for long.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use porteiro_service::oauth::{
    apis,
    clients::{self, Trust},
};
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use super::{LEDGER, encode, ledger, service};

async fn ask(app: &TestApp, client: &Value) -> Answer {
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", client["client_id"].as_str().unwrap()),
        ("client_secret", client["client_secret"].as_str().unwrap()),
        ("scope", "invoices:write"),
    ];
    app.form("/connect/token", encode(&form)).await
}

#[tokio::test]
async fn a_warm_node_asks_the_database_at_most_four_times_a_second() {
    let app = TestApp::builder().proxied().start().await;
    apis::register(&app.app.store, &ledger()).await.unwrap();
    let client = service(&app, "client_secret_post", json!({})).await;
    assert_eq!(ask(&app, &client).await.status, 200);
    let faults = &app.proxy.as_ref().unwrap().faults;
    // One more look, so that its statement is prepared on this connection and a look is one message.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(ask(&app, &client).await.status, 200);
    let (before, started) = (faults.asked.load(Ordering::Relaxed), Instant::now());
    for _ in 0..100 {
        assert_eq!(ask(&app, &client).await.status, 200);
    }
    let looks = started.elapsed().as_millis() / 250 + 1;
    let asked = faults.asked.load(Ordering::Relaxed) - before;
    // A connection that has not prepared the statement yet needs one message more.
    assert!(u128::from(asked) <= looks * 2, "{asked} messages for 100 requests in {looks} windows");
}

#[tokio::test]
async fn memory_does_not_speak_when_the_database_cannot_be_asked() {
    let app = TestApp::builder().proxied().start().await;
    apis::register(&app.app.store, &ledger()).await.unwrap();
    let client = service(&app, "client_secret_post", json!({})).await;
    assert_eq!(ask(&app, &client).await.status, 200);
    app.proxy.as_ref().unwrap().faults.random_per_mille.store(1_000, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    assert_eq!(ask(&app, &client).await.status, 503);
    app.proxy.as_ref().unwrap().faults.random_per_mille.store(0, Ordering::Relaxed);
    assert_eq!(ask(&app, &client).await.status, 200);
}

/// Asks until the answer has this status. Whoever asks after a second has it, however busy the machine is.
async fn within_a_second(app: &TestApp, client: &Value, status: u16) {
    let started = Instant::now();
    loop {
        let waited = started.elapsed();
        let answer = ask(app, client).await;
        if answer.status.as_u16() == status {
            return;
        }
        assert!(waited < Duration::from_secs(1), "still {} {}", answer.status, answer.text());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_change_on_one_node_is_noticed_on_the_other_within_a_second() {
    let nodes = TestApp::builder().start_nodes(2).await;
    let (here, there) = (&nodes[0], &nodes[1]);
    apis::register(&here.app.store, &ledger()).await.unwrap();
    let client = service(here, "client_secret_post", json!({})).await;
    let id = client["client_id"].as_str().unwrap();
    for node in &nodes {
        assert_eq!(ask(node, &client).await.status, 200);
    }
    clients::set_trust(&here.app.store, id, Trust::Unverified).await.unwrap();
    within_a_second(there, &client, 400).await;
    clients::set_trust(&here.app.store, id, Trust::Verified).await.unwrap();
    within_a_second(there, &client, 200).await;
    // An API that is removed and one that is replaced.
    apis::remove(&here.app.store, LEDGER).await.unwrap();
    within_a_second(there, &client, 400).await;
    apis::register(&here.app.store, &ledger()).await.unwrap();
    within_a_second(there, &client, 200).await;
    let mut narrower = ledger();
    narrower.scopes.retain(|scope| scope.name == "invoices:read");
    apis::register(&here.app.store, &narrower).await.unwrap();
    within_a_second(there, &client, 400).await;
    apis::register(&here.app.store, &ledger()).await.unwrap();
    within_a_second(there, &client, 200).await;
    assert!(clients::disable(&here.app.store, id).await.unwrap());
    within_a_second(there, &client, 401).await;
}

#[tokio::test]
async fn many_requests_at_once_look_once() {
    let app = std::sync::Arc::new(TestApp::builder().proxied().start().await);
    apis::register(&app.app.store, &ledger()).await.unwrap();
    let client = service(&app, "client_secret_post", json!({})).await;
    assert_eq!(ask(&app, &client).await.status, 200);
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    let faults = &app.proxy.as_ref().unwrap().faults;
    let (before, started) = (faults.asked.load(Ordering::Relaxed), Instant::now());
    let mut together = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let (app, client) = (app.clone(), client.clone());
        together.spawn(async move { ask(&app, &client).await.status });
    }
    assert!(together.join_all().await.into_iter().all(|status| status == 200));
    let asked = faults.asked.load(Ordering::Relaxed) - before;
    // A busy machine takes longer than one window; each may be looked at once more, by up to two messages.
    let looks = started.elapsed().as_millis() / 250;
    assert!(u128::from(asked) <= 8 + looks * 2, "32 requests looked more than a few times: {asked} messages");
}

#[tokio::test]
async fn while_somebody_looks_memory_answers_for_a_second_and_no_longer() {
    let app = std::sync::Arc::new(TestApp::builder().proxied().start().await);
    apis::register(&app.app.store, &ledger()).await.unwrap();
    let client = service(&app, "client_secret_post", json!({})).await;
    assert_eq!(ask(&app, &client).await.status, 200);
    let stalled = &app.proxy.as_ref().unwrap().faults.stalled;
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    stalled.store(true, Ordering::Relaxed);
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (app, client) = (app.clone(), client.clone());
        waiting.spawn(async move { ask(&app, &client).await.status });
    }
    let early = tokio::time::timeout(Duration::from_millis(300), waiting.join_next()).await;
    assert!(early.is_err(), "an answer from memory that nobody had asked about for a second");
    stalled.store(false, Ordering::Relaxed);
    assert!(waiting.join_all().await.into_iter().all(|status| status == 200));
}
