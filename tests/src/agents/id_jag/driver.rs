//! A company with a directory (this server, or another one), and a client that speaks for its people elsewhere.

use http::Method;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use crate::{
    agents::driver::{EXCHANGE, Scene},
    oauth::driver::Relying,
    organizations::driver::{call, organization_key},
};

pub const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
pub const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
pub const REFRESH_TOKEN: &str = "urn:ietf:params:oauth:token-type:refresh_token";
pub const CHAT: &str = "https://login.chat.example";
pub const CHAT_API: &str = "https://api.chat.example/mcp";

/// The side that asserts: Ana is a member of an organization there and signs in to the client.
pub struct Directory {
    pub scene: Scene,
    pub client: Relying,
    /// May change what the organization trusts.
    pub key: String,
}

impl Directory {
    pub async fn on(scene: Scene) -> Self {
        let grants = json!({"grant_types": ["authorization_code", "refresh_token", EXCHANGE]});
        let client = Relying::with(&scene.app, Trust::Verified, grants).await;
        let key = organization_key(&scene.app, scene.here, &["trusts:*"]).await;
        Self { scene, client, key }
    }

    /// With the chat registered for the client.
    pub async fn new() -> Self {
        let directory = Self::on(Scene::new().await).await;
        let made = directory.register(&json!({})).await;
        assert_eq!(made.status, 201, "{}", made.text());
        directory
    }

    pub fn path(&self, what: &str) -> String {
        format!("/v1/organizations/{}/{what}", self.scene.here)
    }

    /// Registers the chat, or what `more` says.
    pub async fn register(&self, more: &Value) -> Answer {
        let mut body = json!({"issuer": CHAT, "client_id": self.client.id, "remote_client_id": "wiki-there",
            "scope": "chat.read chat.history", "resources": [CHAT_API]});
        merge(&mut body, more);
        let path = self.path("authorization-servers");
        call(&self.scene.app, Method::POST, &path, &self.key, Some(&body), &[]).await
    }

    /// Tokens of a sign-in to the client, for the organization.
    pub async fn sign_in(&mut self, more: &[(&str, &str)]) -> Value {
        let usual = [("scope", "openid offline_access"), ("organization", "here")];
        let mut all: Vec<_> =
            usual.into_iter().filter(|(name, _)| !more.iter().any(|(known, _)| known == name)).collect();
        all.extend(more);
        self.client.tokens(&mut self.scene.browser, &self.scene.app, &all).await
    }

    pub async fn ask(&self, token: &str, more: &[(&str, &str)]) -> Answer {
        ask(&self.scene.app, &self.client, token, more).await
    }

    /// An assertion for a new sign-in.
    pub async fn assertion(&mut self, more: &[(&str, &str)]) -> String {
        let tokens = self.sign_in(&[]).await;
        let answer = self.ask(tokens["id_token"].as_str().unwrap(), more).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["access_token"].as_str().unwrap().to_owned()
    }
}

/// Asks for an assertion; an empty value leaves a parameter out.
pub async fn ask(app: &TestApp, client: &Relying, token: &str, more: &[(&str, &str)]) -> Answer {
    let usual = [
        ("requested_token_type", ID_JAG),
        ("subject_token", token),
        ("subject_token_type", ID_TOKEN),
        ("audience", CHAT),
    ];
    let named = |name: &str| more.iter().any(|(known, _)| *known == name);
    let mut form: Vec<(&str, &str)> = usual.into_iter().filter(|(name, _)| !named(name)).collect();
    form.extend(more.iter().filter(|(_, value)| !value.is_empty()));
    client.token(app, EXCHANGE, &form).await
}

pub fn merge(body: &mut Value, more: &Value) {
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
}
