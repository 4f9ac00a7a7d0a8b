//! The authorization server, standard by standard.

mod attacks;
mod authorization;
mod bound;
mod client_authentication;
mod client_credentials;
mod client_documents;
mod codes;
mod details;
pub mod device;
mod directory;
pub mod driver;
mod first_party;
mod grouping;
mod histories;
mod introspection;
mod lineage;
mod logout;
mod mutual_tls;
mod prepared_once;
mod races;
mod references;
mod registration;
mod requests;
mod resources;
pub mod rfc9700;
pub mod signing;
pub mod site;
mod wrong_tokens;

use std::sync::Arc;

use porteiro_service::oauth::{
    apis::{self, Api},
    clients::{self, Trust},
};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

pub const LEDGER: &str = "https://ledger.example.test";

pub async fn app() -> Arc<TestApp> {
    app_with(1).await
}

/// With at least so many database connections.
pub async fn app_with(connections: usize) -> Arc<TestApp> {
    let app = TestApp::builder().people().connections(connections).start().await;
    apis::register(&app.app.store, &ledger()).await.unwrap();
    Arc::new(app)
}

pub fn ledger() -> Api {
    let scope = |name: &str, open: bool| json!({"name": name, "open_to_unverified": open, "description": {"en": name, "pt": name}});
    let api = json!({
        "identifier": LEDGER,
        "name": "Ledger",
        "scopes": [scope("invoices:read", true), scope("invoices:write", false)],
    });
    let api: Api = serde_json::from_value(api).unwrap();
    api.check(porteiro_testkit::ORIGIN).unwrap();
    api
}

/// A client as its maker sees it once: id and secret.
pub async fn create(app: &TestApp, trust: Trust, metadata: &Value) -> Value {
    let created = clients::create(&app.app.store, &*app.app.entropy, metadata, trust).await.unwrap();
    json!({"client_id": created.client_id, "client_secret": created.secret.map(|secret| secret.reveal().to_string())})
}

/// A confidential client that somebody has checked and given the grant.
pub async fn service(app: &TestApp, method: &str, more: Value) -> Value {
    let mut metadata = json!({"client_name": "Robot", "grant_types": ["client_credentials"],
                              "token_endpoint_auth_method": method});
    for (name, value) in more.as_object().into_iter().flatten() {
        metadata[name] = value.clone();
    }
    create(app, Trust::Verified, &metadata).await
}

pub fn encode(pairs: &[(&str, &str)]) -> String {
    let escape = |text: &str| {
        let escaped: Vec<String> = text
            .bytes()
            .map(|byte| match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => (byte as char).to_string(),
                other => format!("%{other:02X}"),
            })
            .collect();
        escaped.concat()
    };
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect();
    pairs.join("&")
}
