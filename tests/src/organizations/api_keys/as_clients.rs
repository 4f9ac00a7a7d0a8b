//! Keys as clients: a short token for one API, in the name of one organization, for as long as the key counts.

use std::sync::Arc;

use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Request, header};
use porteiro_protocol::id::OrganizationId;
use porteiro_service::oauth::apis;
use porteiro_testkit::{Answer, TestApp, verify};
use serde_json::{Value, json};

use super::{Person, person, secret, set_role};
use crate::{
    oauth::{self, LEDGER, driver::Relying, encode, ledger},
    organizations::driver::{get, organization, organization_key, platform_key},
};

/// An installation whose ledger takes permissions, and the ledger's own client, which may introspect.
async fn installation() -> (Arc<TestApp>, Relying, OrganizationId) {
    let app = oauth::app().await;
    let server = Relying::web(&app).await;
    let mut api = ledger();
    api.organizational = true;
    api.introspected_by = vec![server.id.clone()];
    apis::register(&app.app.store, &api).await.unwrap();
    let here = organization(&app, "here").await;
    (app, server, here)
}

async fn basic(app: &TestApp, user: &str, password: &str, path: &str, form: &[(&str, &str)]) -> Answer {
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::AUTHORIZATION, format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
        .body(Body::from(encode(form)));
    app.send(request.unwrap()).await
}

/// The key asks for a token, as a client does.
async fn ask(app: &TestApp, key: &str, more: &[(&str, &str)]) -> Answer {
    let form = [&[("grant_type", "client_credentials")], more].concat();
    basic(app, &key[7..19], key, "/connect/token", &form).await
}

async fn token(app: &TestApp, key: &str) -> Value {
    let answer = ask(app, key, &[("scope", "invoices:read"), ("resource", LEDGER)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("cache-control"), "no-store");
    answer.json()
}

async fn claims(app: &TestApp, token: &Value) -> Value {
    let jwks = app.get("/.well-known/jwks.json").await.json();
    verify(token["access_token"].as_str().unwrap(), &jwks).unwrap()
}

async fn is_active(app: &TestApp, server: &Relying, token: &Value) -> bool {
    let text = token["access_token"].as_str().unwrap();
    let told = server.call(app, "/connect/introspect", &[("token", text)]).await.json();
    if told["active"] != json!(true) {
        assert_eq!(told, json!({"active": false}));
    }
    told["active"] == json!(true)
}

fn error(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["error"].as_str().unwrap_or_default().to_owned())
}

async fn owner(app: &Arc<TestApp>, here: OrganizationId) -> (Person, String) {
    let mut ana = person(app, "ana@example.test", here, "owner").await;
    let key = secret(&ana.key("here", &["invoices:*"]).await).to_owned();
    (ana, key)
}

#[tokio::test]
async fn a_personal_keys_token_speaks_as_the_member_and_an_organizations_as_itself() {
    let (app, server, here) = installation().await;
    let (ana, personal) = owner(&app, here).await;
    let made = token(&app, &personal).await;
    assert_eq!((&made["token_type"], &made["expires_in"]), (&json!("Bearer"), &json!(300)));
    assert!(made.get("refresh_token").is_none() && made.get("id_token").is_none());
    let said = claims(&app, &made).await;
    assert_eq!((&said["sub"], &said["org"]), (&json!(ana.membership), &json!(here)));
    assert_eq!((&said["role"], &said["client_id"]), (&json!("owner"), &json!(&personal[7..19])));
    assert_eq!((&said["aud"], &said["scope"]), (&json!(LEDGER), &json!("invoices:read")));
    assert_eq!(said["exp"].as_i64().unwrap() - said["iat"].as_i64().unwrap(), 300);
    let key = organization_key(&app, here, &["invoices:read"]).await;
    let said = claims(&app, &token(&app, &key).await).await;
    assert_eq!((&said["sub"], &said["client_id"]), (&json!(&key[7..19]), &json!(&key[7..19])));
    assert_eq!((&said["org"], &said["role"]), (&json!(here), &Value::Null));
    assert!(is_active(&app, &server, &made).await);
    let stranger = Relying::web(&app).await;
    assert!(!is_active(&app, &stranger, &made).await, "it is not theirs to know");
    assert_eq!(app.count("SELECT count(*) FROM trail WHERE kind = 'api_key.used_first'").await, 2);
}

#[tokio::test]
async fn the_password_is_the_secret_or_the_whole_key_and_nothing_else() {
    let (app, _, here) = installation().await;
    let key = organization_key(&app, here, &["invoices:read"]).await;
    let other = organization_key(&app, here, &["invoices:read"]).await;
    let form = [("grant_type", "client_credentials"), ("scope", "invoices:read")];
    let (id, half) = (&key[7..19], &key[20..63]);
    for password in [half, &key] {
        assert_eq!(basic(&app, id, password, "/connect/token", &form).await.status, 200);
    }
    let mut wrong = half.to_owned().into_bytes();
    wrong[3] = if wrong[3] == b'a' { b'b' } else { b'a' };
    let wrong = String::from_utf8(wrong).unwrap();
    for (what, user, password) in [
        ("a wrong secret", id, wrong.as_str()),
        ("another key under this id", id, other.as_str()),
        ("another's secret", id, &other[20..63]),
        ("this secret under another id", &other[7..19], half),
        ("a cut key", id, &key[..68]),
        ("an id nobody has", "aaaaaaaaaaaa", half),
    ] {
        let refused = basic(&app, user, password, "/connect/token", &form).await;
        assert_eq!(error(&refused), (401, "invalid_client".into()), "{what}");
        assert!(refused.header("www-authenticate").starts_with("Basic"), "{what}");
    }
    let twice = [form.as_slice(), &[("client_secret", "x")]].concat();
    assert_eq!(error(&basic(&app, id, half, "/connect/token", &twice).await).1, "invalid_request");
    let named = [form.as_slice(), &[("client_id", &other[7..19])]].concat();
    assert_eq!(error(&basic(&app, id, half, "/connect/token", &named).await).1, "invalid_request");
    for path in ["/connect/introspect", "/connect/revoke", "/connect/par"] {
        let refused = basic(&app, id, &key, path, &[("token", "x")]).await;
        assert_eq!(error(&refused), (401, "invalid_client".into()), "{path}");
    }
}

#[tokio::test]
async fn a_key_asks_only_for_what_it_holds_at_an_api_that_takes_permissions() {
    let (app, _, here) = installation().await;
    let mut plain = ledger();
    plain.identifier = "https://plain.example.test".into();
    apis::register(&app.app.store, &plain).await.unwrap();
    organization(&app, "there").await;
    let key = organization_key(&app, here, &["invoices:read", "members:read"]).await;
    let own = here.to_string();
    for (what, more, expected) in [
        ("held", vec![("scope", "invoices:read")], ""),
        ("its own organization by id", vec![("scope", "invoices:read"), ("organization", own.as_str())], ""),
        ("its own organization by slug", vec![("scope", "invoices:read"), ("organization", "here")], ""),
        ("another", vec![("scope", "invoices:read"), ("organization", "there")], "invalid_target"),
        ("not held", vec![("scope", "invoices:write")], "invalid_scope"),
        ("one of two held", vec![("scope", "invoices:read invoices:write")], "invalid_scope"),
        ("a person's", vec![("scope", "openid")], "invalid_scope"),
        ("with a person's", vec![("scope", "invoices:read openid")], "invalid_scope"),
        ("the account", vec![("scope", "account")], "invalid_scope"),
        ("our own permission", vec![("scope", "members:read")], "invalid_scope"),
        (
            "our own API",
            vec![("scope", "members:read"), ("resource", "https://id.example.test")],
            "invalid_target",
        ),
        (
            "no such API",
            vec![("scope", "invoices:read"), ("resource", "https://x.example")],
            "invalid_target",
        ),
        (
            "no permissions there",
            vec![("scope", "invoices:read"), ("resource", "https://plain.example.test")],
            "invalid_scope",
        ),
        ("nothing", vec![], "invalid_scope"),
        ("another grant", vec![("scope", "invoices:read"), ("code", "x")], ""),
    ] {
        let answer = ask(&app, &key, &more).await;
        assert_eq!(
            answer.json()["error"].as_str().unwrap_or_default(),
            expected,
            "{what}: {}",
            answer.text()
        );
    }
    for grant in ["authorization_code", "refresh_token", "password"] {
        let form = [("grant_type", grant), ("scope", "invoices:read")];
        let refused = basic(&app, &key[7..19], &key, "/connect/token", &form).await;
        assert_eq!(error(&refused), (400, "unauthorized_client".into()), "{grant}");
    }
    let platform = platform_key(&app, &["platform.accounts:*"]).await;
    let refused = ask(&app, &platform, &[("scope", "invoices:read")]).await;
    assert_eq!(error(&refused), (400, "unauthorized_client".into()), "it speaks for no organization");
}

#[tokio::test]
async fn a_token_of_a_key_opens_nothing_of_ours() {
    let (app, _, here) = installation().await;
    let (_ana, personal) = owner(&app, here).await;
    let made = token(&app, &personal).await;
    let text = made["access_token"].as_str().unwrap();
    let own = format!("/v1/organizations/{here}/api-keys");
    for path in ["/v1/account", "/connect/userinfo", "/v1/platform/api-keys", own.as_str()] {
        let status = get(&app, path, text).await.status.as_u16();
        assert!(status == 401 || status == 403, "{path}: {status}");
    }
}

#[tokio::test]
async fn a_token_is_never_good_for_longer_than_its_key() {
    let (app, _, here) = installation().await;
    let mut slow = ledger();
    (slow.identifier, slow.organizational, slow.token_seconds) =
        ("https://slow.example.test".into(), true, 600);
    apis::register(&app.app.store, &slow).await.unwrap();
    let key = organization_key(&app, here, &["invoices:read"]).await;
    let form = [("scope", "invoices:read"), ("resource", slow.identifier.as_str())];
    assert_eq!(ask(&app, &key, &form).await.json()["expires_in"], 300, "five minutes at most");
    app.catch_up().await;
    app.sql("UPDATE api_key SET expires_at = now() + interval '100 seconds'").await;
    let seconds = ask(&app, &key, &form).await.json()["expires_in"].as_i64().unwrap();
    // The node's clock stands still meanwhile; the database's does not.
    assert!((1..=110).contains(&seconds), "{seconds}");
}

/// Introspection says so at once, whatever it is that takes the key's worth away.
#[tokio::test]
async fn a_token_dies_with_its_key_its_owner_and_its_organization() {
    let (app, server, here) = installation().await;
    let (mut ana, personal) = owner(&app, here).await;
    let key = organization_key(&app, here, &["invoices:read"]).await;
    let (theirs, its) = (token(&app, &personal).await, token(&app, &key).await);
    for (what, change, undo, both) in [
        (
            "suspended",
            "UPDATE organization SET status = 'suspended'",
            "UPDATE organization SET status = 'enabled'",
            true,
        ),
        (
            "expired",
            "UPDATE api_key SET expires_at = now()",
            "UPDATE api_key SET expires_at = now() + interval '1 day'",
            true,
        ),
        (
            "member disabled",
            "UPDATE membership SET state = 'disabled'",
            "UPDATE membership SET state = 'active'",
            false,
        ),
        (
            "account disabled",
            "UPDATE account SET state = 'disabled'",
            "UPDATE account SET state = 'active'",
            false,
        ),
    ] {
        app.sql(change).await;
        assert!(!is_active(&app, &server, &theirs).await, "{what}");
        assert_eq!(is_active(&app, &server, &its).await, !both, "{what}");
        let asked = ask(&app, &personal, &[("scope", "invoices:read")]).await;
        assert!(asked.status.is_client_error(), "{what}: {}", asked.text());
        app.sql(undo).await;
        assert!(
            is_active(&app, &server, &theirs).await && is_active(&app, &server, &its).await,
            "{what} no more"
        );
    }
    set_role(&app, ana.membership, "member").await;
    assert!(!is_active(&app, &server, &theirs).await, "no longer held");
    assert_eq!(error(&ask(&app, &personal, &[("scope", "invoices:read")]).await).1, "invalid_scope");
    set_role(&app, ana.membership, "owner").await;
    let path = format!("/v1/account/api-keys/{}", &personal[7..19]);
    assert_eq!(ana.browser.delete(&path).await.status, 204);
    assert!(!is_active(&app, &server, &theirs).await, "revoked");
    assert_eq!(error(&ask(&app, &personal, &[("scope", "invoices:read")]).await).1, "invalid_client");
    assert!(is_active(&app, &server, &its).await, "nobody else's");
}
