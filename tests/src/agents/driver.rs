//! A person, the application they use, and agents that act for them.

use std::sync::Arc;

use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use crate::{
    oauth::driver::Relying,
    organizations::driver::{account_of, house, join, organization, role},
    people,
};

pub const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
pub const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

pub struct Scene {
    pub app: Arc<TestApp>,
    pub browser: Browser,
    pub account: AccountId,
    pub membership: MembershipId,
    pub here: OrganizationId,
    /// What the person uses.
    pub client: Relying,
    pub agent: Relying,
}

/// A confidential client that an administrator has verified and given the grant.
pub async fn agent(app: &TestApp, more: Value) -> Relying {
    let mut metadata = json!({"client_name": "Ledger agent", "kind": "agent", "grant_types": [EXCHANGE]});
    for (name, value) in more.as_object().into_iter().flatten() {
        metadata[name] = value.clone();
    }
    Relying::with(app, Trust::Verified, metadata).await
}

/// Somebody who has just proved who they are, as making a delegation asks of them.
pub async fn proved(app: &Arc<TestApp>, address: &str) -> Browser {
    let mut browser = people::register_with_password(app, address).await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "password/check", json!({"password": people::PASSWORD})).await;
    assert_eq!(flow.stage(), "complete");
    app.forget_limits().await;
    browser
}

impl Scene {
    /// Ana, an accountant in one organization.
    pub async fn new() -> Self {
        let app = house().await;
        let mut browser = proved(&app, "ana@example.test").await;
        let account = account_of(&mut browser).await;
        let here = organization(&app, "here").await;
        role(&app, here, "accountant", &["salaries:*", "reports:read"]).await;
        let membership = join(&app, here, account, "accountant").await;
        let client = Relying::web(&app).await;
        let agent = agent(&app, json!({})).await;
        Self { app, browser, account, membership, here, client, agent }
    }

    /// A token of the person's application; for the organization, or for themselves.
    pub async fn token(&mut self, scope: &str, organization: Option<&str>) -> String {
        let mut more = vec![("scope", scope)];
        more.extend(organization.map(|name| ("organization", name)));
        let tokens = self.client.tokens(&mut self.browser, &self.app, &more).await;
        tokens["access_token"].as_str().unwrap().to_owned()
    }

    pub async fn delegate(&mut self, body: &Value) -> Answer {
        self.browser.post("/v1/account/delegations", body).await
    }

    /// Delegates to the agent: in the organization where the scopes are permissions, else as the person.
    pub async fn delegated(&mut self, scope: &str, organization: Option<&str>) -> String {
        let client_id = self.agent.id.clone();
        let body = json!({"client_id": client_id, "scope": scope, "organization": organization});
        let answer = self.delegate(&body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    pub async fn exchange(&self, token: &str, more: &[(&str, &str)]) -> Answer {
        exchange(&self.app, &self.agent, token, more).await
    }

    /// Whether a token counts, as its client is told by introspection.
    pub async fn counts(&self, client: &Relying, token: &str) -> bool {
        let told = client.call(&self.app, "/connect/introspect", &[("token", token)]).await;
        assert_eq!(told.status, 200, "{}", told.text());
        told.json()["active"] == true
    }
}

pub async fn exchange(app: &TestApp, agent: &Relying, token: &str, more: &[(&str, &str)]) -> Answer {
    let known = [("subject_token", token), ("subject_token_type", ACCESS_TOKEN)];
    let named = |name: &str| more.iter().any(|(known, _)| *known == name);
    let mut form: Vec<(&str, &str)> = known.into_iter().filter(|(name, _)| !named(name)).collect();
    form.extend(more.iter().filter(|(_, value)| !value.is_empty()));
    agent.token(app, EXCHANGE, &form).await
}

/// The token of an exchange that succeeds.
pub async fn exchanged(app: &TestApp, agent: &Relying, token: &str, more: &[(&str, &str)]) -> String {
    let answer = exchange(app, agent, token, more).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["access_token"].as_str().unwrap().to_owned()
}
