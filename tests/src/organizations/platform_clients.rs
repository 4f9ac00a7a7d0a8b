//! Administrators change clients: by the rules of registration, from the version they saw, and with what was given ending
//! where it rests on something taken away (docs/decisions/0090).

use std::time::{Duration, Instant};

use http::Method;
use porteiro_service::oauth::{apis, clients::Trust};
use porteiro_testkit::{Answer, Browser, Flow, TestApp, nothing};
use serde_json::{Value, json};

use super::{
    driver::{call, get, organization, organization_key, platform_key},
    staff::{patch, post, refusal},
};
use crate::oauth::{
    LEDGER, app,
    driver::{CALLBACK, Relying, parameter, person, userinfo, verifier},
    encode, ledger, service,
};

const CLIENTS: &str = "/v1/platform/clients";
const OTHER: &str = "https://app.example.test/other";

fn path(id: &str) -> String {
    format!("{CLIENTS}/{id}")
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

async fn edit(app: &TestApp, key: &str, id: &str, metadata: Value) -> Answer {
    patch(app, &path(id), key, &json!({"metadata": metadata})).await
}

#[tokio::test]
async fn an_edit_changes_the_members_it_names_and_is_in_the_log_by_name_only() {
    let app = app().await;
    let key = platform_key(&app, &["platform.clients:*"]).await;
    let client = Relying::with(&app, Trust::Verified, json!({"contacts": ["ops@app.example.test"]})).await;
    let answer = edit(&app, &key, &client.id, json!({"client_name": "Ledger", "contacts": null})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let shown = answer.json();
    assert_eq!(shown["metadata"]["client_name"], "Ledger");
    assert!(shown["metadata"].get("contacts").is_none() && shown.get("client_secret").is_none());
    assert_eq!(shown["metadata"]["redirect_uris"], json!([CALLBACK]));
    assert_eq!((&shown["trust"], &shown["has_secret"]), (&json!("verified"), &json!(true)));
    assert_eq!(get(&app, &path(&client.id), &key).await.json(), shown);
    let rows = app.database.client().await;
    let sql = "SELECT payload FROM security_log WHERE kind = 'client.administered'";
    let logged: Value = rows.query_one(sql, &[]).await.unwrap().get(0);
    assert_eq!(logged["members"], json!(["client_name", "contacts"]));
    assert!(!logged.to_string().contains("app.example.test"), "{logged}");
}

#[tokio::test]
async fn an_edit_keeps_to_the_rules_of_registration_and_changes_nothing_otherwise() {
    let app = app().await;
    let key = platform_key(&app, &["platform.clients:*"]).await;
    let client = Relying::web(&app).await;
    let before = get(&app, &path(&client.id), &key).await;
    let jwks = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA", "d": "AA"}]});
    for metadata in [
        json!({"redirect_uri": CALLBACK}),
        json!({"redirect_urls": null}),
        json!({"client_id": "another"}),
        json!({"client_secret": "pt_cs_mine"}),
        json!({"trust": "first_party"}),
        json!({"redirect_uris": []}),
        json!({"redirect_uris": ["http://app.example.test/callback"]}),
        json!({"redirect_uris": ["javascript:alert(1)"]}),
        json!({"grant_types": ["password"]}),
        json!({"grant_types": ["client_credentials"], "token_endpoint_auth_method": "none"}),
        json!({"token_endpoint_auth_method": "private_key_jwt"}),
        json!({"token_endpoint_auth_method": "tls_client_auth", "tls_client_auth_san_dns": "a.example"}),
        json!({"jwks": jwks}),
        json!({"jwks_uri": "http://app.example.test/jwks"}),
        json!({"scope": ""}),
        json!({"kind": "robot"}),
        json!({"client_name": "a\u{202e}b"}),
    ] {
        let answer = edit(&app, &key, &client.id, metadata.clone()).await;
        assert_eq!(refusal(&answer), (422, "field_invalid".into()), "{metadata}");
    }
    for metadata in [json!(null), json!("x"), json!([])] {
        let answer = edit(&app, &key, &client.id, metadata.clone()).await;
        assert_eq!(refusal(&answer), (400, "malformed".into()), "{metadata}");
    }
    assert_eq!(get(&app, &path(&client.id), &key).await.text(), before.text());
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind LIKE 'client.%'").await, 0);
}

#[tokio::test]
async fn an_edit_from_a_version_that_is_gone_is_refused() {
    let app = app().await;
    let key = platform_key(&app, &["platform.clients:*"]).await;
    let client = Relying::web(&app).await;
    let seen = get(&app, &path(&client.id), &key).await;
    let body = |name: &str| json!({"metadata": {"client_name": name}});
    let from = async |tag: &str, name: &str| {
        call(&app, Method::PATCH, &path(&client.id), &key, Some(&body(name)), &[("if-match", tag)]).await
    };
    assert_eq!(from(seen.header("etag"), "One").await.status, 200);
    assert_eq!(refusal(&from(seen.header("etag"), "Two").await), (412, "version_mismatch".into()));
    let unseen = call(&app, Method::PATCH, &path(&client.id), &key, Some(&body("Two")), &[]).await;
    assert_eq!(refusal(&unseen), (428, "version_required".into()));
    // A new secret is another version, too.
    let seen = get(&app, &path(&client.id), &key).await;
    assert_eq!(seen.json()["metadata"]["client_name"], "One");
    assert_eq!(
        post(&app, &format!("{}/rotate-secret", path(&client.id)), &key, &json!({})).await.status,
        201
    );
    assert_eq!(from(seen.header("etag"), "Two").await.status, 412);
}

/// A client with two redirect URIs and keys, and what it holds for a person.
async fn holds(app: &std::sync::Arc<TestApp>, browser: &mut Browser) -> (Relying, Value) {
    // Tokens are told by the second in which they were made.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    app.catch_up().await;
    let jwks = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "1"}]});
    let more = json!({"redirect_uris": [CALLBACK, OTHER], "jwks": jwks});
    let client = Relying::with(app, Trust::Verified, more).await;
    let tokens = client.tokens(browser, app, &[]).await;
    (client, tokens)
}

#[tokio::test]
async fn what_an_edit_takes_away_ends_what_rests_on_it_and_the_rest_goes_on() {
    let app = app().await;
    let mut browser = person(&app).await;
    let key = platform_key(&app, &["platform.clients:*"]).await;
    let one = json!({"kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "1"});
    let two = json!({"kty": "OKP", "crv": "Ed25519", "x": "AB", "kid": "2"});
    for (metadata, goes_on) in [
        (json!({"client_name": "Renamed", "client_uri": "https://app.example.test"}), true),
        (json!({"redirect_uris": [OTHER, CALLBACK, "https://app.example.test/third"]}), true),
        (json!({"grant_types": ["authorization_code", "refresh_token", "client_credentials"]}), true),
        (json!({"jwks": {"keys": [one, two]}}), true),
        (json!({"jwks": {"keys": [two]}}), false),
        (json!({"redirect_uris": [OTHER]}), false),
        (json!({"token_endpoint_auth_method": "client_secret_basic"}), false),
        (json!({"dpop_bound_access_tokens": true}), false),
        (json!({"kind": "agent"}), false),
    ] {
        let (client, tokens) = holds(&app, &mut browser).await;
        let back = get(&app, &path(&client.id), &key).await.json()["metadata"].clone();
        let answer = edit(&app, &key, &client.id, metadata.clone()).await;
        assert_eq!(answer.status, 200, "{metadata}: {}", answer.text());
        let access = text(&tokens, "access_token");
        assert_eq!(userinfo(&app, access).await.status == 200, goes_on, "{metadata}");
        // Also when it is undone.
        let undo: serde_json::Map<String, Value> = metadata
            .as_object()
            .unwrap()
            .keys()
            .map(|name| (name.clone(), back.get(name).cloned().unwrap_or(Value::Null)))
            .collect();
        assert_eq!(edit(&app, &key, &client.id, json!(undo)).await.status, 200, "{metadata}");
        // What was added is taken away by this: it is no proof that the grant went on.
        if !goes_on {
            assert_eq!(userinfo(&app, access).await.status, 401, "{metadata}, undone");
            let refreshed = client.refresh(&app, text(&tokens, "refresh_token"), &[]).await;
            assert_eq!(refreshed.json()["error"], "invalid_grant", "{metadata}: {}", refreshed.text());
        }
    }
}

/// The refresh tokens of a confidential client must not become usable by whoever finds them.
#[tokio::test]
async fn a_client_that_is_made_public_loses_its_secret_and_what_it_held() {
    let app = app().await;
    let mut browser = person(&app).await;
    let key = platform_key(&app, &["platform.clients:*"]).await;
    let (client, tokens) = holds(&app, &mut browser).await;
    let answer = edit(&app, &key, &client.id, json!({"token_endpoint_auth_method": "none"})).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["has_secret"]), (200, &json!(false)));
    let bare = Relying { secret: None, ..client.clone() };
    let refresh = text(&tokens, "refresh_token");
    assert_eq!(bare.refresh(&app, refresh, &[]).await.json()["error"], "invalid_grant");
    assert_eq!(userinfo(&app, text(&tokens, "access_token")).await.status, 401);
    // It has no secret to replace; made confidential again, it has none until one is made.
    let rotate = format!("{}/rotate-secret", path(&client.id));
    assert_eq!(refusal(&post(&app, &rotate, &key, &json!({})).await), (409, "conflict".into()));
    let back =
        edit(&app, &key, &client.id, json!({"token_endpoint_auth_method": "client_secret_post"})).await;
    assert_eq!((back.status.as_u16(), &back.json()["has_secret"]), (200, &json!(false)));
    assert!(back.json().get("client_secret").is_none());
    for stale in [&client, &bare] {
        assert_eq!(stale.refresh(&app, refresh, &[]).await.json()["error"], "invalid_client");
    }
    let secret = text(&post(&app, &rotate, &key, &json!({})).await.json(), "client_secret").to_owned();
    let again = Relying { secret: Some(secret), ..client };
    assert_eq!(again.refresh(&app, refresh, &[]).await.json()["error"], "invalid_grant");
}

/// A person who was asked before decides after: nothing is sent to an address that was removed meanwhile.
#[tokio::test]
async fn a_request_that_waits_for_a_person_is_held_to_what_the_client_is_now() {
    let app = app().await;
    let mut browser = person(&app).await;
    let key = platform_key(&app, &["platform.clients:*"]).await;
    let client = Relying::with(&app, Trust::Verified, json!({"redirect_uris": [CALLBACK, OTHER]})).await;
    let asked = client.ask(&mut browser, &verifier(), &[]).await.json();
    assert_eq!(asked["stage"], "consent", "{asked}");
    assert_eq!(edit(&app, &key, &client.id, json!({"redirect_uris": [OTHER]})).await.status, 200);
    let mut flow = Flow::new(asked);
    let answer = flow.attempt(&mut browser, "consent/allow", nothing()).await;
    assert!(parameter(&answer.json(), "code").is_none(), "{}", answer.text());
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 0);
}

#[tokio::test]
async fn a_narrower_scope_reaches_tokens_and_grants_and_waits_to_be_widened() {
    let app = app().await;
    let mut browser = person(&app).await;
    let key = platform_key(&app, &["platform.clients:*"]).await;
    let scope = "openid invoices:read invoices:write";
    let client = Relying::with(&app, Trust::Verified, json!({"scope": scope})).await;
    let asked = [("scope", scope), ("resource", LEDGER)];
    let tokens = client.tokens(&mut browser, &app, &asked).await;
    let refresh = text(&tokens, "refresh_token");
    assert_eq!(edit(&app, &key, &client.id, json!({"scope": "openid invoices:read"})).await.status, 200);
    let refused = client.refresh(&app, refresh, &[]).await;
    assert_eq!(refused.json()["error"], "invalid_scope", "{}", refused.text());
    assert_eq!(edit(&app, &key, &client.id, json!({"scope": scope})).await.status, 200);
    assert_eq!(client.refresh(&app, refresh, &[]).await.status, 200, "as with roles (0074)");
}

async fn ask(node: &TestApp, id: &str, secret: &str) -> u16 {
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", id),
        ("client_secret", secret),
        ("scope", "invoices:read"),
    ];
    node.form("/connect/token", encode(&form)).await.status.as_u16()
}

async fn within_a_second(node: &TestApp, id: &str, secret: &str, status: u16) {
    let started = Instant::now();
    loop {
        let waited = started.elapsed();
        let now = ask(node, id, secret).await;
        if now == status {
            return;
        }
        assert!(waited < Duration::from_secs(1), "still {now}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_new_secret_replaces_the_old_one_on_every_node_within_a_second() {
    let nodes = TestApp::builder().start_nodes(2).await;
    let (here, there) = (&nodes[0], &nodes[1]);
    apis::register(&here.app.store, &ledger()).await.unwrap();
    let client = service(here, "client_secret_post", json!({})).await;
    let (id, old) = (text(&client, "client_id"), text(&client, "client_secret"));
    for node in &nodes {
        assert_eq!(ask(node, id, old).await, 200, "both remember it");
    }
    let key = platform_key(here, &["platform.clients:*"]).await;
    let rotate = format!("{}/rotate-secret", path(id));
    let once = [("idempotency-key", "rotate-1")];
    let answer = call(here, Method::POST, &rotate, &key, Some(&json!({})), &once).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let shown = answer.json();
    let new = text(&shown, "client_secret");
    assert_ne!(new, old);
    assert_eq!((ask(here, id, old).await, ask(here, id, new).await), (401, 200));
    within_a_second(there, id, old, 401).await;
    assert_eq!(ask(there, id, new).await, 200);
    // Repeated, it neither makes another secret nor shows this one again.
    let again = call(there, Method::POST, &rotate, &key, Some(&json!({})), &once).await;
    assert_eq!(refusal(&again), (409, "secret_already_shown".into()));
    assert_eq!(ask(here, id, new).await, 200);
    let seen = get(here, &path(id), &key).await;
    assert!(!seen.text().contains("client_secret\":\"pt_cs"), "{}", seen.text());
    let rows = here.database.client().await;
    let sql = "SELECT count(*), coalesce(string_agg(payload::text, ' '), '') FROM security_log
               WHERE kind = 'client.secret_rotated'";
    let row = rows.query_one(sql, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 1);
    assert!(!row.get::<_, &str>(1).contains("pt_cs"));
    assert_eq!(post(here, &format!("{CLIENTS}/nobody/rotate-secret"), &key, &json!({})).await.status, 404);
}

#[tokio::test]
async fn a_new_secret_leaves_grants_to_who_has_it() {
    let app = app().await;
    let mut browser = person(&app).await;
    let key = platform_key(&app, &["platform.clients:*"]).await;
    let (client, tokens) = holds(&app, &mut browser).await;
    let answer = post(&app, &format!("{}/rotate-secret", path(&client.id)), &key, &json!({})).await;
    let secret = text(&answer.json(), "client_secret").to_owned();
    let refresh = text(&tokens, "refresh_token");
    assert_eq!(client.refresh(&app, refresh, &[]).await.json()["error"], "invalid_client");
    let new = Relying { secret: Some(secret), ..client };
    assert_eq!(new.refresh(&app, refresh, &[]).await.status, 200);
}

#[tokio::test]
async fn an_organization_changes_no_client_not_even_its_own() {
    let app = app().await;
    let (here, there) = (organization(&app, "here").await, organization(&app, "there").await);
    let platform = platform_key(&app, &["platform.clients:*"]).await;
    let reader = platform_key(&app, &["platform.clients:read"]).await;
    let ours = organization_key(&app, here, &["organization:*", "client-policies:*", "members:*"]).await;
    let mut ids = vec![Relying::web(&app).await.id];
    for owner in [here, there] {
        let metadata = json!({"client_name": "Robot", "grant_types": ["client_credentials"]});
        let body = json!({"metadata": metadata, "trust": "verified", "organization": owner});
        ids.push(text(&post(&app, CLIENTS, &platform, &body).await.json(), "client_id").to_owned());
    }
    for id in &ids {
        let before = get(&app, &path(id), &platform).await;
        let tag = [("if-match", before.header("etag"))];
        for key in [&ours, &reader] {
            let change = json!({"trust": "first_party", "metadata": {"client_name": "Mine"}});
            let edited = call(&app, Method::PATCH, &path(id), key, Some(&change), &tag).await;
            assert_eq!(edited.status, 403, "{}", edited.text());
            let rotated = post(&app, &format!("{}/rotate-secret", path(id)), key, &json!({})).await;
            assert_eq!(rotated.status, 403, "{}", rotated.text());
        }
        assert_eq!(get(&app, &path(id), &platform).await.text(), before.text());
    }
}
