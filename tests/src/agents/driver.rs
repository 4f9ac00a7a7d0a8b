//! A person, the application they use, and agents that act for them.

use std::sync::Arc;

use porteiro_protocol::{
    id::{AccountId, MembershipId, OrganizationId},
    totp::TotpSecret,
};
use porteiro_service::oauth::{apis, clients::Trust};
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use crate::{
    oauth::{LEDGER, driver::Relying, ledger},
    organizations::driver::{account_of, house, join, organization, role},
    people,
};

pub const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
pub const CIBA: &str = "urn:openid:params:grant-type:ciba";
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

/// Waits until every node has noticed a change of a client or an API: they look four times a second (docs/decisions/0030).
pub async fn noticed() {
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
}

/// The person proves a password and a code, now.
pub async fn prove_two_factors(browser: &mut Browser, secret: &TotpSecret) {
    let mut flow = browser.open(json!({"kind": "reauthenticate", "level": "aal2"})).await;
    let proofs = [
        ("totp/check", json!({"code": secret.code(people::step_now(1))})),
        ("password/check", json!({"password": people::PASSWORD})),
    ];
    for _ in 0..2 {
        let offered = proofs.iter().find(|(action, _)| flow.offers().contains(action));
        if let Some((action, input)) = offered {
            flow.act(browser, action, input.clone()).await;
        }
    }
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
}

impl Scene {
    /// Ana, an accountant in one organization.
    pub async fn new() -> Self {
        Self::on(house().await).await
    }

    /// The same in an installation that has a payroll.
    pub async fn on(app: Arc<TestApp>) -> Self {
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

/// An API with payments, which can be undone, and transfers, which cannot.
pub fn ledger_with_payments() -> apis::Api {
    let kind = |name: &str, irreversible: bool| {
        json!({
            "name": name,
            "schema": {
                "type": "object",
                "properties": {"amount": {"type": "string"}, "to": {"type": "string", "maxLength": 40}},
                "required": ["amount", "to"],
                "additionalProperties": false
            },
            "display": {"en": "Pay {amount} to {to}", "pt": "Pagar {amount} para {to}"},
            "irreversible": irreversible
        })
    };
    let mut api = serde_json::to_value(ledger()).unwrap();
    api["details"] = json!([kind("payment", false), kind("transfer", true)]);
    serde_json::from_value(api).unwrap()
}

/// What an agent asks for: one payment, or one transfer.
pub fn action(kind: &str, amount: &str) -> String {
    json!([{"type": kind, "amount": amount, "to": "Bea"}]).to_string()
}

/// An agent that may ask for approvals.
pub async fn asking_agent(app: &TestApp, more: Value) -> Relying {
    let mut metadata =
        json!({"grant_types": [EXCHANGE, CIBA], "authorization_details_types": ["payment", "transfer"]});
    for (name, value) in more.as_object().into_iter().flatten() {
        metadata[name] = value.clone();
    }
    agent(app, metadata).await
}

/// A request that waits: the handle, and the number that the agent shows.
#[derive(Debug, Clone)]
pub struct Asked {
    pub handle: String,
    pub number: i64,
}

impl Scene {
    /// Ana lets an agent read her invoices; for more it has to ask her.
    pub async fn asking() -> Self {
        Self::asking_on(house().await, json!({})).await
    }

    /// The same elsewhere, with more metadata of the agent.
    pub async fn asking_on(app: Arc<TestApp>, more: Value) -> Self {
        let mut scene = Self::on(app).await;
        apis::register(&scene.app.app.store, &ledger_with_payments()).await.unwrap();
        scene.agent = asking_agent(&scene.app, more).await;
        scene.app.catch_up().await;
        scene.delegated("invoices:read", None).await;
        scene
    }

    /// Asks for one payment of ten, or what `more` says; an empty value leaves out.
    pub async fn ask(&self, agent: &Relying, more: &[(&str, &str)]) -> Answer {
        ask(&self.app, agent, &self.account.to_string(), more).await
    }

    pub async fn asked(&self, more: &[(&str, &str)]) -> Asked {
        asked(&self.ask(&self.agent, more).await)
    }

    pub async fn poll(&self, asked: &Asked) -> Answer {
        self.agent.token(&self.app, CIBA, &[("auth_req_id", &asked.handle)]).await
    }

    /// What the newest undecided request shows to the person.
    pub async fn waiting(&mut self) -> Value {
        let inbox = self.browser.get("/v1/account/approvals?state=pending").await.json();
        inbox["items"][0].clone()
    }

    /// The person decides about the newest request.
    pub async fn decide(&mut self, verb: &str, body: &Value) -> Answer {
        let waiting = self.waiting().await;
        let id = waiting["id"].as_str().unwrap_or_else(|| panic!("nothing waits"));
        self.browser.post(&format!("/v1/account/approvals/{id}/{verb}"), body).await
    }

    pub async fn approve(&mut self, asked: &Asked) -> Value {
        let answer = self.decide("approve", &json!({"number": asked.number})).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }
}

pub async fn ask(app: &TestApp, agent: &Relying, person: &str, more: &[(&str, &str)]) -> Answer {
    let details = action("payment", "10.00");
    let usual = [
        ("scope", "openid invoices:write"),
        ("resource", LEDGER),
        ("login_hint", person),
        ("authorization_details", &details),
    ];
    let named = |name: &str| more.iter().any(|(known, _)| *known == name);
    let mut form: Vec<(&str, &str)> = usual.into_iter().filter(|(name, _)| !named(name)).collect();
    form.extend(more.iter().filter(|(_, value)| !value.is_empty()));
    agent.call(app, "/connect/ciba", &form).await
}

pub fn asked(answer: &Answer) -> Asked {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = answer.json();
    Asked {
        handle: body["auth_req_id"].as_str().unwrap().to_owned(),
        number: body["approval_number"].as_i64().unwrap(),
    }
}
