//! Approvals: limits, decisions, and that one approval is one token.

use std::sync::Arc;

use http::Method;
use porteiro_service::oauth::apis;
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};
use tokio::{sync::Barrier, task::JoinSet};

use super::driver::{
    Asked, CIBA, Scene, action, ask, asked, asking_agent, ledger_with_payments, prove_two_factors, proved,
};
use crate::{
    oauth::driver::Relying,
    organizations::driver::{account_of, call, get, organization_key},
    people,
};

/// Three nodes, one person, and an agent that she lets ask.
pub(super) async fn nodes() -> (Vec<Arc<TestApp>>, Browser, Relying, String) {
    let nodes = TestApp::builder().people().connections(4).start_nodes(3).await;
    apis::register(&nodes[0].app.store, &ledger_with_payments()).await.unwrap();
    let mut browser = proved(&nodes[0], "ana@example.test").await;
    let account = account_of(&mut browser).await.to_string();
    let agent = asking_agent(&nodes[0], json!({})).await;
    for node in &nodes {
        node.catch_up().await;
    }
    let body = json!({"client_id": agent.id, "scope": "invoices:read"});
    assert_eq!(browser.post("/v1/account/delegations", &body).await.status, 201);
    (nodes, browser, agent, account)
}

/// Sixty-four of them over all nodes, started together.
pub(super) async fn all_at_once<F>(nodes: &[Arc<TestApp>], one: impl Fn(Arc<TestApp>) -> F) -> Vec<Answer>
where
    F: Future<Output = Answer> + Send + 'static,
{
    let start = Arc::new(Barrier::new(64));
    let mut racing = JoinSet::new();
    for number in 0..64 {
        let (work, start) = (one(Arc::clone(&nodes[number % nodes.len()])), Arc::clone(&start));
        racing.spawn(async move {
            start.wait().await;
            work.await
        });
    }
    racing.join_all().await
}

pub(super) async fn inbox(browser: &mut Browser, state: &str) -> Vec<Value> {
    let page = browser.get(&format!("/v1/account/approvals?state={state}&limit=100")).await.json();
    page["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn sixty_four_requests_at_once_leave_three_waiting() {
    let (nodes, mut browser, agent, account) = nodes().await;
    let answers = all_at_once(&nodes, |node| {
        let (agent, account) = (agent.clone(), account.clone());
        async move { ask(&node, &agent, &account, &[]).await }
    })
    .await;
    let fits = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(fits, 3, "{:?}", answers.iter().map(|answer| answer.status).collect::<Vec<_>>());
    assert!(answers.iter().all(|answer| answer.status == 200 || answer.status == 429));
    assert_eq!(inbox(&mut browser, "pending").await.len(), 3);
}

#[tokio::test]
async fn one_approval_redeemed_from_sixty_four_places_is_one_token() {
    let (nodes, mut browser, agent, account) = nodes().await;
    let request = asked(&ask(&nodes[0], &agent, &account, &[]).await);
    let id = inbox(&mut browser, "pending").await[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/account/approvals/{id}/approve");
    let answer = browser.post(&path, &json!({"number": request.number})).await;
    assert_eq!(answer.json()["state"], "approved", "{}", answer.text());
    let answers = all_at_once(&nodes, |node| {
        let (agent, handle) = (agent.clone(), request.handle.clone());
        async move { agent.token(&node, CIBA, &[("auth_req_id", &handle)]).await }
    })
    .await;
    let (given, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(given.len(), 1);
    for answer in refused {
        assert_eq!(answer.json()["error"], "invalid_grant", "{}", answer.text());
    }
    assert_eq!(nodes[0].count("SELECT count(*) FROM oauth_grant WHERE terms ? 'approval'").await, 1);
}

#[tokio::test]
async fn a_wrong_number_denies_and_three_denials_block_the_client_for_a_day() {
    let mut scene = Scene::asking().await;
    for _ in 0..2 {
        let request = scene.asked(&[]).await;
        let waiting = scene.waiting().await;
        let numbers = waiting["numbers"].as_array().unwrap();
        let wrong = numbers.iter().find(|number| **number != json!(request.number)).unwrap();
        let answer = scene.decide("approve", &json!({"number": wrong})).await;
        assert_eq!(answer.json()["state"], "denied", "{}", answer.text());
        assert_eq!(scene.poll(&request).await.json()["error"], "access_denied");
    }
    let (third, waits) = (scene.asked(&[]).await, scene.asked(&[]).await);
    scene.decide("deny", &json!({})).await;
    assert_eq!(inbox(&mut scene.browser, "pending").await, [] as [Value; 0], "what waited is over, too");
    for request in [third, waits] {
        assert_eq!(scene.poll(&request).await.json()["error"], "access_denied");
    }
    let answer = scene.ask(&scene.agent, &[]).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["error"]), (403, &json!("access_denied")));
    let log = scene.browser.get("/v1/account/activity").await.text();
    assert!(log.contains("approval.client_blocked"), "{log}");
    scene.app.sql("UPDATE approval_block SET until = now()").await;
    assert_eq!(scene.ask(&scene.agent, &[]).await.status, 200);
}

#[tokio::test]
async fn one_report_blocks_the_client_and_takes_back_what_was_approved() {
    let mut scene = Scene::asking().await;
    let approved = scene.asked(&[]).await;
    scene.approve(&approved).await;
    let reported = scene.asked(&[]).await;
    assert_eq!(scene.decide("report", &json!({})).await.json()["state"], "blocked");
    for request in [approved, reported] {
        assert_eq!(scene.poll(&request).await.json()["error"], "access_denied");
    }
    assert_eq!(scene.ask(&scene.agent, &[]).await.json()["error"], "access_denied");
    // Others are not blocked.
    let other = asking_agent(&scene.app, json!({})).await;
    let body = json!({"client_id": other.id, "scope": "invoices:read"});
    assert_eq!(scene.delegate(&body).await.status, 201);
    assert_eq!(scene.ask(&other, &[]).await.status, 200);
}

#[tokio::test]
async fn ten_clients_cannot_ask_more_than_the_limits_allow() {
    let mut scene = Scene::asking().await;
    let mut accepted = 0;
    for _ in 0..10 {
        let client = asking_agent(&scene.app, json!({})).await;
        let body = json!({"client_id": client.id, "scope": "invoices:read"});
        assert_eq!(scene.delegate(&body).await.status, 201);
        let mut of_this = 0;
        for _ in 0..12 {
            of_this += usize::from(scene.ask(&client, &[]).await.status == 200);
            // As if nobody had looked in time.
            scene.app.sql("UPDATE approval SET expires_at = now() WHERE state = 'pending'").await;
        }
        assert!(of_this <= 10, "an hour");
        accepted += of_this;
    }
    // Six have used up the sixty of the day, and each of the others has its own share.
    assert_eq!(accepted, 60 + 4 * 3, "a day, of all clients");
    // A day later they may ask again, and not all of them at once.
    scene.app.sql("UPDATE approval SET created_at = created_at - interval '25 hours'").await;
    for expected in [200, 200, 200, 429] {
        assert_eq!(scene.ask(&scene.agent, &[]).await.status, expected);
    }
    assert_eq!(inbox(&mut scene.browser, "pending").await.len(), 3);
}

#[tokio::test]
async fn what_cannot_be_undone_needs_two_factors_proved_within_five_minutes() {
    let mut scene = Scene::asking().await;
    let transfer = action("transfer", "10.00");
    let request = scene.asked(&[("authorization_details", &transfer)]).await;
    assert_eq!(scene.waiting().await["irreversible"], true);
    let pick = json!({"number": request.number});
    let refused = scene.decide("approve", &pick).await;
    assert_eq!(refused.json()["code"], "step_up_required", "{}", refused.text());
    assert_eq!(refused.json()["flow"]["body"], json!({"kind": "reauthenticate", "level": "aal2"}));
    assert_eq!(scene.waiting().await["state"], "pending", "nothing was decided");
    let secret = people::enrol_totp(&mut scene.browser).await;
    prove_two_factors(&mut scene.browser, &secret).await;
    let answer = scene.decide("approve", &pick).await;
    assert_eq!(answer.json()["state"], "approved", "{}", answer.text());
    assert_eq!(scene.poll(&request).await.status, 200);
    // The same proofs, six minutes later.
    let later = scene.asked(&[("authorization_details", &transfer)]).await;
    scene
        .app
        .sql(
            "UPDATE session SET proofs = (SELECT jsonb_agg(jsonb_set(p, '{at}', to_jsonb((p->>'at')::int8 - 360)))
                 FROM jsonb_array_elements(proofs) p)",
        )
        .await;
    let stale = scene.decide("approve", &json!({"number": later.number})).await;
    assert_eq!(stale.json()["code"], "step_up_required", "{}", stale.text());
    // To deny, nothing has to be proved.
    assert_eq!(scene.decide("deny", &json!({})).await.json()["state"], "denied");
}

#[tokio::test]
async fn details_do_not_change_after_the_approval() {
    let mut scene = Scene::asking().await;
    let request = scene.asked(&[]).await;
    scene.approve(&request).await;
    let more = action("payment", "99.00");
    for (name, value, error) in [
        ("authorization_details", more.as_str(), "invalid_authorization_details"),
        ("authorization_details", "[]", "invalid_authorization_details"),
        ("scope", "openid invoices:read", "invalid_scope"),
        ("resource", "https://other.example", "invalid_target"),
    ] {
        let form = [("auth_req_id", request.handle.as_str()), (name, value)];
        let answer = scene.agent.token(&scene.app, CIBA, &form).await;
        assert_eq!(answer.json()["error"], error, "{name}={value}");
    }
    // Nor in the database: the digest is that of the text.
    let client = scene.app.database.client().await;
    let change = "UPDATE approval SET frozen = replace(frozen, '10.00', '99.00')";
    assert!(client.batch_execute(change).await.is_err());
    let same = action("payment", "10.00");
    let form = [("auth_req_id", request.handle.as_str()), ("authorization_details", same.as_str())];
    assert_eq!(scene.agent.token(&scene.app, CIBA, &form).await.status, 200);
}

#[tokio::test]
async fn a_schema_that_changed_meanwhile_refuses_what_it_does_not_allow_any_more() {
    let mut scene = Scene::asking().await;
    let request = scene.asked(&[]).await;
    scene.approve(&request).await;
    let mut api = serde_json::to_value(ledger_with_payments()).unwrap();
    api["details"][0]["schema"]["properties"]["to"]["maxLength"] = json!(1);
    apis::register(&scene.app.app.store, &serde_json::from_value(api).unwrap()).await.unwrap();
    // What is kept in memory is asked after four times a second (docs/decisions/0030).
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert_eq!(scene.poll(&request).await.json()["error"], "invalid_authorization_details");
}

#[tokio::test]
async fn a_delegation_that_is_revoked_ends_what_waits_what_was_approved_and_what_was_issued() {
    let mut scene = Scene::asking().await;
    let used = scene.asked(&[]).await;
    scene.approve(&used).await;
    let token = scene.poll(&used).await.json()["access_token"].as_str().unwrap().to_owned();
    assert!(scene.counts(&scene.agent, &token).await);
    let approved = scene.asked(&[]).await;
    scene.approve(&approved).await;
    let waits = scene.asked(&[]).await;
    let all = scene.browser.get("/v1/account/delegations").await.json();
    let path = format!("/v1/account/delegations/{}", all["items"][0]["id"].as_str().unwrap());
    assert_eq!(scene.browser.delete(&path).await.status, 204);
    assert!(!scene.counts(&scene.agent, &token).await);
    assert_eq!(inbox(&mut scene.browser, "pending").await, [] as [Value; 0]);
    for request in [approved, waits] {
        assert_eq!(scene.poll(&request).await.json()["error"], "expired_token");
    }
    assert_eq!(scene.ask(&scene.agent, &[]).await.json()["error"], "unknown_user_id");
}

#[tokio::test]
async fn what_was_approved_and_not_used_ends_with_its_session() {
    let mut scene = Scene::asking().await;
    let request = scene.asked(&[]).await;
    scene.approve(&request).await;
    let session = scene.browser.get("/v1/account/sessions").await.json();
    let path = format!("/v1/account/sessions/{}", session["items"][0]["id"].as_str().unwrap());
    assert_eq!(scene.browser.delete(&path).await.status, 204);
    assert_eq!(scene.poll(&request).await.json()["error"], "expired_token");
}

#[tokio::test]
async fn nobody_else_sees_or_decides_a_request() {
    let mut scene = Scene::asking().await;
    let request = scene.asked(&[]).await;
    let id = scene.waiting().await["id"].as_str().unwrap().to_owned();
    let mut bo = proved(&scene.app, "bo@example.test").await;
    assert_eq!(inbox(&mut bo, "pending").await, [] as [Value; 0]);
    let path = format!("/v1/account/approvals/{id}");
    assert_eq!(bo.get(&path).await.status, 404);
    for verb in ["approve", "deny", "report"] {
        let answer = bo.post(&format!("{path}/{verb}"), &json!({"number": request.number})).await;
        assert_eq!(answer.status, 404, "{verb}");
    }
    // Nor does the agent, with what it holds.
    let token = scene.client.tokens(&mut scene.browser, &scene.app, &[]).await;
    let token = token["access_token"].as_str().unwrap();
    let answer = call(&scene.app, Method::POST, &format!("{path}/deny"), token, Some(&json!({})), &[]).await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert_eq!(scene.waiting().await["state"], "pending");
}

/// In an organization.
pub(super) async fn of_member(scene: &mut Scene) -> Asked {
    let more = [
        ("scope", "openid salaries:write"),
        ("resource", ""),
        ("authorization_details", ""),
        ("login_hint", &scene.membership.to_string()),
    ];
    asked(&scene.ask(&scene.agent, &more).await)
}

#[tokio::test]
async fn a_member_approves_for_the_organization_and_its_administrators_see_it() {
    let mut scene = Scene::asking().await;
    scene.delegated("salaries:read", Some("here")).await;
    let request = of_member(&mut scene).await;
    let shown = scene.approve(&request).await;
    assert_eq!(shown["organization"], scene.here.to_string());
    let tokens = scene.poll(&request).await.json();
    assert_eq!(tokens["organization"], scene.here.to_string(), "{tokens}");
    let key = organization_key(&scene.app, scene.here, &["approvals:read"]).await;
    let path = format!("/v1/organizations/{}/approvals", scene.here);
    let seen = get(&scene.app, &path, &key).await.json();
    assert_eq!(seen["items"][0]["membership"], scene.membership.to_string(), "{seen}");
    assert_eq!(seen["items"][0]["numbers"], json!([]), "only the member picks");
    let trail = scene.app.count("SELECT count(*) FROM trail WHERE kind LIKE 'approval.%'").await;
    assert_eq!(trail, 3, "asked, decided, redeemed");
    // For other organizations and for the person alone there is nothing.
    let foreign = scene.ask(&scene.agent, &[("organization", "there")]).await;
    assert_eq!(foreign.json()["error"], "unknown_user_id");
}

#[tokio::test]
async fn what_the_member_does_not_hold_is_refused_when_asked_and_when_redeemed() {
    let mut scene = Scene::asking().await;
    scene.delegated("salaries:read", Some("here")).await;
    let membership = scene.membership.to_string();
    let more = [("scope", "openid reports:write"), ("login_hint", membership.as_str())];
    assert_eq!(scene.ask(&scene.agent, &more).await.json()["error"], "invalid_scope");
    let request = of_member(&mut scene).await;
    scene.approve(&request).await;
    crate::organizations::driver::role(&scene.app, scene.here, "accountant", &["salaries:read"]).await;
    assert_eq!(scene.poll(&request).await.json()["error"], "invalid_grant");
}

async fn set_agents(scene: &Scene, agents: &str) {
    let key = organization_key(&scene.app, scene.here, &["organization:*"]).await;
    let path = format!("/v1/organizations/{}/policy", scene.here);
    let seen = get(&scene.app, &path, &key).await;
    let headers = [("if-match", seen.header("etag"))];
    let body = json!({"agents": agents});
    let answer = call(&scene.app, Method::PUT, &path, &key, Some(&body), &headers).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn an_organization_freezes_all_its_agents_at_once_and_lets_them_go_on() {
    let mut scene = Scene::asking().await;
    scene.delegated("openid salaries:read", Some("here")).await;
    let subject = scene.token("openid salaries:read", Some("here")).await;
    let exchanged = super::driver::exchanged(&scene.app, &scene.agent, &subject, &[]).await;
    let used = of_member(&mut scene).await;
    scene.approve(&used).await;
    let token = scene.poll(&used).await.json()["access_token"].as_str().unwrap().to_owned();
    let approved = of_member(&mut scene).await;
    scene.approve(&approved).await;
    let waits = of_member(&mut scene).await;
    set_agents(&scene, "frozen").await;
    for token in [&exchanged, &token] {
        assert!(!scene.counts(&scene.agent, token).await);
        assert_eq!(crate::oauth::driver::userinfo(&scene.app, token).await.status, 401);
    }
    assert_eq!(scene.exchange(&subject, &[]).await.status, 400);
    assert_eq!(scene.poll(&approved).await.json()["error"], "expired_token");
    assert_eq!(scene.poll(&waits).await.json()["error"], "expired_token");
    assert_eq!(inbox(&mut scene.browser, "pending").await, [] as [Value; 0]);
    let membership = scene.membership.to_string();
    let more = [("scope", "openid salaries:write"), ("resource", ""), ("authorization_details", "")];
    let more = [&more[..], &[("login_hint", membership.as_str())]].concat();
    assert_eq!(scene.ask(&scene.agent, &more).await.json()["error"], "access_denied");
    // The person's own application goes on, and what they do outside the organization too.
    assert!(scene.counts(&scene.client, &subject).await);
    assert_eq!(scene.ask(&scene.agent, &[]).await.status, 200);
    set_agents(&scene, "allowed").await;
    assert!(scene.counts(&scene.agent, &exchanged).await && scene.counts(&scene.agent, &token).await);
    assert_eq!(scene.poll(&approved).await.json()["error"], "expired_token", "what was asked before is over");
}
