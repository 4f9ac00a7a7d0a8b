//! Metadata of registered APIs, published for them (RFC 9728, docs/decisions/0092).

use http::Method;
use porteiro_service::oauth::apis::{self, Api};
use porteiro_testkit::{TestApp, verify};
use serde_json::{Value, json};

use super::{
    LEDGER, app,
    driver::{Relying, person},
    service,
};
use crate::organizations::{
    driver::{call, platform_key},
    staff::refusal,
};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
const PAYMENTS: &str = "https://payments.example.test";

fn payments(more: &Value) -> Value {
    let scope = |name: &str, open: bool| json!({"name": name, "open_to_unverified": open, "description": {"en": name, "pt": name}});
    let mut api = json!({
        "identifier": PAYMENTS,
        "name": "Payments",
        "resources": ["https://payments.example.test", "https://mcp.example.test:8443/payments",
                      "http://localhost:3000/mcp"],
        "scopes": [scope("payments:read", true), scope("payments:write", false)],
        "details": [{"name": "payment", "narrowing": {"amount": "at_most"},
                     "display": {"en": "Pay {amount}", "pt": "Pagar {amount}"},
                     "schema": {"type": "object", "additionalProperties": false, "required": ["amount"],
                                "properties": {"amount": {"type": "string", "maxLength": 12}}}}],
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        api[name] = value.clone();
    }
    api
}

async fn register(app: &TestApp, more: &Value) {
    let api: Api = serde_json::from_value(payments(more)).unwrap();
    api.check(porteiro_testkit::ORIGIN).unwrap();
    apis::register(&app.app.store, &api).await.unwrap();
    // A change is noticed within a second.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
}

#[tokio::test]
async fn an_api_has_a_document_for_each_of_its_urls() {
    let app = app().await;
    register(&app, &json!({})).await;
    for (path, resource) in [
        ("payments.example.test", "https://payments.example.test"),
        ("payments.example.test/", "https://payments.example.test"),
        ("mcp.example.test:8443/payments", "https://mcp.example.test:8443/payments"),
        ("localhost:3000/mcp", "http://localhost:3000/mcp"),
    ] {
        let answer = app.get(&format!("{WELL_KNOWN}/{path}")).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let expected = json!({
            "resource": resource,
            "authorization_servers": ["https://id.example.test"],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["payments:read"],
            "resource_name": "Payments",
            "authorization_details_types_supported": ["payment"],
        });
        assert_eq!(answer.json(), expected, "what every client may request: {path}");
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        assert!(answer.header("cache-control").starts_with("public, max-age="));
    }
    for path in [
        "",
        "ledger.example.test",
        "payments.example.test/other",
        "payments.example.test//",
        "mcp.example.test:8443/payments/",
        "mcp.example.test:8443/%70ayments",
        "mcp.example.test/payments",
        "mcp.example.test:8443",
        "id.example.test",
    ] {
        assert_eq!(app.get(&format!("{WELL_KNOWN}/{path}")).await.status, 404, "{path}");
    }
    assert_eq!(app.get(WELL_KNOWN).await.json()["resource"], "https://id.example.test", "our own stays");
}

#[tokio::test]
async fn the_authorization_server_names_the_resources_and_types_that_there_are_now() {
    let app = app().await;
    let server = async || app.get("/.well-known/oauth-authorization-server").await.json();
    let before = server().await;
    assert_eq!(before["protected_resources"], json!(["https://id.example.test"]));
    assert_eq!(before.get("authorization_details_types_supported"), None);
    register(&app, &json!({})).await;
    let after = server().await;
    assert_eq!(after["authorization_details_types_supported"], json!(["payment"]));
    assert_eq!(after["protected_resources"].as_array().unwrap().len(), 4);
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let signed = verify(after["signed_metadata"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(signed["protected_resources"], after["protected_resources"], "signed anew");
    assert_eq!(app.get("/.well-known/openid-configuration").await.json(), after);
    register(&app, &json!({"resources": [], "details": []})).await;
    let last = server().await;
    assert_eq!(
        (last.get("authorization_details_types_supported"), &last["protected_resources"]),
        (None, &before["protected_resources"])
    );
}

/// An MCP client sends the URL that it called, and its library writes an origin with a slash.
#[tokio::test]
async fn a_resource_is_named_by_any_of_its_urls_and_the_token_is_for_its_identifier() {
    let app = app().await;
    register(&app, &json!({})).await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let audience = |tokens: &Value| {
        verify(tokens["access_token"].as_str().unwrap(), &jwks).unwrap()["aud"].as_str().unwrap().to_owned()
    };
    let urls = [
        "https://payments.example.test",
        "https://payments.example.test/",
        "https://mcp.example.test:8443/payments",
    ];
    for resource in urls {
        let asked = [("scope", "payments:read"), ("resource", resource)];
        let tokens = client.tokens(&mut browser, &app, &asked).await;
        assert_eq!(audience(&tokens), PAYMENTS, "{resource}");
        let mut refresh = tokens["refresh_token"].as_str().unwrap().to_owned();
        for again in urls {
            let next = client.refresh(&app, &refresh, &[("resource", again)]).await;
            assert_eq!(next.status, 200, "{resource}, {again}: {}", next.text());
            assert_eq!(audience(&next.json()), PAYMENTS);
            refresh = next.json()["refresh_token"].as_str().unwrap().to_owned();
        }
        for other in
            ["https://ledger.example.test", "https://id.example.test/", "https://payments.example.test/x"]
        {
            let refused = client.refresh(&app, &refresh, &[("resource", other)]).await;
            assert_eq!(refused.json()["error"], "invalid_target", "{other}: {}", refused.text());
        }
    }
    let own = client.tokens(&mut browser, &app, &[("resource", "https://id.example.test/")]).await;
    assert_eq!(audience(&own), "https://id.example.test");
    let robot = service(&app, "client_secret_post", json!({"scope": "payments:read"})).await;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", robot["client_id"].as_str().unwrap()),
        ("client_secret", robot["client_secret"].as_str().unwrap()),
        ("scope", "payments:read"),
        ("resource", "https://mcp.example.test:8443/payments"),
    ];
    let tokens = app.form("/connect/token", super::encode(&form)).await;
    assert_eq!(audience(&tokens.json()), PAYMENTS, "{}", tokens.text());
}

#[tokio::test]
async fn what_no_client_could_call_is_no_resource() {
    let app = app().await;
    let key = platform_key(&app, &["platform.apis:*"]).await;
    let many: Vec<String> = (0..21).map(|number| format!("https://api-{number}.example.test")).collect();
    for (what, resources) in [
        ("plain http", json!(["http://payments.example.test/"])),
        ("a query", json!(["https://payments.example.test/mcp?x=1"])),
        ("a fragment", json!(["https://payments.example.test/mcp#top"])),
        ("a user name", json!(["https://ana@payments.example.test/"])),
        ("dot segments", json!(["https://payments.example.test/a/../mcp"])),
        ("the issuer", json!(["https://id.example.test"])),
        ("the issuer with a slash", json!(["https://id.example.test/"])),
        ("no URL", json!(["payments"])),
        ("too many", json!(many)),
    ] {
        let body = payments(&json!({"resources": resources}));
        let answer = call(&app, Method::POST, "/v1/platform/apis", &key, Some(&body), &[]).await;
        assert_eq!(refusal(&answer), (422, "field_invalid".into()), "{what}: {}", answer.text());
    }
    let made = call(&app, Method::POST, "/v1/platform/apis", &key, Some(&payments(&json!({}))), &[]).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.json()["resources"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn two_rules_for_tokens_of_the_same_api_are_refused() {
    let app = app().await;
    let key = platform_key(&app, &["platform.apis:*"]).await;
    let rule =
        |from: &str| json!({"from": from, "scopes": [{"name": "payments:read", "from": ["invoices:read"]}]});
    let other = "https://other.example.test";
    for (exchanges, status) in
        [(json!([rule(LEDGER), rule(LEDGER)]), 422), (json!([rule(LEDGER), rule(other)]), 201)]
    {
        let body = payments(&json!({"exchanges": exchanges}));
        let answer = call(&app, Method::POST, "/v1/platform/apis", &key, Some(&body), &[]).await;
        assert_eq!(answer.status, status, "{}", answer.text());
    }
}
