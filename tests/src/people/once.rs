//! Everything that is good once, presented 64 times at the same moment over three nodes: one success.

use std::{net::Ipv4Addr, sync::Arc};

use porteiro_service::bootstrap::{self, Armed};
use porteiro_testkit::{Browser, Flow, TestApp, nothing};
use serde_json::{Value, json};
use tokio::{sync::Barrier, task::JoinSet};

use super::{
    PASSWORD, enrol, enrol_totp, generate_recovery_codes, lift_limits, register, register_to_enrolment,
    register_with_passkey, register_with_password, step_now,
};

const TIMES: usize = 64;

async fn nodes() -> Vec<Arc<TestApp>> {
    TestApp::builder().people().start_nodes(3).await
}

/// The same step of the same flow by the same browser, over all nodes at once.
async fn present(nodes: &[Arc<TestApp>], browser: &Browser, flow: &Flow, inputs: &[(&'static str, Value)]) {
    // Limits would hide the race.
    lift_limits(&nodes[0]).await;
    let together = (0..TIMES).map(|index| {
        let (action, input) = inputs[index % inputs.len()].clone();
        let mut twin = Browser::new(&nodes[index % nodes.len()]);
        twin.cookies.clone_from(&browser.cookies);
        (twin, flow.clone(), action, input)
    });
    exactly_one(together.collect()).await;
}

type Attempt = (Browser, Flow, &'static str, Value);

async fn exactly_one(attempts: Vec<Attempt>) {
    assert_eq!(attempts.len(), TIMES);
    let start = Arc::new(Barrier::new(TIMES));
    let mut racing = JoinSet::new();
    for (mut browser, mut flow, action, input) in attempts {
        let start = Arc::clone(&start);
        racing.spawn(async move {
            start.wait().await;
            flow.attempt(&mut browser, action, input).await.status.as_u16()
        });
    }
    let statuses = racing.join_all().await;
    let won = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(won, 1, "{statuses:?}");
    let lost = |status: &u16| matches!(status, 400 | 404 | 409 | 410 | 422 | 503);
    assert!(statuses.iter().all(|status| *status == 200 || lost(status)), "{statuses:?}");
}

fn caller(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, u8::try_from(index / 250).unwrap(), u8::try_from(index % 250).unwrap())
}

/// A flow that waits for the answer to its mail.
async fn mailed(app: &Arc<TestApp>, browser: &mut Browser, kind: &str) -> (Flow, Value, Value) {
    let mut flow = browser.open(json!({"kind": kind})).await;
    flow.act(browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let (_, text) = app.mail("ana@example.test").await;
    let link = text.split_once("/ui/link#").expect("a link").1;
    let token = link.split_whitespace().next().unwrap().split_once('.').unwrap().1;
    let code = app.mailed_code("ana@example.test").await;
    (flow, json!({"code": code}), json!({"token": token}))
}

async fn steps(app: &TestApp, flow: &Flow) -> i64 {
    app.count(&format!("SELECT step::bigint FROM flow WHERE flow_id = '{}'", flow.id())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mailed_code_and_its_link_are_one_thing_and_good_once() {
    let nodes = nodes().await;
    for answers in [vec!["code"], vec!["link"], vec!["code", "link"]] {
        nodes[0].forget_limits().await;
        let mut browser = Browser::new(&nodes[0]);
        let (flow, code, token) = mailed(&nodes[0], &mut browser, "register").await;
        let before = steps(&nodes[0], &flow).await;
        let input = |answer: &&str| match *answer {
            "code" => ("email_code/check", code.clone()),
            _link => ("email_link/redeem", token.clone()),
        };
        present(&nodes, &browser, &flow, &answers.iter().map(input).collect::<Vec<_>>()).await;
        assert_eq!(steps(&nodes[0], &flow).await, before + 1, "one step, whoever else tried");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assertion_answers_its_challenge_once() {
    let nodes = nodes().await;
    let (_, mut authenticator) = register_with_passkey(&nodes[0], "ana@example.test").await;
    let before = nodes[0].count("SELECT count(*) FROM session").await;
    let mut browser = Browser::new(&nodes[0]);
    let flow = browser.open(json!({"kind": "sign_in"})).await;
    let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    present(&nodes, &browser, &flow, &[("passkey/finish", json!({"credential": response}))]).await;
    assert_eq!(nodes[0].count("SELECT count(*) FROM session").await, before + 1);
}

/// 64 flows of one person, each with the password proved, all with the same code.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_totp_code_and_a_recovery_code_are_good_in_one_flow_of_many() {
    let nodes = nodes().await;
    let mut owner = register_with_password(&nodes[0], "ana@example.test").await;
    let mut flow = owner.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut owner, "password/check", json!({"password": PASSWORD})).await;
    let codes = generate_recovery_codes(&mut owner).await;
    let mut flow = owner.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut owner, "recovery_code/check", json!({"code": codes[9]})).await;
    let secret = enrol_totp(&mut owner).await;

    let mut flows = Vec::new();
    for index in 0..TIMES {
        let mut browser = Browser::new(&nodes[index % 3].from_address(caller(index)));
        let mut flow = browser.open(json!({"kind": "sign_in", "level": "aal2"})).await;
        let input = json!({"identifier": "ana@example.test", "password": PASSWORD});
        flow.act(&mut browser, "password/check", input).await;
        assert_eq!(flow.stage(), "raise");
        flows.push((browser, flow));
    }
    // The same flows twice: whoever wins the first race is not there for the second, but a copy of its opening is.
    nodes[0].sql("CREATE TABLE kept AS SELECT * FROM flow").await;
    for (action, code) in
        [("totp/check", secret.code(step_now(1))), ("recovery_code/check", codes[0].clone())]
    {
        lift_limits(&nodes[0]).await;
        let attempts = flows.iter().enumerate().map(|(index, (browser, flow))| {
            let mut twin = Browser::new(&nodes[index % 3]);
            twin.cookies.clone_from(&browser.cookies);
            (twin, flow.clone(), action, json!({"code": code}))
        });
        exactly_one(attempts.collect()).await;
        nodes[0].sql("DELETE FROM flow; INSERT INTO flow SELECT * FROM kept").await;
    }
    assert_eq!(nodes[0].count("SELECT count(*) FROM recovery_code").await, 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_is_verified_once() {
    let nodes = nodes().await;
    let mut browser = register(&nodes[0], "ana@example.test").await;
    let mut flow = enrol(&mut browser, "email").await;
    flow.act(&mut browser, "email/add", json!({"address": "ana@second.test"})).await;
    let code = nodes[0].mailed_code("ana@second.test").await;
    present(&nodes, &browser, &flow, &[("email/verify", json!({"code": code}))]).await;
    assert_eq!(nodes[0].count("SELECT count(*) FROM credential WHERE kind = 'email'").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_step_is_taken_once_and_leaves_one_account() {
    let nodes = nodes().await;
    let mut browser = Browser::new(&nodes[0]);
    let flow = register_to_enrolment(&nodes[0], &mut browser, "ana@example.test").await;
    present(&nodes, &browser, &flow, &[("enrol/skip", nothing())]).await;
    for table in ["account", "session"] {
        assert_eq!(nodes[0].count(&format!("SELECT count(*) FROM {table}")).await, 1, "{table}");
    }
}

/// 64 people with the same key and a mailbox each, all about to complete.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bootstrap_key_makes_one_administrator() {
    let nodes = nodes().await;
    let Armed::Key { key, .. } = bootstrap::arm(&nodes[0].app.store, &*nodes[0].app.entropy).await.unwrap()
    else {
        panic!("no key")
    };
    let mut attempts = Vec::new();
    for index in 0..TIMES {
        let node = nodes[index % 3].from_address(caller(index));
        let mut browser = Browser::new(&node);
        let address = format!("person{index}@example.test");
        let mut flow = browser.open(json!({"kind": "register", "bootstrap_key": *key.reveal()})).await;
        flow.act(&mut browser, "email_code/send", json!({"identifier": address})).await;
        let code = node.mailed_code(&address).await;
        flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
        flow.act(&mut browser, "profile/set", json!({"display_name": "Ana"})).await;
        attempts.push((browser, flow, "enrol/skip", nothing()));
    }
    let start = Arc::new(Barrier::new(TIMES));
    let mut racing = JoinSet::new();
    for (mut browser, mut flow, action, input) in attempts {
        let start = Arc::clone(&start);
        racing.spawn(async move {
            start.wait().await;
            flow.attempt(&mut browser, action, input).await;
            flow.stage().to_owned()
        });
    }
    let stages = racing.join_all().await;
    assert_eq!(stages.iter().filter(|stage| *stage == "complete").count(), 1, "{stages:?}");
    let administrators = "SELECT count(*) FROM account WHERE platform_administrator";
    assert_eq!(nodes[0].count(administrators).await, 1);
    assert_eq!(nodes[0].count("SELECT count(*) FROM account").await, 1, "and nobody else came in with it");
    assert_eq!(nodes[0].count("SELECT count(*) FROM identifier").await, 2, "the others left nothing behind");
}
