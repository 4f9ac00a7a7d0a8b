//! Signing in by the directory of an organization (docs/decisions/0120): whom it vouches for, and how little that is
//! worth elsewhere.

mod confined;
mod discovery;
mod ended;
mod entering;
mod handed_out;
mod lasting;
mod linking;
mod managing;
mod never_by_address;
mod provisioned;
mod quiet;
mod recency;
mod required;
mod signing_out;
mod unlinking;
mod userinfo;

use std::sync::Arc;

use http::Method;
use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};
use porteiro_testkit::{Answer, Browser, Flow, TestApp, nothing};
use serde_json::{Value, json};

use super::{
    PASSWORD,
    federation::provider::{CLIENT, Provider, SECRET},
    register_with_password,
};
use crate::{
    oauth::driver::{Relying, parameter, verifier},
    organizations::driver::{account_of, call, get, join, organization, organization_key},
};

/// An application, an organization in it, and the organization's directory.
pub struct World {
    pub app: Arc<TestApp>,
    pub provider: Provider,
    pub place: OrganizationId,
    pub key: String,
    pub connection: String,
    pub client: Relying,
}

pub fn definition(provider: &Provider, more: &Value) -> Value {
    let mut definition = json!({"name": "Acme directory", "issuer": provider.issuer(), "client_id": CLIENT,
        "client_secret": SECRET, "client_authentication": "client_secret_basic", "algorithm": "ES256"});
    for (name, value) in more.as_object().into_iter().flatten() {
        definition[name] = value.clone();
    }
    definition
}

pub async fn world_with(more: Value) -> World {
    let provider = Provider::start().await;
    let builder = TestApp::builder().people().connections(4).private_hosts(vec![provider.host()]);
    let app = Arc::new(builder.start().await);
    world_on(app, provider, more).await
}

/// The same on three nodes; the world's own is the first.
pub async fn world_of_three() -> (World, Vec<Arc<TestApp>>) {
    let provider = Provider::start().await;
    let builder = TestApp::builder().people().connections(4).private_hosts(vec![provider.host()]);
    let nodes = builder.start_nodes(3).await;
    (world_on(Arc::clone(&nodes[0]), provider, json!({})).await, nodes)
}

async fn world_on(app: Arc<TestApp>, provider: Provider, more: Value) -> World {
    provider.agree(&app);
    let place = organization(&app, "acme").await;
    let key = organization_key(&app, place, &["connections:*", "organization:*", "audit:read"]).await;
    let connection = connect(&app, place, &key, &definition(&provider, &more)).await;
    let client = Relying::web(&app).await;
    World { app, provider, place, key, connection, client }
}

pub async fn world() -> World {
    world_with(json!({})).await
}

pub async fn connect(app: &TestApp, place: OrganizationId, key: &str, definition: &Value) -> String {
    let path = format!("/v1/organizations/{place}/connections");
    let made = call(app, Method::POST, &path, key, Some(definition), &[]).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

/// What became of a request for a code.
pub struct Asked {
    pub browser: Browser,
    pub flow: Flow,
    pub verifier: String,
}

impl World {
    /// A member of the organization, with an account of their own.
    pub async fn member(&self, address: &str) -> (Browser, AccountId, MembershipId) {
        self.app.forget_limits().await;
        let mut browser = register_with_password(&self.app, address).await;
        let account = account_of(&mut browser).await;
        let member = join(&self.app, self.place, account, "member").await;
        (browser, account, member)
    }

    /// A client sends a browser for a code in the organization.
    pub async fn ask(&self, mut browser: Browser, more: &[(&str, &str)]) -> Asked {
        self.app.forget_limits().await;
        let verifier = verifier();
        let asked: Vec<_> = [("organization", "acme")].iter().chain(more).copied().collect();
        let answer = self.client.ask(&mut browser, &verifier, &asked).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        Asked { browser, flow: Flow::new(answer.json()), verifier }
    }

    /// Up to the directory's answer.
    pub async fn go(&self, asked: &mut Asked, subject: &str) -> Value {
        let Asked { browser, flow, .. } = asked;
        flow.act(browser, "federated/begin", json!({"connection": self.connection})).await;
        let to = flow.now["challenge"]["redirect_to"].as_str().unwrap().to_owned();
        self.provider.answer(&to, subject)
    }

    /// The directory vouches for a subject, in a new browser.
    pub async fn vouched(&self, subject: &str, more: &[(&str, &str)]) -> Asked {
        let mut asked = self.ask(Browser::new(&self.app), more).await;
        let answer = self.go(&mut asked, subject).await;
        asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
        asked
    }

    /// A member links the identity, by a proof of their own.
    pub async fn link(&self, subject: &str, address: &str) -> Asked {
        let mut asked = self.vouched(subject, &[]).await;
        let Asked { browser, flow, .. } = &mut asked;
        assert_eq!(flow.stage(), "claim");
        flow.act(browser, "claim/existing", nothing()).await;
        assert_eq!(flow.stage(), "authenticate");
        flow.act(browser, "password/check", json!({"identifier": address, "password": PASSWORD})).await;
        assert_eq!((flow.stage(), flow.offers()), ("claim", vec!["claim/attach"]));
        flow.act(browser, "claim/attach", nothing()).await;
        if flow.stage() == "enrol" {
            flow.act(browser, "enrol/skip", nothing()).await;
        }
        asked
    }

    /// To the tokens, through consent.
    pub async fn tokens(&self, asked: &mut Asked) -> Value {
        if asked.flow.stage() == "consent" {
            asked.flow.act(&mut asked.browser, "consent/allow", nothing()).await;
        }
        let code = parameter(&asked.flow.now, "code").unwrap_or_else(|| panic!("{}", asked.flow.now));
        let answer = self.client.redeem(&self.app, &code, &asked.verifier).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// The reasons of rejected sign-ins, the newest first.
    pub async fn rejected(&self) -> Vec<String> {
        let items = self.rejections().await;
        items.iter().map(|item| item["reason"].as_str().unwrap().to_owned()).collect()
    }

    /// Their entries.
    pub async fn rejections(&self) -> Vec<Value> {
        let path = format!("/v1/organizations/{}/audit-events?type=sso.rejected", self.place);
        get(&self.app, &path, &self.key).await.json()["items"].as_array().unwrap().clone()
    }

    pub async fn change(&self, more: Value) -> Answer {
        let path = format!("/v1/organizations/{}/connections/{}", self.place, self.connection);
        let seen = get(&self.app, &path, &self.key).await;
        let tag = seen.headers["etag"].to_str().unwrap().to_owned();
        let mut body = definition(&self.provider, &more);
        body["client_secret"] = Value::Null;
        call(&self.app, Method::PUT, &path, &self.key, Some(&body), &[("if-match", &tag)]).await
    }
}
