//! Many presentations in one statement: each gets what it would have got alone.

use std::{sync::Arc, sync::atomic::Ordering, time::Duration};

use http::StatusCode;
use porteiro_service::secrets::{HandleKind, Route};
use porteiro_testkit::{Answer, TestApp, variable};
use tokio::{sync::Barrier, task::JoinSet};

use super::{
    codes::refused,
    driver::{Relying, challenge},
};

/// Families of one client, straight into the database: their current refresh tokens.
async fn families(app: &TestApp, client: &Relying, count: usize) -> Vec<String> {
    let (now, entropy) = (app.app.clock.now(), &*app.app.entropy);
    let mut tokens = Vec::new();
    for _ in 0..count {
        let grant = porteiro_service::oauth::grants::GrantId::ordered(now, entropy).uuid();
        let account = porteiro_protocol::id::AccountId::random(entropy).uuid();
        let route = Route { owner: account, row: grant, generation: 1 };
        let issued = app.app.secrets.handles.issue(HandleKind::Refresh, route, entropy).unwrap();
        let hash: Vec<String> = issued.hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let hash = hash.concat();
        app.sql(&format!(
            "INSERT INTO oauth_grant (grant_id, account_id, client_id, generation, current_hash, expires_at, ends_at,
                 idle_seconds, session_id, offline, code_challenge, scope, audience, terms)
             VALUES ('{grant}', '{account}', '{}', 1, '\\x{hash}', now() + interval '1 day', now() + interval '1 day',
                 86400, '{account}', true, '{}', 'openid', '{}', '{{\"level\": \"aal1\", \"auth_time\": 1, \"amr\": []}}')",
            client.id,
            challenge("x"),
            app.app.issuer(),
        ))
        .await;
        tokens.push(issued.text.to_string());
    }
    tokens
}

/// Everybody at the same moment, each on its node; answers in the order of the tokens.
async fn at_once(nodes: &[Arc<TestApp>], client: &Relying, tokens: &[String]) -> Vec<Answer> {
    let start = Arc::new(Barrier::new(tokens.len()));
    let mut racing = JoinSet::new();
    for (index, token) in tokens.iter().cloned().enumerate() {
        let (node, client) = (Arc::clone(&nodes[index % nodes.len()]), client.clone());
        let start = Arc::clone(&start);
        racing.spawn(async move {
            start.wait().await;
            (index, client.refresh(&node, &token, &[]).await)
        });
    }
    let mut answers = racing.join_all().await;
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// A busy machine refuses some with 503 and has done nothing: those are presented again, one after the other.
async fn settled(
    nodes: &[Arc<TestApp>],
    client: &Relying,
    tokens: &[String],
    answers: Vec<Answer>,
) -> Vec<Answer> {
    let mut settled = Vec::new();
    for (mut answer, token) in answers.into_iter().zip(tokens) {
        while answer.status == StatusCode::SERVICE_UNAVAILABLE {
            answer = client.refresh(&nodes[0], token, &[]).await;
        }
        settled.push(answer);
    }
    settled
}

fn next(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["refresh_token"].as_str().unwrap().to_owned()
}

async fn revoked(app: &TestApp) -> i64 {
    app.count("SELECT count(*) FROM oauth_grant WHERE revoked_at IS NOT NULL").await
}

#[tokio::test]
async fn many_families_share_a_few_statements_and_each_gets_its_own_answer() {
    let nodes = [Arc::new(TestApp::builder().people().proxied().start().await)];
    let client = Relying::web(&nodes[0]).await;
    let mut tokens = families(&nodes[0], &client, 200).await;
    next(&client.refresh(&nodes[0], &families(&nodes[0], &client, 1).await[0], &[]).await);
    for round in 0..3 {
        let asked = &nodes[0].proxy.as_ref().unwrap().faults.asked;
        let before = asked.load(Ordering::Relaxed);
        tokens = at_once(&nodes, &client, &tokens).await.iter().map(next).collect();
        let messages = asked.load(Ordering::Relaxed) - before;
        assert!(messages < 100, "round {round}: {messages} messages for 200 tokens");
    }
    assert_eq!(revoked(&nodes[0]).await, 0);
    assert_eq!(nodes[0].count("SELECT count(*) FROM oauth_grant WHERE generation = 4").await, 200);
}

/// The race that matters most: one wins, and then nobody.
#[tokio::test]
async fn one_token_64_times_at_once_on_three_nodes_ends_its_family() {
    let nodes = TestApp::builder().people().start_nodes(3).await;
    let client = Relying::web(&nodes[0]).await;
    for _ in 0..5 {
        let before = revoked(&nodes[0]).await;
        let stolen = families(&nodes[0], &client, 1).await.remove(0);
        let others = families(&nodes[0], &client, 32).await;
        // Among others, so that it travels in groups.
        let presented: Vec<String> =
            (0..96).map(|turn| if turn % 3 == 2 { &others[turn / 3] } else { &stolen }.clone()).collect();
        let answers = at_once(&nodes, &client, &presented).await;
        let answers = settled(&nodes, &client, &presented, answers).await;
        let (thieves, fair): (Vec<_>, Vec<_>) =
            answers.iter().zip(&presented).partition(|(_, token)| **token == stolen);
        let won: Vec<_> = thieves.iter().filter(|(answer, _)| answer.status == StatusCode::OK).collect();
        assert_eq!((thieves.len(), won.len()), (64, 1));
        for (answer, _) in thieves.iter().filter(|(answer, _)| answer.status != StatusCode::OK) {
            refused(answer, "invalid_grant");
        }
        for (answer, _) in fair {
            next(answer);
        }
        assert_eq!(revoked(&nodes[0]).await, before + 1);
        refused(&client.refresh(&nodes[0], &next(won[0].0), &[]).await, "invalid_grant");
    }
}

/// A cut line says nothing about what happened: nobody is told that it did, and nothing is presented a second time,
/// which would end the family of somebody who did nothing wrong.
#[tokio::test]
async fn after_a_cut_nobody_is_told_of_a_success_that_is_none_and_nothing_is_repeated() {
    let nodes = [Arc::new(TestApp::builder().people().proxied().start().await)];
    let client = Relying::web(&nodes[0]).await;
    let faults = &nodes[0].proxy.as_ref().unwrap().faults;
    let (mut succeeded, mut failed) = (0, 0);
    for _ in 0..20 {
        let tokens = families(&nodes[0], &client, 24).await;
        faults.random_per_mille.store(80, Ordering::Relaxed);
        let answers = at_once(&nodes, &client, &tokens).await;
        faults.random_per_mille.store(0, Ordering::Relaxed);
        for answer in answers {
            if answer.status == StatusCode::OK {
                // It happened: what was handed out is current.
                next(&client.refresh(&nodes[0], &next(&answer), &[]).await);
                succeeded += 1;
            } else {
                assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text());
                failed += 1;
            }
        }
    }
    assert!(succeeded > 0 && failed > 0, "{succeeded} succeeded, {failed} failed");
    assert_eq!(revoked(&nodes[0]).await, 0);
}

#[tokio::test]
async fn what_one_breaks_does_not_break_the_others() {
    let nodes = [Arc::new(TestApp::builder().people().start().await)];
    let client = Relying::web(&nodes[0]).await;
    let tokens = families(&nodes[0], &client, 20).await;
    let bad = families(&nodes[0], &client, 1).await;
    nodes[0]
        .sql(
            "CREATE FUNCTION break_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
             CREATE TRIGGER break_it BEFORE UPDATE ON oauth_grant FOR EACH ROW
             WHEN (OLD.scope = 'broken') EXECUTE FUNCTION break_it()",
        )
        .await;
    let handle = nodes[0].app.secrets.handles.open(HandleKind::Refresh, &bad[0]).unwrap();
    let route = handle.route.row;
    nodes[0].sql(&format!("UPDATE oauth_grant SET scope = 'broken' WHERE grant_id = '{route}'")).await;
    let answers = at_once(&nodes, &client, &[tokens, bad].concat()).await;
    for answer in &answers[..20] {
        next(answer);
    }
    assert_eq!(answers[20].status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(revoked(&nodes[0]).await, 0);
}

/// Somebody holds one row for long: whoever came after it does not wait for that.
#[tokio::test]
async fn a_row_that_is_held_does_not_hold_up_the_others() {
    let settings = |settings: &mut porteiro_service::settings::Settings| settings.database_pool_size = 4;
    let nodes = [Arc::new(TestApp::builder().people().settings(settings).start().await)];
    let client = Relying::web(&nodes[0]).await;
    let mut tokens = families(&nodes[0], &client, 11).await;
    let held = tokens.remove(0);
    let route = nodes[0].app.secrets.handles.open(HandleKind::Refresh, &held).unwrap().route;
    let holder = nodes[0].database.client().await;
    holder.batch_execute("BEGIN").await.unwrap();
    let lock = format!("SELECT 1 FROM oauth_grant WHERE grant_id = '{}' FOR UPDATE", route.row);
    holder.batch_execute(&lock).await.unwrap();
    let waiting = {
        let (node, client) = (Arc::clone(&nodes[0]), client.clone());
        tokio::spawn(async move { client.refresh(&node, &held, &[]).await })
    };
    let locked = "SELECT count(*) FROM pg_stat_activity
                  WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while nodes[0].count(locked).await == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let others = tokio::time::timeout(Duration::from_secs(5), at_once(&nodes, &client, &tokens)).await;
    others.expect("the others are served meanwhile").iter().for_each(|answer| drop(next(answer)));
    assert!(!waiting.is_finished());
    holder.batch_execute("COMMIT").await.unwrap();
    next(&waiting.await.unwrap());
}

#[tokio::test]
async fn grouping_works_through_pgbouncer_in_transaction_mode() {
    let Some(pooler) = variable("PORTEIRO_TEST_PGBOUNCER_URL") else { return };
    let nodes = [Arc::new(TestApp::builder().people().through(pooler).start().await)];
    let client = Relying::web(&nodes[0]).await;
    let mut tokens = families(&nodes[0], &client, 40).await;
    for _ in 0..10 {
        tokens = at_once(&nodes, &client, &tokens).await.iter().map(next).collect();
    }
    assert_eq!(revoked(&nodes[0]).await, 0);
}
