//! A drill: somebody has an agent's private key. What they reach, and how it ends.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use http::Method;
use porteiro_protocol::time::Clock;
use porteiro_service::oauth::apis;
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use super::driver::{
    ACCESS_TOKEN, CIBA, EXCHANGE, action, asking_agent, ledger_with_payments, noticed, proved,
};
use crate::{
    oauth::{LEDGER, driver::Relying, signing::ClientKey},
    organizations::{
        driver::{account_of, call, get, platform_key},
        staff::patch,
    },
};

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Whoever holds a key of the agent.
struct Holder {
    agent: String,
    key: ClientKey,
}

impl Holder {
    async fn call(&self, app: &TestApp, path: &str, form: &[(&str, &str)]) -> Answer {
        let now = app.clock.now().unix_timestamp();
        let jti = format!("drill-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let claims = json!({"iss": self.agent, "sub": self.agent, "aud": app.app.issuer(), "exp": now + 60,
            "iat": now, "jti": jti});
        let assertion = self.key.typed("JWT", &claims);
        let by = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        let own = [("client_assertion_type", by), ("client_assertion", assertion.as_str())];
        let caller = Relying { id: self.agent.clone(), secret: None, redirect_uri: String::new() };
        caller.call(app, path, &[&own, form].concat()).await
    }

    async fn exchange(&self, app: &TestApp, token: &str, scope: &str) -> Answer {
        let form = [
            ("grant_type", EXCHANGE),
            ("subject_token", token),
            ("subject_token_type", ACCESS_TOKEN),
            ("scope", scope),
        ];
        self.call(app, "/connect/token", &form).await
    }

    async fn ask(&self, app: &TestApp, person: &str) -> Answer {
        let details = action("payment", "10.00");
        let form = [
            ("scope", "openid invoices:write"),
            ("resource", LEDGER),
            ("login_hint", person),
            ("authorization_details", &details),
        ];
        self.call(app, "/connect/ciba", &form).await
    }
}

fn error(answer: &Answer) -> String {
    answer.json()["error"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned()
}

async fn everywhere(nodes: &[Arc<TestApp>], server: &Relying, token: &str) -> Vec<bool> {
    let mut all = Vec::new();
    for node in nodes {
        let told = server.call(node, "/connect/introspect", &[("token", token)]).await.json();
        all.push(told["active"] == true);
    }
    all
}

async fn delegates(browser: &mut Browser, agent: &str) {
    let body = json!({"client_id": agent, "scope": "invoices:read"});
    assert_eq!(browser.post("/v1/account/delegations", &body).await.status, 201);
}

/// Three nodes, an agent that proves itself by a key, and a client of the API.
async fn scene() -> (Vec<Arc<TestApp>>, Holder, Relying) {
    let nodes = TestApp::builder().people().connections(4).start_nodes(3).await;
    let server = Relying::web(&nodes[0]).await;
    let mut api = ledger_with_payments();
    api.introspected_by = vec![server.id.clone()];
    apis::register(&nodes[0].app.store, &api).await.unwrap();
    let key = ClientKey::new();
    let more = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": key.jwks()});
    let agent = asking_agent(&nodes[0], more).await.id;
    noticed().await;
    (nodes, Holder { agent, key }, server)
}

#[tokio::test]
async fn a_stolen_key_reaches_what_was_delegated_and_ends_everywhere_when_it_is_replaced() {
    let (nodes, thief, server) = scene().await;
    let mut ana = proved(&nodes[0], "ana@example.test").await;
    let mut bo = proved(&nodes[0], "bo@example.test").await;
    delegates(&mut ana, &thief.agent).await;
    let (me, other) = (account_of(&mut ana).await.to_string(), account_of(&mut bo).await.to_string());
    let web = Relying::web(&nodes[0]).await;
    let all = [("scope", "openid invoices:read invoices:write"), ("resource", LEDGER)];
    let subject = web.tokens(&mut ana, &nodes[0], &all).await["access_token"].as_str().unwrap().to_owned();
    let foreign = web.tokens(&mut bo, &nodes[0], &all).await["access_token"].as_str().unwrap().to_owned();

    // The key alone is no authority: the agent has none of its own, and nobody's token comes with it.
    let alone = [("grant_type", "client_credentials"), ("scope", "invoices:read")];
    assert_eq!(error(&thief.call(&nodes[1], "/connect/token", &alone).await), "unauthorized_client");
    let told = thief.call(&nodes[1], "/connect/introspect", &[("token", &subject)]).await;
    assert_eq!(told.json(), json!({"active": false}));
    assert_eq!(error(&thief.ask(&nodes[1], &other).await), "unknown_user_id");
    // With a token that the person's application had handed to the agent: what she delegated, and no more.
    let held = thief.exchange(&nodes[1], &subject, "invoices:read").await.json();
    let held = held["access_token"].as_str().unwrap().to_owned();
    assert_eq!(thief.exchange(&nodes[1], &subject, "invoices:write").await.status, 400);
    assert_eq!(thief.exchange(&nodes[1], &foreign, "invoices:read").await.status, 400);
    for path in ["/v1/account", "/v1/account/delegations", "/v1/platform/clients"] {
        assert_eq!(get(&nodes[2], path, &held).await.status, 401, "{path}");
    }
    // For more they have to ask her, and she does not know of it.
    let asked = thief.ask(&nodes[2], &me).await.json();
    let poll = [("grant_type", CIBA), ("auth_req_id", asked["auth_req_id"].as_str().unwrap())];
    assert_eq!(error(&thief.call(&nodes[0], "/connect/token", &poll).await), "authorization_pending");
    let waiting = ana.get("/v1/account/approvals?state=pending").await.json();
    let report = format!("/v1/account/approvals/{}/report", waiting["items"][0]["id"].as_str().unwrap());
    assert_eq!(ana.post(&report, &json!({})).await.status, 200);
    assert_eq!(error(&thief.call(&nodes[0], "/connect/token", &poll).await), "access_denied");
    assert_eq!(error(&thief.ask(&nodes[1], &me).await), "access_denied");

    // The operator replaces the key in one change.
    assert_eq!(everywhere(&nodes, &server, &held).await, [true; 3]);
    let operator = platform_key(&nodes[0], &["platform.clients:*"]).await;
    let fresh = Holder { agent: thief.agent.clone(), key: ClientKey::new() };
    let path = format!("/v1/platform/clients/{}", thief.agent);
    let change = json!({"metadata": {"jwks": fresh.key.jwks()}});
    let changed = patch(&nodes[0], &path, &operator, &change).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    noticed().await;
    assert_eq!(everywhere(&nodes, &server, &held).await, [false; 3]);
    for node in &nodes {
        assert_eq!(error(&thief.exchange(node, &subject, "invoices:read").await), "invalid_client");
        assert_eq!(error(&thief.ask(node, &me).await), "invalid_client");
        // The person's own application goes on; the agent begins anew.
        assert_eq!(error(&fresh.exchange(node, &subject, "invoices:read").await), "invalid_request");
    }
    assert_eq!(everywhere(&nodes, &server, &subject).await, [true; 3]);
    delegates(&mut ana, &fresh.agent).await;
    let anew: Value = fresh.exchange(&nodes[1], &subject, "invoices:read").await.json();
    assert_eq!(everywhere(&nodes, &server, anew["access_token"].as_str().unwrap()).await, [true; 3]);
}

#[tokio::test]
async fn an_agent_that_is_disabled_ends_on_every_node() {
    let (nodes, thief, server) = scene().await;
    let mut ana = proved(&nodes[0], "ana@example.test").await;
    delegates(&mut ana, &thief.agent).await;
    let web = Relying::web(&nodes[0]).await;
    let all = [("scope", "openid invoices:read"), ("resource", LEDGER)];
    let subject = web.tokens(&mut ana, &nodes[0], &all).await["access_token"].as_str().unwrap().to_owned();
    let held = thief.exchange(&nodes[1], &subject, "invoices:read").await.json();
    let held = held["access_token"].as_str().unwrap().to_owned();
    let operator = platform_key(&nodes[0], &["platform.clients:*"]).await;
    let path = format!("/v1/platform/clients/{}/disable", thief.agent);
    let why = [("porteiro-reason", "a stolen key")];
    let answer = call(&nodes[0], Method::POST, &path, &operator, Some(&json!({})), &why).await;
    assert!(answer.status.is_success(), "{}", answer.text());
    noticed().await;
    for node in &nodes {
        assert_eq!(error(&thief.exchange(node, &subject, "invoices:read").await), "invalid_client");
    }
    assert_eq!(everywhere(&nodes, &server, &held).await, [false; 3]);
}
