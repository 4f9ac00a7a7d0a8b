//! Wildcard scopes narrow; four fields register a client that may refresh; 401s carry `resource_metadata`.

use porteiro_service::oauth::{
    apis::{self, Api},
    clients::Trust,
};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use crate::{
    oauth::{
        app,
        driver::{Relying, agree, parameter, person, verifier},
    },
    organizations::driver::{PAYROLL, account_of, house, join, organization, role},
};

const INVOICES: &str = "https://invoices.example.test";

async fn api(app: &TestApp, identifier: &str, organizational: bool, names: &[&str]) {
    let scope = |name: &&str| json!({"name": name, "description": {"en": name, "pt": name}});
    let scopes: Vec<Value> = names.iter().map(scope).collect();
    let api =
        json!({"identifier": identifier, "name": "API", "organizational": organizational, "scopes": scopes});
    let api: Api = serde_json::from_value(api).unwrap();
    api.check(porteiro_testkit::ORIGIN).unwrap();
    apis::register(&app.app.store, &api).await.unwrap();
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

#[tokio::test]
async fn a_wildcard_is_refreshed_to_less_and_never_to_more() {
    let app = app().await;
    api(&app, INVOICES, false, &["invoices:*", "invoices:read", "accounts:read", "reports:*"]).await;
    let (mut browser, client) = (person(&app).await, Relying::web(&app).await);
    let more = [("scope", "invoices:* reports:*"), ("resource", INVOICES)];
    let mut last = client.tokens(&mut browser, &app, &more).await;
    for (asked, granted) in [
        ("invoices:read", true),
        ("accounts:read", false),
        ("invoices:read accounts:read", false),
        ("invoices:write", false),
        ("invoices", false),
        ("invoices:* invoices:read", true),
    ] {
        let answer = client.refresh(&app, text(&last, "refresh_token"), &[("scope", asked)]).await.json();
        if granted {
            assert_eq!(answer["scope"], asked, "{answer}");
            last = answer;
        } else {
            assert_eq!(answer["error"], "invalid_scope", "{asked}: {answer}");
        }
    }
    // The family keeps what was granted.
    let whole = client.refresh(&app, text(&last, "refresh_token"), &[]).await.json();
    assert_eq!(whole["scope"], "invoices:* reports:*", "{whole}");
    // One action is no wildcard.
    let one = client.tokens(&mut browser, &app, &[("scope", "invoices:read"), ("resource", INVOICES)]).await;
    let wider = client.refresh(&app, text(&one, "refresh_token"), &[("scope", "invoices:*")]).await.json();
    assert_eq!(wider["error"], "invalid_scope", "{wider}");
}

#[tokio::test]
async fn so_is_one_that_is_held_through_roles() {
    let app = house().await;
    api(&app, PAYROLL, true, &["salaries:*", "salaries:read", "salaries:write"]).await;
    let (mut browser, client) = (person(&app).await, Relying::web(&app).await);
    let here = organization(&app, "here").await;
    role(&app, here, "accountant", &["salaries:*"]).await;
    join(&app, here, account_of(&mut browser).await, "accountant").await;
    let tokens =
        client.tokens(&mut browser, &app, &[("scope", "salaries:*"), ("organization", "here")]).await;
    let read = [("scope", "salaries:read")];
    let less = client.refresh(&app, text(&tokens, "refresh_token"), &read).await.json();
    assert_eq!(less["scope"], "salaries:read", "{less}");
    // With less of it held, that much of it is given and no more.
    role(&app, here, "accountant", &["salaries:read"]).await;
    for (scope, error) in [("salaries:*", "invalid_scope"), ("salaries:write", "invalid_scope")] {
        let refused = client.refresh(&app, text(&less, "refresh_token"), &[("scope", scope)]).await.json();
        assert_eq!(refused["error"], error, "{scope}: {refused}");
    }
    let less = client.refresh(&app, text(&less, "refresh_token"), &read).await.json();
    assert_eq!(less["scope"], "salaries:read", "{less}");
}

#[tokio::test]
async fn what_a_client_registered_and_a_person_allowed_covers_less_of_it() {
    let app = app().await;
    api(&app, INVOICES, false, &["invoices:*", "invoices:read", "accounts:read"]).await;
    let mut browser = person(&app).await;
    let client = Relying::with(&app, Trust::Verified, json!({"scope": "invoices:*"})).await;
    let ask = |scope: &'static str| [("scope", scope), ("resource", INVOICES)];
    client.tokens(&mut browser, &app, &ask("invoices:*")).await;
    let silent = [&ask("invoices:read")[..], &[("prompt", "none")]].concat();
    let read = client.ask(&mut browser, &verifier(), &silent).await.json();
    assert!(parameter(&read, "code").is_some(), "allowed before, as part of all: {read}");
    let beyond = client.ask(&mut browser, &verifier(), &ask("accounts:read")).await.json();
    assert_eq!(parameter(&beyond, "error").as_deref(), Some("invalid_scope"), "{beyond}");
}

#[tokio::test]
async fn four_fields_register_a_client_that_stays_signed_in() {
    let app = app().await;
    let redirect_uri = "https://agent.example/callback";
    let body = json!({"client_name": "Agent", "redirect_uris": [redirect_uri],
                      "token_endpoint_auth_method": "none", "scope": "openid invoices:read"});
    let answer = app.json("/connect/register", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let registered = answer.json();
    assert_eq!(registered["grant_types"], json!(["authorization_code", "refresh_token"]), "{registered}");
    let id = text(&registered, "client_id").to_owned();
    let client = Relying { id, secret: None, redirect_uri: redirect_uri.to_owned() };
    let (mut browser, verifier) = (person(&app).await, verifier());
    let asked = client.ask(&mut browser, &verifier, &[]).await.json();
    let code = parameter(&agree(&mut browser, asked).await, "code").unwrap();
    let tokens = client.redeem(&app, &code, &verifier).await.json();
    assert_eq!(client.refresh(&app, text(&tokens, "refresh_token"), &[]).await.status, 200);
    // Whoever says what it wants gets that.
    let mut less = body.clone();
    less["grant_types"] = json!(["authorization_code"]);
    assert_eq!(app.json("/connect/register", &less).await.json()["grant_types"], less["grant_types"]);
}

/// RFC 9728 §5.1.
#[tokio::test]
async fn every_401_of_our_own_apis_says_where_its_metadata_is() {
    let app = app().await;
    let named = "resource_metadata=\"https://id.example.test/.well-known/oauth-protected-resource\"";
    for path in ["/connect/userinfo", "/v1/account", "/v1/platform/apis", "/v1/organizations/here/members"] {
        let bare = app.get(path).await;
        assert_eq!(
            (bare.status.as_u16(), bare.header("www-authenticate")),
            (401, &*format!("Bearer {named}"))
        );
        for token in ["junk", "pt_junk", "eyJhbGciOiJFUzI1NiJ9.e30.AAAA"] {
            let refused = crate::organizations::driver::get(&app, path, token).await;
            let challenge = refused.header("www-authenticate");
            assert_eq!(refused.status, 401, "{path} {token}");
            assert!(
                challenge.starts_with("Bearer ") && challenge.ends_with(named),
                "{path} {token}: {challenge}"
            );
        }
    }
}
