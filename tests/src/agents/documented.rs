//! Agents that are known by a metadata document: how they ask, and that their document is read again.

use std::sync::Arc;

use porteiro_protocol::time::Clock;
use porteiro_testkit::{Answer, verify};
use serde_json::{Value, json};

use super::driver::{CIBA, EXCHANGE, Scene, action, asked, noticed};
use crate::{
    oauth::{
        LEDGER,
        driver::{Relying, verifier},
        encode,
        signing::ClientKey,
        site::Site,
    },
    organizations::driver::payroll,
};

const PATH: &str = "/agent.json";

struct Documented {
    site: Site,
    scene: Scene,
    key: ClientKey,
    id: String,
    assertions: u32,
}

impl Documented {
    /// An agent whose document was read when it sent Ana here; an administrator has verified it and given it grant types.
    async fn new() -> Self {
        let site = Site::start().await;
        let app = Arc::new(site.builder().start().await);
        payroll(&app).await;
        let scene = Scene::asking_on(app, json!({})).await;
        let id = site.url(PATH);
        let mut it = Self { site, scene, key: ClientKey::new(), id, assertions: 0 };
        it.publish(&json!({}));
        let agent = Relying { id: it.id.clone(), secret: None, redirect_uri: it.site.url("/callback") };
        let flow = agent.ask(&mut it.scene.browser, &verifier(), &[]).await.json();
        assert_eq!(flow["stage"], "consent", "{flow}");
        let given = json!({"kind": "agent", "grant_types": [EXCHANGE, CIBA], "authorization_details_types": ["payment"]});
        let sql = format!(
            "UPDATE client SET trust = 'verified', metadata = metadata || '{given}', changed_at = clock_timestamp()
             WHERE document_until IS NOT NULL"
        );
        it.scene.app.sql(&sql).await;
        noticed().await;
        let answer = it.scene.delegate(&json!({"client_id": it.id, "scope": "invoices:read"})).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        it
    }

    fn publish(&self, more: &Value) {
        let mut document = json!({
            "client_id": self.id,
            "client_name": "Paperwork",
            "redirect_uris": [self.site.url("/callback")],
            "grant_types": ["authorization_code"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_signing_alg": "ES256",
            "jwks": self.key.jwks(),
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            document[name] = value.clone();
        }
        self.site.serve(PATH, "application/json", &document.to_string());
    }

    async fn call(&mut self, path: &str, form: &[(&str, &str)]) -> Answer {
        self.assertions += 1;
        let now = self.scene.app.clock.now().unix_timestamp();
        let jti = self.assertions.to_string();
        let claims = json!({"iss": self.id, "sub": self.id, "aud": "https://id.example.test", "jti": jti,
                            "iat": now, "exp": now + 60});
        let assertion = self.key.typed("JWT", &claims);
        let own = [
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", assertion.as_str()),
        ];
        self.scene.app.form(path, encode(&[&own[..], form].concat())).await
    }

    async fn ask(&mut self) -> Answer {
        let (person, details) = (self.scene.account.to_string(), action("payment", "10.00"));
        let form = [
            ("scope", "openid invoices:write"),
            ("resource", LEDGER),
            ("login_hint", person.as_str()),
            ("authorization_details", details.as_str()),
        ];
        let answer = self.call("/connect/ciba", &form).await;
        self.scene.app.sql("UPDATE approval SET expires_at = now() WHERE state = 'pending'").await;
        answer
    }

    /// Its document is not valid any more, since so long, and was not asked for lately.
    async fn make_stale(&self, since: &str) {
        let sql = format!(
            "UPDATE client SET document_until = now() - interval '{since}' WHERE document_until IS NOT NULL"
        );
        self.scene.app.sql(&sql).await;
        self.scene.app.forget_limits().await;
    }

    fn fetched(&self) -> usize {
        self.site.heard().len()
    }
}

#[tokio::test]
async fn an_agent_known_by_its_document_asks_for_an_approval_and_redeems_it() {
    let mut it = Documented::new().await;
    let (person, details) = (it.scene.account.to_string(), action("payment", "10.00"));
    let form = [
        ("scope", "openid invoices:write"),
        ("resource", LEDGER),
        ("login_hint", person.as_str()),
        ("authorization_details", details.as_str()),
    ];
    let request = asked(&it.call("/connect/ciba", &form).await);
    let waiting = it.scene.waiting().await;
    assert_eq!(
        (&waiting["client_name"], &waiting["client_host"]),
        (&json!("Paperwork"), &json!("localhost"))
    );
    it.scene.approve(&request).await;
    let form = [("grant_type", CIBA), ("auth_req_id", request.handle.as_str())];
    let tokens = it.call("/connect/token", &form).await;
    assert_eq!(tokens.status, 200, "{}", tokens.text());
    let jwks = it.scene.app.get("/.well-known/jwks.json").await.json();
    let claims = verify(tokens.json()["access_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!((&claims["act"]["sub"], &claims["client_id"]), (&json!(it.id), &json!(it.id)));
    assert_eq!(claims["authorization_details"][0]["amount"], "10.00", "{claims}");
    assert_eq!(it.call("/connect/token", &form).await.json()["error"], "invalid_grant", "once");
}

#[tokio::test]
async fn a_document_that_nobody_is_sent_with_is_read_again_when_its_client_asks() {
    let mut it = Documented::new().await;
    let before = it.fetched();
    assert_eq!(it.ask().await.status, 200);
    assert_eq!(it.fetched(), before, "it is valid");
    it.make_stale("1 second").await;
    for _ in 0..2 {
        assert_eq!(it.ask().await.status, 200);
        assert_eq!(it.fetched(), before + 1, "once");
    }
    // At token exchange, too; the subject token is no token at all.
    it.make_stale("1 second").await;
    let form = [
        ("grant_type", EXCHANGE),
        ("subject_token", "x"),
        ("subject_token_type", super::driver::ACCESS_TOKEN),
    ];
    assert_eq!(it.call("/connect/token", &form).await.json()["error"], "invalid_request");
    assert_eq!(it.fetched(), before + 2);
}

#[tokio::test]
async fn a_document_that_cannot_be_read_counts_for_a_day_and_is_asked_for_once_a_minute() {
    let mut it = Documented::new().await;
    let before = it.fetched();
    it.make_stale("1 hour").await;
    it.site.answer(PATH, crate::fetch::http("503 Service Unavailable", "", ""));
    for _ in 0..2 {
        assert_eq!(it.ask().await.status, 200);
    }
    assert_eq!(it.fetched(), before + 1, "once a minute");
    it.make_stale("25 hours").await;
    for _ in 0..2 {
        let answer = it.ask().await;
        assert_eq!(answer.json()["error"], "unauthorized_client", "{}", answer.text());
    }
    assert_eq!(it.fetched(), before + 2);
}

#[tokio::test]
async fn an_agent_whose_document_becomes_anothers_asks_for_nothing_any_more() {
    let mut it = Documented::new().await;
    it.make_stale("1 second").await;
    it.publish(&json!({"client_name": "Your bank"}));
    let answer = it.ask().await;
    assert_eq!(answer.json()["error"], "unauthorized_client", "{}", answer.text());
}
