//! API keys: who makes them, what they are worth, and when they are worth nothing.

mod as_clients;
mod matrix;
mod platform;
mod revoking;

use std::sync::{Arc, atomic::Ordering};

use http::Method;
use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use super::driver::{call, get, join, organization, organization_key};
use crate::people;

/// Somebody with a password, who has just proved it, in an organization.
pub struct Person {
    pub browser: Browser,
    pub account: AccountId,
    pub membership: MembershipId,
}

pub async fn person(app: &Arc<TestApp>, address: &str, place: OrganizationId, role: &str) -> Person {
    let mut browser = people::register_with_password(app, address).await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "password/check", json!({"password": people::PASSWORD})).await;
    assert_eq!(flow.stage(), "complete");
    app.forget_limits().await;
    let account: AccountId = browser.get("/v1/account").await.json()["id"].as_str().unwrap().parse().unwrap();
    let membership = join(app, place, account, role).await;
    Person { browser, account, membership }
}

impl Person {
    /// Asks for a key in the organization of that name.
    pub async fn ask(&mut self, place: &str, permissions: &[&str], more: Value) -> Answer {
        let mut body = json!({"name": "Laptop", "organization": place, "permissions": permissions});
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        self.browser.post("/v1/account/api-keys", &body).await
    }

    pub async fn key(&mut self, place: &str, permissions: &[&str]) -> Value {
        let answer = self.ask(place, permissions, json!({})).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()
    }
}

pub fn keys_of(place: OrganizationId) -> String {
    format!("/v1/organizations/{place}/api-keys")
}

fn secret(made: &Value) -> &str {
    made["secret"].as_str().expect("a secret, once")
}

fn code(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["code"].as_str().unwrap_or_default().to_owned())
}

/// Role changes of these tests, made where they end.
async fn set_role(app: &TestApp, membership: MembershipId, role: &str) {
    app.sql(&format!(
        "UPDATE membership_role SET role_key = '{role}' WHERE membership_id = '{membership}';
         UPDATE membership SET primary_role = '{role}' WHERE membership_id = '{membership}'"
    ))
    .await;
}

#[tokio::test]
async fn a_personal_key_is_shown_once_and_only_its_hash_is_kept() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = person(&app, "ana@example.test", here, "admin").await;
    let answer = ana.ask("here", &["api-keys:read", "api-keys:read"], json!({})).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.header("cache-control"), "no-store");
    let made = answer.json();
    assert_eq!((&made["kind"], &made["permissions"]), (&json!("personal"), &json!(["api-keys:read"])));
    assert_eq!(made["membership"], json!(ana.membership));
    assert!(!answer.text().contains(&ana.account.to_string()), "here they are their membership");
    let shown = secret(&made).to_owned();
    let stored: String = {
        let client = app.database.client().await;
        client.query_one("SELECT to_jsonb(k)::text FROM api_key k", &[]).await.unwrap().get(0)
    };
    assert!(!stored.contains(&shown[20..63]), "the secret is nowhere");
    let mine = ana.browser.get("/v1/account/api-keys").await;
    let paths = [keys_of(here), format!("{}/{}", keys_of(here), made["id"].as_str().unwrap())];
    for told in [mine, get(&app, &paths[0], &shown).await, get(&app, &paths[1], &shown).await] {
        assert_eq!(told.status, 200, "{}", told.text());
        assert!(told.text().contains(made["id"].as_str().unwrap()), "{}", told.text());
        assert!(!told.text().contains("secret") && !told.text().contains(&shown[20..63]), "{}", told.text());
    }
}

#[tokio::test]
async fn nobody_puts_into_a_key_what_they_do_not_hold() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = person(&app, "ana@example.test", here, "member").await;
    let refused = ana.ask("here", &["members:read", "organization:read"], json!({})).await;
    assert_eq!(code(&refused), (403, "authority_exceeded".into()));
    assert_eq!(refused.json()["missing"], json!(["members:read"]));
    let reference = refused.json()["reference"].as_str().expect("a reference").to_owned();
    let reader = organization_key(&app, here, &["audit:read"]).await;
    let told = get(&app, &format!("/v1/organizations/{here}/refusals/{reference}"), &reader).await.json();
    assert_eq!(told["rule"], "permission_not_held", "{told}");
    // One action is not all of them, and nothing of the platform is in an organization.
    assert_eq!(code(&ana.ask("here", &["organization:*"], json!({})).await).1, "authority_exceeded");
    set_role(&app, ana.membership, "owner").await;
    for reserved in ["members:impersonate", "organizations:administer", "platform.accounts:read"] {
        assert_eq!(code(&ana.ask("here", &[reserved], json!({})).await).1, "field_invalid", "{reserved}");
    }
    let other = organization(&app, "other").await;
    for place in ["other", &other.to_string(), "nowhere"] {
        assert_eq!(ana.ask(place, &["organization:read"], json!({})).await.status, 404, "{place}");
    }
    let key = organization_key(&app, here, &["api-keys:write", "invoices:*"]).await;
    let make = |names: Value| json!({"name": "Robot", "permissions": names});
    let (path, key) = (keys_of(here), key.as_str());
    let within = call(&app, Method::POST, &path, key, Some(&make(json!(["invoices:read"]))), &[]).await;
    assert_eq!(within.status, 201, "{}", within.text());
    let beyond = call(&app, Method::POST, &path, key, Some(&make(json!(["members:read"]))), &[]).await;
    assert_eq!(code(&beyond), (403, "authority_exceeded".into()));
    assert_eq!(app.count("SELECT count(*) FROM api_key").await, 3);
}

#[tokio::test]
async fn a_key_needs_a_fresh_proof_and_the_level_the_organization_asks_for() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = person(&app, "ana@example.test", here, "admin").await;
    app.sql(r#"UPDATE organization SET policy = policy || '{"min_level": "aal2"}'"#).await;
    let refused = ana.ask("here", &["members:read"], json!({})).await;
    assert_eq!(code(&refused), (403, "step_up_required".into()));
    assert_eq!(refused.json()["flow"]["body"]["level"], "aal2");
    app.sql(r#"UPDATE organization SET policy = policy || '{"min_level": "none"}'"#).await;
    assert_eq!(ana.ask("here", &["members:read"], json!({})).await.status, 201);
    app.sql("UPDATE session SET proofs = (SELECT jsonb_agg(jsonb_set(p, '{at}', to_jsonb(extract(epoch FROM now())::bigint - 3600))) FROM jsonb_array_elements(proofs) p)").await;
    assert_eq!(code(&ana.ask("here", &["members:read"], json!({})).await), (403, "step_up_required".into()));
    let id = app.database.client().await.query_one("SELECT key_id FROM api_key", &[]).await.unwrap();
    let path = format!("/v1/account/api-keys/{}", id.get::<_, String>(0));
    assert_eq!(ana.browser.delete(&path).await.status, 204, "taking back needs no more than being there");
}

#[tokio::test]
async fn a_key_ends_by_itself_after_90_days_and_never_later_than_365() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = person(&app, "ana@example.test", here, "admin").await;
    let days = "SELECT round(extract(epoch FROM max(expires_at) - now()) / 86400)::bigint FROM api_key";
    let key = ana.key("here", &["api-keys:read"]).await;
    assert_eq!(app.count(days).await, 90);
    assert_eq!(ana.ask("here", &["api-keys:read"], json!({"expires_in_days": 365})).await.status, 201);
    assert_eq!(app.count(days).await, 365);
    for wrong in [0, 366] {
        let answer = ana.ask("here", &["api-keys:read"], json!({"expires_in_days": wrong})).await;
        assert_eq!(code(&answer), (422, "field_invalid".into()), "{wrong}");
    }
    assert_eq!(get(&app, &keys_of(here), secret(&key)).await.status, 200);
    app.sql("UPDATE api_key SET expires_at = now()").await;
    assert_eq!(get(&app, &keys_of(here), secret(&key)).await.status, 401);
}

#[tokio::test]
async fn a_key_is_used_only_from_where_its_maker_said() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = person(&app, "ana@example.test", here, "admin").await;
    let networks = json!({"allowed_networks": ["198.51.100.0/24", "2001:db8::1"]});
    let made = ana.ask("here", &["api-keys:read"], networks).await.json();
    assert_eq!(made["allowed_networks"], json!(["198.51.100.0/24", "2001:db8::1/128"]));
    for (from, status) in [
        ("198.51.100.9", 200),
        ("::ffff:198.51.100.9", 200),
        ("2001:db8::1", 200),
        ("198.51.101.9", 401),
        ("2001:db8::2", 401),
    ] {
        let there = app.from_address(from.parse::<std::net::IpAddr>().unwrap());
        assert_eq!(get(&there, &keys_of(here), secret(&made)).await.status, status, "{from}");
    }
    let wrong = ana.ask("here", &["api-keys:read"], json!({"allowed_networks": ["here"]})).await;
    assert_eq!(code(&wrong).1, "field_invalid");
}

/// One permission fewer, and the whole key does nothing: not even what its owner still holds.
#[tokio::test]
async fn what_the_owner_loses_refuses_the_whole_key() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = person(&app, "ana@example.test", here, "admin").await;
    app.sql(&format!(
        "INSERT INTO role (organization_id, role_key, name, permissions)
         VALUES ('{here}', 'reader', 'Reader', '{{api-keys:read}}')"
    ))
    .await;
    let key = ana.key("here", &["api-keys:read", "members:write"]).await;
    let small = ana.key("here", &["api-keys:read"]).await;
    let path = keys_of(here);
    assert_eq!(get(&app, &path, secret(&key)).await.status, 200);
    set_role(&app, ana.membership, "reader").await;
    assert_eq!(get(&app, &path, secret(&key)).await.status, 403);
    assert_eq!(get(&app, &path, secret(&small)).await.status, 200);
    let other = organization(&app, "other").await;
    assert_eq!(get(&app, &keys_of(other), secret(&key)).await.status, 404, "elsewhere nothing is said");
    set_role(&app, ana.membership, "admin").await;
    assert_eq!(get(&app, &path, secret(&key)).await.status, 200, "held again");
    for (change, undo, status) in [
        ("UPDATE membership SET state = 'disabled'", "UPDATE membership SET state = 'active'", 401),
        ("UPDATE account SET state = 'disabled'", "UPDATE account SET state = 'active'", 401),
        ("UPDATE organization SET status = 'suspended'", "UPDATE organization SET status = 'enabled'", 409),
    ] {
        app.sql(change).await;
        assert_eq!(get(&app, &path, secret(&key)).await.status, status, "{change}");
        app.sql(undo).await;
        assert_eq!(get(&app, &path, secret(&key)).await.status, 200, "{undo}");
    }
    app.sql("UPDATE membership SET grants_from = clock_timestamp()").await;
    assert_eq!(get(&app, &path, secret(&key)).await.status, 401, "disabled and enabled in between");
}

#[tokio::test]
async fn a_key_with_one_wrong_character_never_reaches_the_database() {
    let app = Arc::new(TestApp::builder().people().proxied().start().await);
    let here = organization(&app, "here").await;
    let key = organization_key(&app, here, &["api-keys:read"]).await;
    let asked = || app.proxy.as_ref().unwrap().faults.asked.load(Ordering::SeqCst);
    let before = asked();
    for at in 0..key.len() {
        let mut wrong = key.clone().into_bytes();
        wrong[at] = if wrong[at] == b'a' { b'b' } else { b'a' };
        let wrong = String::from_utf8(wrong).unwrap();
        assert_eq!(get(&app, &keys_of(here), &wrong).await.status, 401, "{at}");
    }
    assert_eq!(asked(), before, "nobody was asked");
    assert_eq!(get(&app, &keys_of(here), &key).await.status, 200);
    assert!(asked() > before);
}

#[tokio::test]
async fn the_first_use_is_written_down_once_and_the_last_is_shown() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = person(&app, "ana@example.test", here, "admin").await;
    let made = ana.key("here", &["api-keys:read"]).await;
    let mut using = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (app, key) = (Arc::clone(&app), secret(&made).to_owned());
        using.spawn(async move { get(&app, &keys_of(here), &key).await.status.as_u16() });
    }
    assert_eq!(using.join_all().await, [200; 8]);
    let written = |table: &str, kind: &str| format!("SELECT count(*) FROM {table} WHERE kind = '{kind}'");
    for table in ["trail", "security_log"] {
        for kind in ["api_key.created", "api_key.used_first"] {
            assert_eq!(app.count(&written(table, kind)).await, 1, "{table} {kind}");
        }
    }
    let shown = ana.browser.get("/v1/account/api-keys").await.json();
    assert_eq!(shown["items"][0]["last_used_address"], "203.0.113.7");
    assert!(shown["items"][0]["last_used_at"].is_string());
    app.sql("UPDATE api_key SET last_used_at = now() - interval '2 minutes'").await;
    let there = app.from_address([198, 51, 100, 1]);
    assert_eq!(get(&there, &keys_of(here), secret(&made)).await.status, 200);
    let shown = ana.browser.get("/v1/account/api-keys").await.json();
    assert_eq!(shown["items"][0]["last_used_address"], "198.51.100.1");
}
