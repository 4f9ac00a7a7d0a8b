//! `/v1/platform`: accounts, clients, APIs and the security log, for whoever runs the installation.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Method;
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use super::driver::{account_of, call, get, join, organization, platform_key};
use crate::oauth::LEDGER;

const ACCOUNTS: &str = "/v1/platform/accounts";
const CLIENTS: &str = "/v1/platform/clients";
const APIS: &str = "/v1/platform/apis";
const LOG: &str = "/v1/platform/security-log";

async fn post(app: &TestApp, path: &str, key: &str, body: &Value) -> Answer {
    // Entries of one moment have no order.
    app.clock.advance(porteiro_protocol::time::Duration::MILLISECOND);
    call(app, Method::POST, path, key, Some(body), &[]).await
}

fn code(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["code"].as_str().unwrap_or_default().to_owned())
}

fn ids(answer: &Answer, member: &str) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let items = answer.json()["items"].clone();
    items.as_array().unwrap().iter().map(|item| item[member].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn accounts_are_found_by_state_age_and_address_and_never_show_a_credential() {
    let app = crate::people::app().await;
    let mut ana = crate::people::register_with_password(&app, "Ana@Example.test").await;
    let mut bia = crate::people::register_with_password(&app, "bia@example.test").await;
    let (ana_id, bia_id) = (account_of(&mut ana).await.to_string(), account_of(&mut bia).await.to_string());
    let here = organization(&app, "here").await;
    let member = join(&app, here, account_of(&mut ana).await, "admin").await;
    let key = platform_key(&app, &["platform.accounts:*"]).await;

    let first = get(&app, &format!("{ACCOUNTS}?limit=1"), &key).await;
    assert_eq!(ids(&first, "id"), [ana_id.as_str()]);
    let cursor = first.json()["next_cursor"].as_str().unwrap().to_owned();
    assert_eq!(
        ids(&get(&app, &format!("{ACCOUNTS}?limit=1&cursor={cursor}"), &key).await, "id"),
        [bia_id.as_str()]
    );
    for (query, expected) in [
        ("email=ANA@example.test", vec![ana_id.clone()]),
        ("email=ana", vec![]),
        ("email=nobody@example.test", vec![]),
        ("state=active", vec![ana_id.clone(), bia_id.clone()]),
        ("state=disabled", vec![]),
        ("created_after=2100-01-01T00:00:00Z", vec![]),
        ("created_after=2000-01-01T00:00:00Z&state=active&email=bia@example.test", vec![bia_id.clone()]),
    ] {
        assert_eq!(ids(&get(&app, &format!("{ACCOUNTS}?{query}"), &key).await, "id"), expected, "{query}");
    }
    let whole = get(&app, &format!("{ACCOUNTS}/{ana_id}"), &key).await;
    let told = whole.json();
    assert_eq!((&told["state"], &told["sessions"]), (&json!("active"), &json!(1)));
    assert_eq!(
        told["organizations"],
        json!([{"organization": here, "member": member, "state": "active", "role": "admin"}])
    );
    let kinds: Vec<&str> =
        told["credentials"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"password") && kinds.contains(&"email"), "{kinds:?}");
    for secret in ["argon2", "xample.test", "body", "label", "hash"] {
        assert!(!whole.text().contains(secret), "{secret}: {}", whole.text());
    }
    assert_eq!(get(&app, &format!("{ACCOUNTS}/nobody"), &key).await.status, 404);
}

#[tokio::test]
async fn an_account_is_disabled_and_enabled_and_its_sessions_end() {
    let app = crate::people::app().await;
    let mut ana = crate::people::register_with_password(&app, "ana@example.test").await;
    let id = account_of(&mut ana).await;
    let key = platform_key(&app, &["platform.accounts:*", "platform.log:read"]).await;
    let path = format!("{ACCOUNTS}/{id}");
    let ended = post(&app, &format!("{path}/end-sessions"), &key, &json!({})).await;
    assert_eq!((ended.status.as_u16(), ended.json()), (200, json!({"ended": 1})));
    assert_eq!(ana.get("/v1/account").await.status, 401);

    assert_eq!(code(&post(&app, &format!("{path}/disable"), &key, &json!({"reason": " "})).await).0, 422);
    assert_eq!(code(&post(&app, &format!("{path}/disable"), &key, &json!({})).await).0, 400);
    for _ in 0..2 {
        let answer = post(&app, &format!("{path}/disable"), &key, &json!({"reason": "ticket 9"})).await;
        assert_eq!(answer.status, 204, "{}", answer.text());
    }
    assert_eq!(ids(&get(&app, &format!("{ACCOUNTS}?state=disabled"), &key).await, "id"), [id.to_string()]);
    for _ in 0..2 {
        assert_eq!(post(&app, &format!("{path}/enable"), &key, &json!({})).await.status, 204);
    }
    assert_eq!(get(&app, &path, &key).await.json()["state"], "active");
    assert_eq!(ana.get("/v1/account").await.status, 401, "what ended stays ended");
    // Each change once in the log, with who made it.
    let log = get(&app, &format!("{LOG}?subject={id}&kind=account.administered"), &key).await;
    let entries = log.json()["items"].clone();
    let actions: Vec<&str> =
        entries.as_array().unwrap().iter().map(|one| one["payload"]["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["enable", "disable", "end_sessions"]);
    assert!(entries[0]["payload"]["by"].as_str().unwrap().starts_with("api_key:"));
    let nobody = "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f";
    assert_eq!(post(&app, &format!("{ACCOUNTS}/{nobody}/enable"), &key, &json!({})).await.status, 404);
}

#[tokio::test]
async fn clients_are_made_checked_and_disabled() {
    let app = crate::oauth::app().await;
    let here = organization(&app, "here").await;
    let key = platform_key(&app, &["platform.clients:*", "platform.log:read"]).await;
    let metadata = json!({"client_name": "Robot", "grant_types": ["client_credentials"],
        "token_endpoint_auth_method": "client_secret_post"});
    let body = json!({"metadata": metadata, "trust": "verified", "organization": here});
    let made = post(&app, CLIENTS, &key, &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let told = made.json();
    let (id, secret) = (told["client_id"].as_str().unwrap(), told["client_secret"].as_str().unwrap());
    assert_eq!((&told["organization"], &told["organization_mode"]), (&json!(here), &json!("optional")));
    assert_eq!(made.header("location"), format!("{CLIENTS}/{id}"));
    let path = format!("{CLIENTS}/{id}");
    let shown = get(&app, &path, &key).await;
    assert!(shown.json()["client_secret"].is_null() && !shown.text().contains(secret), "shown once");
    assert_eq!(shown.json()["metadata"]["client_name"], "Robot");

    for (wrong, status) in [
        (json!({"metadata": {"redirect_uris": ["not a uri"]}, "trust": "verified"}), 422),
        (
            json!({"metadata": metadata, "trust": "verified", "organization": "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f"}),
            422,
        ),
        (
            json!({"metadata": metadata, "trust": "verified", "organization": here, "organization_mode": "none"}),
            422,
        ),
        (json!({"metadata": metadata, "trust": "verified", "profile": "fapi2"}), 422),
        (json!({"metadata": metadata, "trust": "holy"}), 400),
        (json!({"metadata": metadata}), 400),
    ] {
        assert_eq!(post(&app, CLIENTS, &key, &wrong).await.status, status, "{wrong}");
    }

    let tag = shown.header("etag").to_owned();
    let change = json!({"trust": "first_party"});
    let patch = async |tag: &str, change: &Value| {
        call(&app, Method::PATCH, &path, &key, Some(change), &[("if-match", tag)]).await
    };
    assert_eq!(call(&app, Method::PATCH, &path, &key, Some(&change), &[]).await.status, 428);
    let changed = patch(&tag, &change).await;
    assert_eq!((changed.status.as_u16(), &changed.json()["trust"]), (200, &json!("first_party")));
    assert_eq!(patch(&tag, &change).await.status, 412, "somebody was faster");
    let tag = changed.header("etag").to_owned();
    assert_eq!(patch(&tag, &json!({"organization_mode": "none"})).await.status, 422);
    assert_eq!(patch(&tag, &json!({"profile": "fapi2"})).await.status, 400);

    let token = async || {
        let form = format!(
            "grant_type=client_credentials&client_id={id}&client_secret={secret}&scope=invoices:read"
        );
        app.form("/connect/token", form).await.status.as_u16()
    };
    let enabled = token().await;
    for (verb, expected) in [("disable", 401), ("disable", 401), ("enable", enabled), ("enable", enabled)] {
        assert_eq!(post(&app, &format!("{path}/{verb}"), &key, &json!({})).await.status, 204);
        assert_eq!(token().await, expected, "{verb}");
    }
    assert_ne!(enabled, 401);
    assert_eq!(ids(&get(&app, &format!("{CLIENTS}?trust=first_party"), &key).await, "client_id"), [id]);
    assert_eq!(ids(&get(&app, &format!("{CLIENTS}?trust=unverified"), &key).await, "client_id"), [""; 0]);
    let kinds = app
        .count("SELECT count(*) FROM security_log WHERE kind IN ('client.created', 'client.administered')")
        .await;
    assert_eq!(kinds, 4, "made, trusted, disabled, enabled");
    assert_eq!(post(&app, &format!("{CLIENTS}/nobody/disable"), &key, &json!({})).await.status, 404);
}

#[tokio::test]
async fn apis_are_registered_replaced_and_removed_by_a_name_that_fits_an_address() {
    let app = crate::oauth::app().await;
    let key = platform_key(&app, &["platform.apis:*"]).await;
    let listed = get(&app, APIS, &key).await.json();
    let name = URL_SAFE_NO_PAD.encode(LEDGER);
    assert_eq!(
        (&listed["items"][0]["id"], &listed["items"][0]["identifier"]),
        (&json!(name), &json!(LEDGER))
    );
    let api = |scope: &str| {
        json!({"identifier": "https://crm.example.test/a?b=c", "name": "CRM", "organizational": true,
        "scopes": [{"name": scope, "description": {"en": "x", "pt": "x"}}]})
    };
    let made = post(&app, APIS, &key, &api("contacts:read")).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let path = made.header("location").to_owned();
    assert_eq!(path, format!("{APIS}/{}", URL_SAFE_NO_PAD.encode("https://crm.example.test/a?b=c")));
    assert_eq!(code(&post(&app, APIS, &key, &api("contacts:read")).await), (409, "conflict".into()));
    assert_eq!(
        post(&app, APIS, &key, &json!({"identifier": "x", "name": "x", "scopes": []})).await.status,
        422
    );
    let shown = get(&app, &path, &key).await;
    assert_eq!(shown.json()["organizational"], true);
    let tag = shown.header("etag").to_owned();
    let put = async |tag: &str, body: &Value| {
        call(&app, Method::PUT, &path, &key, Some(body), &[("if-match", tag)]).await
    };
    let replaced = put(&tag, &api("contacts:write")).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    assert_eq!(replaced.json()["scopes"][0]["name"], "contacts:write");
    assert_eq!(put(&tag, &api("contacts:read")).await.status, 412);
    let tag = replaced.header("etag").to_owned();
    let mut other = api("contacts:read");
    other["identifier"] = json!(LEDGER);
    assert_eq!(put(&tag, &other).await.status, 422, "another API");
    assert_eq!(put(&tag, &api("nothing")).await.status, 422, "not a permission");
    let remove = async |tag: &str| call(&app, Method::DELETE, &path, &key, None, &[("if-match", tag)]).await;
    assert_eq!(remove("\"1\"").await.status, 412);
    assert_eq!(remove(&tag).await.status, 204);
    assert_eq!(get(&app, &path, &key).await.status, 404);
    assert_eq!(remove(&tag).await.status, 404);
    assert_eq!(get(&app, &format!("{APIS}/%2F"), &key).await.status, 404);
    assert_eq!(
        app.count("SELECT count(*) FROM security_log WHERE kind IN ('api.changed', 'api.removed')").await,
        3
    );
}

#[tokio::test]
async fn the_security_log_is_read_newest_first_within_bounds() {
    let app = crate::people::app().await;
    let mut ana = crate::people::register_with_password(&app, "ana@example.test").await;
    let mut bia = crate::people::register_with_password(&app, "bia@example.test").await;
    let (ana, bia) = (account_of(&mut ana).await, account_of(&mut bia).await);
    let key = platform_key(&app, &["platform.log:read"]).await;
    let mut all = Vec::new();
    let mut next = format!("{LOG}?limit=2");
    loop {
        let page = get(&app, &next, &key).await;
        all.extend(ids(&page, "id"));
        let Some(cursor) = page.json()["next_cursor"].as_str().map(str::to_owned) else { break };
        next = format!("{LOG}?limit=2&cursor={cursor}");
    }
    let count = usize::try_from(app.count("SELECT count(*) FROM security_log").await).unwrap();
    assert_eq!(all.len(), count);
    assert!(all.windows(2).all(|two| two[0] > two[1]), "newest first");
    let of_ana = get(&app, &format!("{LOG}?subject={ana}"), &key).await.json();
    assert!(of_ana["items"].as_array().unwrap().iter().all(|one| one["subject"] == ana.to_string()));
    assert_eq!(
        ids(&get(&app, &format!("{LOG}?subject={bia}&kind=account.created"), &key).await, "id").len(),
        1
    );
    let (from, to) = ("2020-01-01T00:00:00Z", "2020-01-31T00:00:00Z");
    assert_eq!(
        ids(&get(&app, &format!("{LOG}?kind=account.created&from={from}&to={to}"), &key).await, "id").len(),
        0
    );
    assert_eq!(ids(&get(&app, &format!("{LOG}?to={to}"), &key).await, "id").len(), 0);
    for unbounded in ["kind=account.created", "kind=account.created&from=2020-01-01T00:00:00Z"] {
        assert_eq!(code(&get(&app, &format!("{LOG}?{unbounded}"), &key).await).0, 422, "{unbounded}");
    }
    for wrong in ["kind=nothing", "subject=nobody", "from=now"] {
        assert_eq!(get(&app, &format!("{LOG}?{wrong}"), &key).await.status, 400, "{wrong}");
    }
}
