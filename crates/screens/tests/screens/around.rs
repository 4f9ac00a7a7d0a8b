//! Fixtures: clients that send people here, and organizations.

use porteiro_protocol::id::{AccountId, Id, OrganizationId};
use porteiro_service::{
    members::{self, NewMember, Source},
    oauth::{
        apis,
        clients::{self, Trust},
    },
    organizations,
};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

/// A client of this installation, as a platform administrator would create it.
pub async fn client(app: &TestApp, trust: Trust) -> String {
    made(app, trust, &json!({"redirect_uris": ["https://app.example.test/callback"], "grant_types": ["authorization_code"]})).await
}

/// A client that cannot open a browser (RFC 8628).
pub async fn television(app: &TestApp) -> String {
    let grants = ["urn:ietf:params:oauth:grant-type:device_code"];
    made(app, Trust::Verified, &json!({"redirect_uris": [], "grant_types": grants})).await
}

async fn made(app: &TestApp, trust: Trust, more: &Value) -> String {
    let mut metadata = json!({
        "client_name": "Ledger",
        "token_endpoint_auth_method": "none",
        "policy_uri": "https://app.example.test/privacy",
        "tos_uri": "https://app.example.test/terms",
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        metadata[name] = value.clone();
    }
    let made = clients::create(&app.app.store, &*app.app.entropy, &metadata, trust).await;
    made.expect("a client").client_id
}

/// The authorization request of a client.
pub fn asking(client: &str, scope: &str) -> String {
    format!(
        "/connect/authorize?client_id={client}&redirect_uri=https%3A%2F%2Fapp.example.test%2Fcallback\
         &response_type=code&scope={scope}&state=s&code_challenge={}&code_challenge_method=S256",
        "A".repeat(43)
    )
}

/// An organizational API.
pub async fn payroll(app: &TestApp) {
    let words = json!({"en": "See salaries", "pt": "Ver salários"});
    let api = json!({
        "identifier": "https://payroll.example.test",
        "name": "Payroll",
        "organizational": true,
        "scopes": [{"name": "salaries:read", "description": words}],
    });
    let api: apis::Api = serde_json::from_value(api).expect("an API");
    apis::register(&app.app.store, &api).await.expect("an API");
}

/// Adds a member to a new organization.
pub async fn belongs(
    app: &TestApp,
    account: AccountId,
    slug: &'static str,
    role: &'static str,
) -> OrganizationId {
    let (organization, id) = (Id::random(&*app.app.entropy), Id::random(&*app.app.entropy));
    let work = |tx| async move {
        assert!(organizations::insert(&tx, organization, slug, slug, "en").await?);
        let (display_name, source) = ("Ana", Source::Admin);
        let account = Some(account);
        let new = NewMember { organization, id, account, client_id: None, display_name, role, source };
        members::insert(&tx, &new).await
    };
    app.app.store.run_tx("test.belongs", work).await.expect("a member");
    organization
}

/// An agent to which the person delegated something: it asks for an approval, and shows this number.
pub async fn asks(app: &TestApp, account: AccountId) -> (String, i64) {
    asks_for(app, account, "scope=openid%20email").await
}

/// The same for a transfer, which cannot be undone.
pub async fn asks_for_transfer(app: &TestApp, account: AccountId) -> (String, i64) {
    let properties = json!({"amount": {"type": "string"}});
    let api = json!({
        "identifier": "https://ledger.example.test",
        "name": "Ledger",
        "scopes": [{"name": "transfers:make", "description": {"en": "Make transfers", "pt": "Fazer transferências"}}],
        "details": [{
            "name": "transfer",
            "schema": {"type": "object", "properties": properties, "additionalProperties": false},
            "display": {"en": "Transfer {amount}", "pt": "Transferir {amount}"},
            "irreversible": true,
        }],
    });
    apis::register(&app.app.store, &serde_json::from_value(api).expect("an API")).await.expect("an API");
    app.catch_up().await;
    let details = "%5B%7B%22type%22%3A%22transfer%22%2C%22amount%22%3A%227%22%7D%5D";
    let what = format!(
        "scope=openid%20transfers%3Amake&resource=https%3A%2F%2Fledger.example.test&authorization_details={details}"
    );
    asks_for(app, account, &what).await
}

async fn asks_for(app: &TestApp, account: AccountId, what: &str) -> (String, i64) {
    let metadata = json!({"client_name": "Ledger agent", "kind": "agent", "authorization_details_types": ["transfer"],
        "token_endpoint_auth_method": "client_secret_post", "grant_types": ["urn:openid:params:grant-type:ciba"]});
    let made = clients::create(&app.app.store, &*app.app.entropy, &metadata, Trust::Verified).await;
    let made = made.expect("a client");
    app.sql(&format!(
        "INSERT INTO delegation (owner_id, delegation_id, account_id, client_id, audience, scope, redelegable, source,
             expires_at)
         VALUES ('{account}', gen_random_uuid(), '{account}', '{}', 'https://id.example.test', 'openid', false, 'person',
             now() + interval '1 day')",
        made.client_id
    ))
    .await;
    let secret = made.secret.expect("a secret").reveal().to_string();
    let form = format!(
        "client_id={}&client_secret={secret}&{what}&login_hint={account}&binding_message=Order%207",
        made.client_id
    );
    let answer = app.form("/connect/ciba", form).await.json();
    (made.client_id, answer["approval_number"].as_i64().unwrap_or_else(|| panic!("{answer}")))
}
