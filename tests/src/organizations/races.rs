//! Changes of who may do what, at the same moment on several nodes.

use std::sync::Arc;

use http::Method;
use porteiro_protocol::id::OrganizationId;
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    driver::{call, key, organization},
    staff::{MANAGES, Staff, account, members, post},
};
use crate::{oauth::driver::Relying, people::long};
use porteiro_service::api_keys::KeyKind;

struct Call {
    method: Method,
    path: String,
    bearer: String,
    body: Value,
    tag: String,
}

/// Every call in one room until all are there, each on another node.
async fn at_once(nodes: &[Arc<TestApp>], calls: Vec<Call>) -> Vec<Answer> {
    let barrier = Arc::new(tokio::sync::Barrier::new(calls.len()));
    let mut asking = JoinSet::new();
    for (index, one) in calls.into_iter().enumerate() {
        let (node, barrier) = (Arc::clone(&nodes[index % nodes.len()]), Arc::clone(&barrier));
        asking.spawn(async move {
            barrier.wait().await;
            let headers = [("if-match", one.tag.as_str())];
            (index, call(&node, one.method, &one.path, &one.bearer, Some(&one.body), &headers).await)
        });
    }
    let mut answers = asking.join_all().await;
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

async fn nodes() -> Vec<Arc<TestApp>> {
    TestApp::builder().people().start_nodes(3).await
}

async fn tag(app: &TestApp, path: &str, bearer: &str) -> String {
    call(app, Method::GET, path, bearer, None, &[]).await.header("etag").to_owned()
}

async fn active_owners(app: &TestApp, organization: OrganizationId) -> i64 {
    app.count(&format!(
        "SELECT count(*) FROM membership_role mr JOIN membership m USING (organization_id, membership_id)
         WHERE mr.organization_id = '{organization}' AND role_key = 'owner' AND m.state = 'active'"
    ))
    .await
}

/// However they try to be rid of each other, one owner is left.
#[tokio::test]
async fn two_owners_who_demote_each_other_leave_one() {
    let nodes = nodes().await;
    let app = &nodes[0];
    let client = Relying::console(app).await;
    let mut staff = Vec::new();
    let first = organization(app, "first").await;
    for number in 0..2 {
        staff.push(Staff::new(app, &format!("owner{number}@example.test"), first, "owner").await);
    }
    for round in 0..if long() { 100 } else { 6 } {
        let here = organization(app, &format!("round{round}")).await;
        let mut tokens = Vec::new();
        for one in &mut staff {
            app.forget_limits().await;
            one.member = super::driver::join(app, here, one.account, "owner").await;
            tokens.push(one.token(app, &client, here, MANAGES).await);
        }
        let mut calls = Vec::new();
        for (by, whom) in [(0, 1), (1, 0)] {
            let path = format!("{}/{}", members(here), staff[whom].member);
            let tag = tag(app, &path, &tokens[by]).await;
            calls.push(match round % 3 {
                0 => Call {
                    method: Method::PATCH,
                    path,
                    bearer: tokens[by].clone(),
                    body: json!({"roles": ["member"]}),
                    tag,
                },
                1 => Call {
                    method: Method::POST,
                    path: format!("{path}/disable"),
                    bearer: tokens[by].clone(),
                    body: json!({}),
                    tag,
                },
                _ => Call { method: Method::DELETE, path, bearer: tokens[by].clone(), body: json!({}), tag },
            });
        }
        let answers = at_once(&nodes, calls).await;
        let done = answers.iter().filter(|answer| answer.status.is_success()).count();
        let told: Vec<String> = answers.iter().map(Answer::text).collect();
        assert_eq!(done, 1, "round {round}: {told:?}");
        assert_eq!(active_owners(app, here).await, 1, "round {round}");
    }
}

/// Whichever comes first: who is disabled wears no role that counts, holds no key and no token.
#[tokio::test]
async fn a_member_disabled_while_a_role_is_given_is_disabled() {
    let nodes = nodes().await;
    let app = &nodes[0];
    let here = organization(app, "here").await;
    let client = Relying::console(app).await;
    let mut owner = Staff::new(app, "owner@example.test", here, "owner").await;
    let token = owner.token(app, &client, here, MANAGES).await;
    for round in 0..if long() { 100 } else { 6 } {
        app.forget_limits().await;
        let member = super::driver::join(app, here, account(app, "Ana").await, "member").await;
        let personal = key(app, KeyKind::Personal, Some(here), Some(member), &["organization:read"]).await;
        let path = format!("{}/{member}", members(here));
        let tag = tag(app, &path, &token).await;
        let give = Call {
            method: Method::PATCH,
            path: path.clone(),
            bearer: token.clone(),
            body: json!({"roles": ["admin"]}),
            tag: tag.clone(),
        };
        let disable = Call {
            method: Method::POST,
            path: format!("{path}/disable"),
            bearer: token.clone(),
            body: json!({}),
            tag,
        };
        let answers = at_once(&nodes, vec![give, disable]).await;
        assert!(answers[0].status == 200 || answers[0].status == 412, "{}", answers[0].text());
        assert_eq!(answers[1].status, 200, "{}", answers[1].text());
        let now = call(app, Method::GET, &path, &token, None, &[]).await.json();
        assert_eq!(now["state"], "disabled", "round {round}");
        let refused = call(app, Method::GET, &members(here), &personal, None, &[]).await;
        assert_eq!(refused.status, 401, "round {round}");
    }
}

/// A code or token that is being made as its member is disabled either was there to be ended or is never made.
#[tokio::test]
async fn nothing_is_issued_past_a_cut() {
    let nodes = nodes().await;
    let app = &nodes[0];
    let here = organization(app, "here").await;
    let client = Relying::console(app).await;
    let mut owner = Staff::new(app, "owner@example.test", here, "owner").await;
    let token = owner.token(app, &client, here, MANAGES).await;
    let mut ana = Staff::new(app, "ana@example.test", here, "member").await;
    let path = format!("{}/{}", members(here), ana.member);
    let asked = [("scope", "openid organization:read"), ("organization", "here")];
    client.tokens(&mut ana.browser, app, &asked).await;
    for round in 0..if long() { 100 } else { 6 } {
        app.forget_limits().await;
        let tokens = client.tokens(&mut ana.browser, app, &asked).await;
        let (other, disable) = (Arc::clone(&nodes[1]), format!("{path}/disable"));
        let (verifier, body) = (crate::oauth::driver::verifier(), json!({}));
        let (asks, refreshes, disabled) = tokio::join!(
            client.ask(&mut ana.browser, &verifier, &asked),
            client.refresh(&nodes[2], tokens["refresh_token"].as_str().unwrap(), &[]),
            post(&other, &disable, &token, &body),
        );
        assert_eq!(disabled.json()["state"], "disabled", "{}", disabled.text());
        if let Some(code) = crate::oauth::driver::parameter(&asks.json(), "code") {
            assert_eq!(client.redeem(app, &code, &verifier).await.status, 400, "round {round}");
        }
        if refreshes.status == 200 {
            let next = refreshes.json();
            let again = client.refresh(app, next["refresh_token"].as_str().unwrap(), &[]).await;
            assert_eq!(again.json()["error"], "invalid_grant", "round {round}");
        }
        let living = format!(
            "SELECT count(*) FROM oauth_grant WHERE revoked_at IS NULL AND membership_id = '{}'",
            ana.member
        );
        assert_eq!(app.count(&living).await, 0, "round {round}");
        assert_eq!(post(app, &format!("{path}/enable"), &token, &json!({})).await.status, 200);
        client.tokens(&mut ana.browser, app, &asked).await;
    }
}
