//! One code, one refresh token, many presenters at the same moment on three nodes: one winner, and the grant is revoked,
//! every time (docs/decisions/0019 says which statement would miss it).

use std::sync::Arc;

use porteiro_testkit::{Browser, TestApp};
use serde_json::Value;
use tokio::task::JoinSet;

use super::driver::{Relying, userinfo};

/// Every presenter in one room, until all are there.
async fn all_at_once(
    nodes: &[Arc<TestApp>],
    client: &Relying,
    presenters: usize,
    form: &[(&str, &str)],
) -> (Vec<Value>, usize) {
    let barrier = Arc::new(tokio::sync::Barrier::new(presenters));
    let mut asking = JoinSet::new();
    for index in 0..presenters {
        let (node, client, barrier) =
            (Arc::clone(&nodes[index % nodes.len()]), client.clone(), Arc::clone(&barrier));
        let form: Vec<(String, String)> =
            form.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        asking.spawn(async move {
            let form: Vec<(&str, &str)> = form.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            barrier.wait().await;
            client.call(&node, "/connect/token", &form).await
        });
    }
    let (mut won, mut refused) = (Vec::new(), 0);
    while let Some(answer) = asking.join_next().await {
        let answer = answer.unwrap();
        match answer.status.as_u16() {
            200 => won.push(answer.json()),
            400 => {
                assert_eq!(answer.json()["error"], "invalid_grant");
                refused += 1;
            }
            other => panic!("{other}: {}", answer.text()),
        }
    }
    (won, refused)
}

/// The winner's tokens are dead on every node, at once.
async fn dead_everywhere(nodes: &[Arc<TestApp>], client: &Relying, tokens: &Value) {
    for node in nodes {
        let refresh = client.refresh(node, tokens["refresh_token"].as_str().unwrap(), &[]).await;
        assert_eq!(refresh.json()["error"], "invalid_grant");
        assert_eq!(userinfo(node, tokens["access_token"].as_str().unwrap()).await.status, 401);
    }
}

async fn race(rounds: usize, presenters: usize, refresh: bool) {
    let nodes = TestApp::builder().people().start_nodes(3).await;
    let mut browser: Browser = super::driver::person(&nodes[0]).await;
    let client = Relying::web(&nodes[0]).await;
    for round in 0..rounds {
        nodes[0].forget_limits().await;
        let (code, verifier) = client.code(&mut browser, &[]).await;
        let (won, refused) = if refresh {
            let tokens = client.redeem(&nodes[round % 3], &code, &verifier).await.json();
            let token = tokens["refresh_token"].as_str().unwrap();
            all_at_once(
                &nodes,
                &client,
                presenters,
                &[("grant_type", "refresh_token"), ("refresh_token", token)],
            )
            .await
        } else {
            let form =
                [("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", &verifier)];
            all_at_once(&nodes, &client, presenters, &form).await
        };
        assert_eq!((won.len(), refused), (1, presenters - 1), "round {round}");
        dead_everywhere(&nodes, &client, &won[0]).await;
    }
    let live = nodes[0].count("SELECT count(*) FROM oauth_grant WHERE revoked_at IS NULL").await;
    assert_eq!(live, 0, "every family was revoked");
    let logged = nodes[0].count("SELECT count(*) FROM security_log WHERE kind = 'grant.reused'").await;
    assert_eq!(logged, i64::try_from(rounds).unwrap(), "each reuse is written down once");
}

/// 500 rounds with `just prove`; a handful where every change is tested.
fn rounds(long: usize, short: usize) -> usize {
    if crate::people::long() { long } else { short }
}

macro_rules! races {
    ($($name:ident: $presenters:literal, $refresh:literal;)+) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            race(rounds(500, 6), $presenters, $refresh).await;
        })+
    };
}

races! {
    one_code_two_at_once: 2, false;
    one_code_eight_at_once: 8, false;
    one_code_thirty_two_at_once: 32, false;
    one_code_sixty_four_at_once: 64, false;
    one_refresh_token_two_at_once: 2, true;
    one_refresh_token_eight_at_once: 8, true;
    one_refresh_token_thirty_two_at_once: 32, true;
    one_refresh_token_sixty_four_at_once: 64, true;
}

/// Keycloak's issue 51312: a refresh that races a revocation must not outlive it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_that_races_a_revocation_does_not_outlive_it() {
    let nodes = TestApp::builder().people().start_nodes(2).await;
    let mut browser = super::driver::person(&nodes[0]).await;
    let client = Relying::web(&nodes[0]).await;
    for _ in 0..rounds(200, 20) {
        nodes[0].forget_limits().await;
        let tokens = client.tokens(&mut browser, &nodes[0], &[]).await;
        let token = tokens["refresh_token"].as_str().unwrap();
        let form = [("token", token)];
        let (refreshed, revoked) = tokio::join!(
            client.refresh(&nodes[1], token, &[]),
            client.call(&nodes[0], "/connect/revoke", &form)
        );
        assert_eq!(revoked.status, 200);
        if refreshed.status == 200 {
            dead_everywhere(&nodes, &client, &refreshed.json()).await;
        }
    }
}
