//! The side that redeems: three nodes of one deployment, an organization there, and an issuer that it trusts.

use std::sync::Arc;

use http::Method;
use porteiro_protocol::{
    id::{MembershipId, OrganizationId},
    time::Clock,
};
use porteiro_service::oauth::{apis, clients::Trust};
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use super::driver::merge;
use crate::{
    oauth::{driver::Relying, ledger, signing::ClientKey, site::Site},
    organizations::driver::{PAYROLL, account_of, call, join, organization, organization_key, payroll, role},
    people,
};

pub const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
pub const HERE: &str = "https://id.example.test";
/// What a key needs to link a member in the tests.
pub const POWERS: &[&str] = &["trusts:*", "salaries:*", "reports:read"];

pub struct Resource {
    pub nodes: Vec<Arc<TestApp>>,
    pub app: Arc<TestApp>,
    pub client: Relying,
    pub there: OrganizationId,
    pub membership: MembershipId,
    pub account: String,
    pub key: String,
}

impl Resource {
    /// Ana again, by the same address, as an accountant who may read and write salaries.
    pub async fn new(site: &Site) -> Self {
        let nodes = site.builder().connections(4).start_nodes(3).await;
        let app = Arc::clone(&nodes[0]);
        apis::register(&app.app.store, &ledger()).await.unwrap();
        payroll(&app).await;
        let mut browser = people::register_with_password(&app, "ana@example.test").await;
        let account = account_of(&mut browser).await;
        let there = organization(&app, "there").await;
        role(&app, there, "accountant", &["salaries:*", "reports:read"]).await;
        let membership = join(&app, there, account, "accountant").await;
        let client = redeemer(&app, json!({})).await;
        let key = organization_key(&app, there, POWERS).await;
        for node in &nodes {
            node.catch_up().await;
        }
        Self { nodes, app, client, there, membership, account: account.to_string(), key }
    }

    pub fn path(&self, what: &str) -> String {
        format!("/v1/organizations/{}/{what}", self.there)
    }

    pub async fn post(&self, what: &str, body: &Value) -> Answer {
        call(&self.app, Method::POST, &self.path(what), &self.key, Some(body), &[]).await
    }

    /// Deletes the only entry of this kind.
    pub async fn remove(&self, what: &str) {
        let all = call(&self.app, Method::GET, &self.path(what), &self.key, None, &[]).await.json();
        let path = format!("{}/{}", self.path(what), all["items"][0]["id"].as_str().unwrap());
        assert_eq!(call(&self.app, Method::DELETE, &path, &self.key, None, &[]).await.status, 204);
    }

    pub async fn trust(&self, issuer: &str, more: &Value) {
        let mut body = json!({"issuer": issuer, "client_id": self.client.id, "algorithms": ["ES256"]});
        merge(&mut body, more);
        let answer = self.post("assertion-issuers", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    pub async fn link(&self, issuer: &str, subject: &str, more: &Value) {
        let mut body = json!({"issuer": issuer, "subject": subject, "membership": self.membership});
        merge(&mut body, more);
        let answer = self.post("external-identities", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    pub async fn redeem(&self, assertion: &str, more: &[(&str, &str)]) -> Answer {
        redeem(&self.app, &self.client, assertion, more).await
    }

    /// Whether a token counts, on every node.
    pub async fn counts(&self, token: &str) -> bool {
        let mut active = Vec::new();
        for node in &self.nodes {
            let told = self.client.call(node, "/connect/introspect", &[("token", token)]).await;
            active.push(told.json()["active"] == true);
        }
        assert!(active.iter().all(|one| *one == active[0]), "the nodes disagree");
        active[0]
    }
}

/// A confidential client that may redeem assertions.
pub async fn redeemer(app: &TestApp, more: Value) -> Relying {
    let mut metadata = json!({"client_name": "Wiki", "grant_types": [JWT_BEARER]});
    merge(&mut metadata, &more);
    Relying::with(app, Trust::Verified, metadata).await
}

pub async fn redeem(app: &TestApp, client: &Relying, assertion: &str, more: &[(&str, &str)]) -> Answer {
    client.token(app, JWT_BEARER, &[&[("assertion", assertion)], more].concat()).await
}

/// An issuer whose key the test holds.
pub struct Issuer {
    pub site: Site,
    pub key: ClientKey,
}

impl Issuer {
    pub async fn start() -> Self {
        let issuer = Self { site: Site::start().await, key: ClientKey::new() };
        issuer.publish(&json!({}));
        issuer
    }

    pub fn publish(&self, more: &Value) {
        let mut document = json!({"issuer": self.name(), "jwks_uri": self.site.url("/keys")});
        merge(&mut document, more);
        let path = "/.well-known/openid-configuration";
        self.site.serve(path, "application/json", &document.to_string());
        self.site.serve_keys("/keys", &self.key.jwks());
    }

    pub fn name(&self) -> String {
        self.site.url("")
    }

    /// A deployment whose organization trusts this issuer and knows its subject.
    pub async fn resource(&self) -> Resource {
        let resource = Resource::new(&self.site).await;
        resource.trust(&self.name(), &json!({})).await;
        resource.link(&self.name(), "U019", &json!({})).await;
        resource
    }

    pub fn claims(&self, resource: &Resource, more: &Value) -> Value {
        let now = resource.app.clock.now().unix_timestamp();
        let mut claims = json!({"iss": self.name(), "sub": "U019", "aud": HERE, "client_id": resource.client.id,
            "jti": format!("j-{}", crate::oauth::driver::verifier()), "iat": now, "exp": now + 300,
            "scope": "salaries:read", "resource": PAYROLL});
        merge(&mut claims, more);
        claims
    }

    /// An assertion; `more` replaces claims, and null leaves one out.
    pub fn assertion(&self, resource: &Resource, more: &Value) -> String {
        let mut claims = self.claims(resource, more);
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        self.key.typed("oauth-id-jag+jwt", &claims)
    }
}
