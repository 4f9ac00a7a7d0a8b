//! Signing in by another OpenID provider, which may misbehave (docs/decisions/0098).

mod logout;
mod managing;
pub mod provider;
mod refused;

use std::sync::Arc;

use http::Method;
use porteiro_testkit::{Browser, Flow, TestApp, nothing};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use self::provider::{CLIENT, Provider, SECRET};
use super::{PASSWORD, enrol, enrol_totp, register, register_with_password};
use crate::organizations::driver::{call, platform_key};

/// An application and a provider that know each other.
struct World {
    app: Arc<TestApp>,
    provider: Provider,
    connection: String,
    key: String,
}

fn definition(provider: &Provider) -> Value {
    json!({"name": "Example", "issuer": provider.issuer(), "client_id": CLIENT, "client_secret": SECRET,
           "client_authentication": "client_secret_basic", "algorithm": "ES256"})
}

async fn world_with(others: &[&Provider]) -> World {
    let provider = Provider::start().await;
    let hosts = others.iter().copied().chain([&provider]).map(Provider::host).collect();
    let builder = TestApp::builder().people().connections(4).private_hosts(hosts);
    let app = Arc::new(builder.start().await);
    provider.agree(&app);
    let key = platform_key(&app, &["platform.connections:*"]).await;
    let connection = connect(&app, &key, &provider).await;
    World { app, provider, connection, key }
}

async fn connect(app: &TestApp, key: &str, provider: &Provider) -> String {
    provider.agree(app);
    let made =
        call(app, Method::POST, "/v1/platform/connections", key, Some(&definition(provider)), &[]).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    let id = made["id"].as_str().unwrap();
    assert_eq!(made["redirect_uri"], format!("https://id.example.test/ui/federation/{id}"));
    id.to_owned()
}

async fn world() -> World {
    world_with(&[]).await
}

impl World {
    /// Up to the provider's answer, in this flow.
    async fn go(&self, browser: &mut Browser, flow: &mut Flow, begin: &str, subject: &str) -> Value {
        flow.act(browser, begin, json!({"connection": self.connection})).await;
        let to = flow.now["challenge"]["redirect_to"].as_str().unwrap().to_owned();
        self.provider.answer(&to, subject)
    }

    /// Links an identity, in a browser that just signed in.
    async fn link(&self, browser: &mut Browser, subject: &str) {
        self.app.forget_limits().await;
        let mut flow = prove_and_enrol(browser).await;
        let answer = self.go(browser, &mut flow, "federated/enrol_begin", subject).await;
        flow.act(browser, "federated/enrol_finish", answer).await;
        assert_eq!(flow.stage(), "complete");
    }

    async fn begin(&self, subject: &str) -> (Browser, Flow, Value) {
        self.app.forget_limits().await;
        let mut browser = Browser::new(&self.app);
        let mut flow = browser.open(json!({"kind": "sign_in"})).await;
        let answer = self.go(&mut browser, &mut flow, "federated/begin", subject).await;
        (browser, flow, answer)
    }

    /// The reasons of refused proofs in the log.
    async fn reasons(&self) -> Vec<String> {
        let sql = "SELECT payload->>'reason' FROM security_log WHERE kind = 'proof.refused'";
        let rows = self.app.database.client().await.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}

/// A flow that links, after the proof of one's own that it requires.
async fn prove_and_enrol(browser: &mut Browser) -> Flow {
    let mut flow = enrol(browser, "federated").await;
    if flow.stage() == "raise" {
        flow.act(browser, "password/check", json!({"password": PASSWORD})).await;
    }
    assert_eq!(flow.stage(), "enrol");
    flow
}

#[tokio::test]
async fn a_linked_identity_signs_in_at_the_least_level() {
    let world = world().await;
    let mut ana = register_with_password(&world.app, "ana@example.test").await;
    world.link(&mut ana, "ana-there").await;
    let (mut browser, mut flow, answer) = world.begin("ana-there").await;
    assert_eq!(flow.now["connections"], json!([{"id": world.connection, "name": "Example"}]));
    flow.act(&mut browser, "federated/finish", answer).await;
    assert_eq!(flow.stage(), "complete", "a passkey is not offered: the person proved nothing of their own");
    let account = browser.get("/v1/account").await.json();
    assert_eq!(account["assurance"], json!({"have": "aal1", "fresh": false}));
    assert_eq!(account["id"], ana.get("/v1/account").await.json()["id"]);
    assert_eq!(world.provider.heard("/jwks"), 1, "metadata and keys are kept");
    assert_eq!(world.provider.scope(), "openid", "nothing else is asked for");
}

/// The provider says that its person has Ana's verified address: nothing follows from that.
#[tokio::test]
async fn an_identity_is_never_matched_by_its_address() {
    let world = world().await;
    register_with_password(&world.app, "ana@example.test").await;
    let (mut browser, mut flow, answer) = world.begin("mallory-there").await;
    assert_eq!(flow.attempt(&mut browser, "federated/finish", answer).await.status, 422);
    assert_eq!(world.reasons().await, ["the identity is not linked to an account"]);
    assert!(browser.session().is_none());
    assert_eq!(world.app.count("SELECT count(*) FROM account").await, 1);
}

#[tokio::test]
async fn an_identity_is_linked_to_one_account_and_only_with_a_recent_proof_of_ones_own() {
    let world = world().await;
    let mut ana = register_with_password(&world.app, "ana@example.test").await;
    world.link(&mut ana, "ana-there").await;
    // By the identity alone nothing is linked, enrolled or removed.
    let (mut browser, mut flow, answer) = world.begin("ana-there").await;
    flow.act(&mut browser, "federated/finish", answer).await;
    let mut linking = browser.open(json!({"kind": "enrol", "enrol": "federated"})).await;
    assert_eq!(linking.stage(), "raise");
    assert!(!linking.offers().iter().any(|action| action.starts_with("federated/")));
    linking.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(linking.stage(), "enrol");
    let listed = ana.get("/v1/account/credentials").await.json();
    let linked = listed["items"].as_array().unwrap().iter().find(|it| it["kind"] == "federated").unwrap();
    let path = format!("/v1/account/credentials/{}", linked["id"].as_str().unwrap());
    let (mut browser, mut flow, answer) = world.begin("ana-there").await;
    flow.act(&mut browser, "federated/finish", answer).await;
    assert_eq!(browser.delete(&path).await.json()["code"], "step_up_required");
    // Nobody else can link it.
    let mut ben = register_with_password(&world.app, "ben@example.test").await;
    let mut flow = prove_and_enrol(&mut ben).await;
    let answer = world.go(&mut ben, &mut flow, "federated/enrol_begin", "ana-there").await;
    assert_eq!(flow.attempt(&mut ben, "federated/enrol_finish", answer).await.status, 422);
    assert_eq!(world.reasons().await, ["the identity is linked to an account already"]);
}

#[tokio::test]
async fn an_account_with_a_second_factor_is_asked_for_it() {
    let world = world().await;
    let mut ana = register_with_password(&world.app, "ana@example.test").await;
    world.link(&mut ana, "ana-there").await;
    enrol_totp(&mut ana).await;
    let (mut browser, mut flow, answer) = world.begin("ana-there").await;
    flow.act(&mut browser, "federated/finish", answer).await;
    assert_eq!(flow.stage(), "raise");
    assert!(flow.offers().contains(&"totp/check") && browser.session().is_none());
}

/// Who has a mailbox and an identity, and nothing else, changes credentials by the mailbox as before.
#[tokio::test]
async fn a_linked_identity_does_not_lock_a_person_out_of_their_own_account() {
    let world = world().await;
    let mut ana = register(&world.app, "ana@example.test").await;
    world.link(&mut ana, "ana-there").await;
    let mut flow = enrol(&mut ana, "password").await;
    flow.act(&mut ana, "password/set", json!({"new_password": PASSWORD})).await;
    assert_eq!(flow.stage(), "complete");
}

#[tokio::test]
async fn unlinking_ends_the_sessions_that_rest_on_the_identity_and_it_can_be_linked_again() {
    let world = world().await;
    let mut ana = register_with_password(&world.app, "ana@example.test").await;
    world.link(&mut ana, "ana-there").await;
    let (mut browser, mut flow, answer) = world.begin("ana-there").await;
    flow.act(&mut browser, "federated/finish", answer).await;
    let listed = ana.get("/v1/account/credentials").await.json();
    let linked = listed["items"].as_array().unwrap().iter().find(|it| it["kind"] == "federated").unwrap();
    let gone = ana.delete(&format!("/v1/account/credentials/{}", linked["id"].as_str().unwrap())).await;
    assert_eq!(gone.status, 204, "{}", gone.text());
    assert_eq!(browser.get("/v1/account").await.status, 401);
    assert_eq!(ana.get("/v1/account").await.status, 200);
    let (mut browser, mut flow, answer) = world.begin("ana-there").await;
    assert_eq!(flow.attempt(&mut browser, "federated/finish", answer).await.status, 422);
    let mut ben = register_with_password(&world.app, "ben@example.test").await;
    world.link(&mut ben, "ana-there").await;
}

#[tokio::test]
async fn one_answer_presented_sixteen_times_at_once_is_one_session_and_one_code_redeemed() {
    let world = world().await;
    let mut ana = register_with_password(&world.app, "ana@example.test").await;
    world.link(&mut ana, "ana-there").await;
    let (browser, flow, answer) = world.begin("ana-there").await;
    let before = world.app.count("SELECT count(*) FROM session").await;
    let redeemed = world.provider.heard("/token");
    let mut racing = JoinSet::new();
    for _ in 0..16 {
        let mut twin = Browser::new(&world.app);
        twin.cookies.clone_from(&browser.cookies);
        let (mut flow, answer) = (flow.clone(), answer.clone());
        racing.spawn(async move { flow.attempt(&mut twin, "federated/finish", answer).await.status });
    }
    let statuses = racing.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(world.app.count("SELECT count(*) FROM session").await, before + 1);
    assert_eq!(world.provider.heard("/token"), redeemed + 1);
}

#[tokio::test]
async fn an_answer_counts_only_in_the_browser_and_flow_that_asked() {
    let world = world().await;
    let mut ana = register_with_password(&world.app, "ana@example.test").await;
    world.link(&mut ana, "ana-there").await;
    let (_, theirs, answer) = world.begin("ana-there").await;
    let mut other = Browser::new(&world.app);
    let mut flow = other.open(json!({"kind": "sign_in"})).await;
    let path = format!("/v1/flows/{}/federated/finish", theirs.id());
    let mut input = answer.clone();
    input["step"] = theirs.now["step"].clone();
    assert_eq!(other.post(&path, &input).await.status, 404, "of another browser");
    world.go(&mut other, &mut flow, "federated/begin", "ana-there").await;
    assert_eq!(flow.attempt(&mut other, "federated/finish", answer).await.status, 422);
    assert_eq!(world.reasons().await, ["the answer belongs to another request"]);
    let refused = flow.attempt(&mut other, "federated/finish", nothing()).await;
    assert_eq!(refused.status, 422);
    assert!(other.session().is_none());
}
