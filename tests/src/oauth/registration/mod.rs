//! Clients that register themselves: who may, as what, and what they are told.

mod administered;
mod changes;
mod scopes;

use axum::body::Body;
use http::{Method, Request};
use porteiro_service::oauth::clients::{self, Trust};
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use super::app;

pub const REGISTER: &str = "/connect/register";

/// A client as the OpenID suites and the MCP libraries introduce theirs.
fn website(more: &Value) -> Value {
    let mut metadata = json!({
        "client_name": "Photo Printer",
        "redirect_uris": ["https://printer.example/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "client_secret_basic",
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        metadata[name] = value.clone();
    }
    metadata.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    metadata
}

async fn registered(app: &TestApp, more: &Value) -> Value {
    let answer = app.json(REGISTER, &website(more)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

/// A request about one registration, with its token.
async fn manage(app: &TestApp, method: Method, id: &str, token: &str, body: Option<&Value>) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(format!("{REGISTER}/{id}"))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    app.send(request.body(body).unwrap()).await
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn error(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["error"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn the_answer_says_everything_and_nothing_that_is_null() {
    let app = app().await;
    let more = json!({"scope": "openid offline_access invoices:read", "contacts": ["a@printer.example"],
                      "logo_uri": null, "something_unknown": {"a": 1}, "software_statement": "a.b.c"});
    let mut request = website(&more);
    request["logo_uri"] = Value::Null;
    let answer = app.json(REGISTER, &request).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!((answer.header("cache-control"), answer.header("pragma")), ("no-store", "no-cache"));
    let body = answer.json();
    assert!(!has_null(&body), "{body}");
    let id = text(&body, "client_id");
    assert_eq!(body["registration_client_uri"], format!("https://id.example.test/connect/register/{id}"));
    assert!(text(&body, "registration_access_token").starts_with("pt_reg_"));
    assert!(text(&body, "client_secret").starts_with("pt_cs_"));
    assert_eq!(body["client_secret_expires_at"], 0);
    assert!(body["client_id_issued_at"].as_i64().unwrap() > 1_700_000_000);
    for name in
        ["client_name", "redirect_uris", "grant_types", "token_endpoint_auth_method", "scope", "contacts"]
    {
        assert_eq!(body[name], request[name], "{name}");
    }
    assert_eq!(body["response_types"], json!(["code"]));
    assert_eq!(body["id_token_signed_response_alg"], "RS256");
    assert!(body.get("something_unknown").is_none() && body.get("software_statement").is_none());

    // Read again: the same, except that the secret is not known any more.
    let again = manage(&app, Method::GET, id, text(&body, "registration_access_token"), None).await;
    assert_eq!((again.status.as_u16(), again.header("cache-control")), (200, "no-store"));
    let mut expected = body.clone();
    expected.as_object_mut().unwrap().remove("client_secret");
    assert_eq!(again.json(), expected);
}

/// But for the grants: whoever registers itself may stay signed in (decision record 0078).
#[tokio::test]
async fn defaults_are_those_of_the_standard() {
    let app = app().await;
    let least = json!({"redirect_uris": ["http://127.0.0.1/callback"]});
    let body = app.json(REGISTER, &least).await.json();
    assert_eq!(
        (&body["grant_types"], &body["token_endpoint_auth_method"]),
        (&json!(["authorization_code", "refresh_token"]), &json!("client_secret_basic"))
    );
    let public = registered(&app, &json!({"token_endpoint_auth_method": "none"})).await;
    assert!(public.get("client_secret").is_none() && public.get("client_secret_expires_at").is_none());
    assert!(public.get("scope").is_none(), "what was not declared is no ceiling");
}

#[tokio::test]
async fn a_client_says_its_kind_and_gets_nothing_for_it() {
    let app = app().await;
    assert!(registered(&app, &json!({})).await.get("kind").is_none(), "an application need not say it");
    for kind in ["service", "agent"] {
        let body = registered(&app, &json!({"kind": kind})).await;
        assert_eq!(body["kind"], kind);
        let client = clients::find(&app.app.store, text(&body, "client_id")).await.unwrap().unwrap();
        assert_eq!(client.trust, Trust::Unverified, "{kind}");
        let more = json!({"kind": kind, "grant_types": ["client_credentials"]});
        let answer = app.json(REGISTER, &website(&more)).await;
        assert_eq!(error(&answer), (400, "invalid_client_metadata".into()), "{kind}");
    }
    for wrong in [json!("robot"), json!(["agent"]), json!(1)] {
        let answer = app.json(REGISTER, &website(&json!({"kind": wrong}))).await;
        assert_eq!(error(&answer), (400, "invalid_client_metadata".into()), "{wrong}");
    }
}

#[tokio::test]
async fn only_hashes_are_stored_and_the_client_starts_at_the_bottom() {
    let app = app().await;
    let body = registered(&app, &json!({})).await;
    let rows = app.database.client().await;
    let row = rows
        .query_one(
            "SELECT trust, profile, row_to_json(client)::text AS whole FROM client WHERE client_id = $1",
            &[&text(&body, "client_id")],
        )
        .await
        .unwrap();
    assert_eq!((row.get::<_, &str>("trust"), row.get::<_, &str>("profile")), ("unverified", "default"));
    let whole: &str = row.get("whole");
    for secret in ["client_secret", "registration_access_token"] {
        let tail = text(&body, secret).rsplit_once('_').unwrap().1;
        assert!(!whole.contains(tail), "{secret} is stored");
    }
    let event = rows
        .query_one("SELECT payload FROM security_log WHERE kind = 'client.registered'", &[])
        .await
        .unwrap();
    assert_eq!(event.get::<_, Value>("payload"), json!({"client_id": body["client_id"]}));
}

#[tokio::test]
async fn what_a_stranger_may_not_have_is_refused_never_left_out() {
    let app = app().await.from_address([198, 51, 100, 1]);
    // Not about limits: each attempt comes from somewhere else.
    let mut last = 1;
    for (what, more) in [
        ("acting for itself", json!({"grant_types": ["client_credentials"]})),
        ("both", json!({"grant_types": ["authorization_code", "client_credentials"]})),
        ("a grant nobody serves", json!({"grant_types": ["password"]})),
        ("implicit", json!({"response_types": ["token"]})),
        ("a scope that is not open", json!({"scope": "openid invoices:write"})),
        ("a scope nobody has", json!({"scope": "openid no:such"})),
        ("types of authorization details", json!({"authorization_details_types": ["payment"]})),
        ("keys twice", json!({"jwks": {"keys": [{"kty": "EC"}]}, "jwks_uri": "https://a.example/jwks"})),
        ("no keys", json!({"token_endpoint_auth_method": "private_key_jwt"})),
        ("a private key", json!({"jwks": {"keys": [{"kty": "EC", "d": "x"}]}})),
        ("our name", json!({"client_name": "P0rteir\u{f3} Security"})),
        ("a hidden name", json!({"client_name": "Good\u{202e}dooG"})),
        ("a plain address to fetch", json!({"jwks_uri": "http://a.example/jwks"})),
        ("a long name", json!({"client_name": "x".repeat(81)})),
        ("no list", json!({"grant_types": "authorization_code"})),
    ] {
        last += 1;
        let answer = app.from_address([198, 51, 100, last]).json(REGISTER, &website(&more)).await;
        assert_eq!(error(&answer), (400, "invalid_client_metadata".into()), "{what}: {}", answer.text());
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    let rows = app.database.client().await.query("SELECT 1 FROM client", &[]).await.unwrap();
    assert!(rows.is_empty(), "a refusal left a client behind");
}

/// Keycloak CVE-2026-9086: a redirect address whose scheme runs as script.
#[tokio::test]
async fn cve_2026_9086_redirect_addresses_that_run_are_refused_in_any_spelling() {
    let app = app().await;
    let mut last = 0;
    for uri in [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "jAvAsCrIpT://printer.example/%0aalert(1)",
        "data:text/html,x",
        "DATA:text/html;base64,eA==",
        "vbscript:x",
        "file:///etc/passwd",
        " javascript:alert(1)",
        "java\tscript:alert(1)",
        "http://printer.example/callback",
        "https://printer.example/callback#fragment",
        "https://printer.example/*",
        "https://user@printer.example/callback",
        "https://printer.example\\@evil.example/",
        "/callback",
        "",
    ] {
        for member in ["redirect_uris", "post_logout_redirect_uris"] {
            last += 1;
            let from = app.from_address([198, 51, 100, last]);
            let answer = from.json(REGISTER, &website(&json!({member: [uri]}))).await;
            assert_eq!(answer.status, 400, "{member} {uri}");
            let code =
                if member == "redirect_uris" { "invalid_redirect_uri" } else { "invalid_client_metadata" };
            assert_eq!(answer.json()["error"], code, "{member} {uri}");
            assert!(uri.is_empty() || !answer.text().contains(uri), "the answer repeats {uri}");
        }
    }
    for member in ["client_uri", "logo_uri", "policy_uri", "tos_uri", "initiate_login_uri"] {
        last += 1;
        let more = json!({member: "JaVascript:alert(1)"});
        let answer = app.from_address([198, 51, 100, last]).json(REGISTER, &website(&more)).await;
        assert_eq!(error(&answer), (400, "invalid_client_metadata".into()), "{member}");
    }
}

#[tokio::test]
async fn an_unreadable_registration_is_refused_as_such() {
    let app = app().await;
    for (body, kind) in [("{", "application/json"), ("[]", "application/json"), ("a=b", "text/plain")] {
        let answer = app.post(REGISTER, kind, body).await;
        assert_eq!(error(&answer), (400, "invalid_client_metadata".into()), "{body}");
    }
    let twice = r#"{"redirect_uris":["https://a.example/"],"redirect_uris":["https://b.example/"]}"#;
    assert_eq!(app.post(REGISTER, "application/json", twice).await.status, 400);
    let long = website(&json!({"software_id": "x".repeat(40_000)}));
    assert_eq!(app.json(REGISTER, &long).await.status, 413);
}

#[tokio::test]
async fn an_address_registers_ten_an_hour_and_another_is_not_held_up() {
    let app = app().await;
    for _ in 0..10 {
        registered(&app, &json!({})).await;
    }
    let answer = app.json(REGISTER, &website(&json!({}))).await;
    assert_eq!(answer.status, 429);
    assert!(!answer.header("retry-after").is_empty());
    registered(&app.from_address([198, 51, 100, 9]), &json!({})).await;
}

#[tokio::test]
async fn the_setting_opens_wider_or_closes() {
    let open =
        TestApp::builder().settings(|settings| settings.client_registrations_per_hour = 12).start().await;
    for _ in 0..12 {
        registered(&open, &json!({})).await;
    }
    assert_eq!(open.json(REGISTER, &website(&json!({}))).await.status, 429);
    let document = open.get("/.well-known/openid-configuration").await.json();
    assert_eq!(document["registration_endpoint"], "https://id.example.test/connect/register");

    let closed =
        TestApp::builder().settings(|settings| settings.client_registrations_per_hour = 0).start().await;
    assert_eq!(error(&closed.json(REGISTER, &website(&json!({}))).await), (403, "access_denied".into()));
    let document = closed.get("/.well-known/openid-configuration").await.json();
    assert!(document.get("registration_endpoint").is_none());
}

#[tokio::test]
async fn a_key_address_is_taken_and_not_asked() {
    let app = app().await;
    let recorder = crate::fetch::Recorder::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let at = |path: &str| format!("https://localhost:{}/{path}", recorder.port);
    let more = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": at("jwks"),
                      "logo_uri": at("logo"), "client_uri": at("home"), "policy_uri": at("policy")});
    let body = registered(&app, &more).await;
    assert_eq!(body["jwks_uri"], at("jwks"));
    assert!(recorder.heard().is_empty());
}
