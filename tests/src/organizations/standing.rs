//! Whoever was let in and loses what it takes before their change is made, makes none.
//!
//! The loss is a transaction that is open when the call comes: the call is let in by what is committed, waits for the
//! lock, and goes on when the loss is committed. Each row is then asked again by somebody who lost nothing, and done:
//! it was refused for the loss alone.

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{Method, Request, header};
use porteiro_service::management::platform::{Change, change_at_console};
use porteiro_testkit::{Answer, TestApp, nothing};
use serde_json::{Value, json};

use super::{
    driver::{get, house, organization, platform_key},
    staff::{Staff, refusal},
};
use crate::{oauth::driver::Relying, people};

const PNG: &[u8] = include_bytes!("../../../crates/protocol/src/picture/samples/plain.png");
/// The loss: what the caller held has changed since they were let in.
const LOST: (u16, &str) = (403, "forbidden");

/// What can be sent besides JSON.
enum Sent {
    Json(Value),
    Logo,
    Nothing,
}

struct Row {
    method: Method,
    path: String,
    /// Where the version stands that a change must name.
    seen: Option<String>,
    sent: Sent,
}

fn row(method: Method, path: &str, seen: Option<&str>, sent: Sent) -> Row {
    Row { method, path: path.to_owned(), seen: seen.map(str::to_owned), sent }
}

impl Row {
    /// As it is sent, naming the version that is there now.
    async fn request(&self, app: &TestApp, bearer: &str) -> Request<Body> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(&self.path)
            .header(header::AUTHORIZATION, format!("Bearer {bearer}"))
            .header("porteiro-reason", "a test");
        if let Some(seen) = &self.seen {
            let look = Request::get(seen)
                .header(header::AUTHORIZATION, format!("Bearer {bearer}"))
                .header("porteiro-reason", "a test");
            let answer = app.send(look.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status, 200, "{seen}: {}", answer.text());
            request = request.header(header::IF_MATCH, answer.header("etag"));
        }
        let (kind, body) = match &self.sent {
            Sent::Json(value) => ("application/json", Body::from(value.to_string())),
            Sent::Logo => ("image/png", Body::from(PNG)),
            Sent::Nothing => ("application/json", Body::empty()),
        };
        request.header(header::CONTENT_TYPE, kind).body(body).unwrap()
    }
}

/// Everything a row could change, as one text. Keys and sessions are counted: using one changes it.
async fn everything(app: &TestApp) -> String {
    let mut parts = Vec::new();
    for table in [
        "organization",
        "organization_slug",
        "organization_branding",
        "client_branding",
        "membership",
        "membership_role",
        "role",
        "invitation",
        "client_policy",
        "platform_authority",
        "account",
        "client",
        "api",
        "connection",
    ] {
        parts
            .push(format!("coalesce((SELECT string_agg(t::text, ' ' ORDER BY t::text) FROM {table} t), '')"));
    }
    let counts =
        "(SELECT count(*) FROM api_key) || ' ' || (SELECT count(*) FROM session WHERE ended_at IS NULL)";
    let sql = format!("SELECT {} || {counts}", parts.join(" || "));
    app.database.client().await.query_one(&sql, &[]).await.unwrap().get(0)
}

/// Sends a call while `loss` is open, and commits the loss once the call waits for it (or has not waited).
pub async fn overtaken(app: &Arc<TestApp>, request: Request<Body>, loss: &str) -> Answer {
    let other = app.database.client().await;
    other.batch_execute(&format!("BEGIN; {loss}")).await.unwrap();
    let asking = tokio::spawn({
        let app = Arc::clone(app);
        async move { app.send(request).await }
    });
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let watch = app.database.client().await;
    while !asking.is_finished() && watch.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    other.batch_execute("COMMIT").await.unwrap();
    asking.await.unwrap()
}

/// Lost, and nothing done; then done by somebody who lost nothing.
async fn check(app: &Arc<TestApp>, row: &Row, bearers: [&str; 2], loss: &str, again: &str) {
    let what = format!("{} {}", row.method, row.path);
    app.forget_limits().await;
    let request = row.request(app, bearers[0]).await;
    let before = everything(app).await;
    let answer = overtaken(app, request, loss).await;
    assert_eq!(refusal(&answer), (LOST.0, LOST.1.into()), "{what}: {}", answer.text());
    app.sql(again).await;
    assert_eq!(everything(app).await, before, "{what} changed something");
    let answer = app.send(row.request(app, bearers[1]).await).await;
    assert!(answer.status.is_success(), "{what}: {}", answer.text());
    assert_ne!(everything(app).await, before, "{what} changes nothing anyway");
}

#[tokio::test]
async fn a_member_demoted_after_being_let_in_changes_nothing() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let client = Relying::console(&app).await;
    let mut owner = Staff::new(&app, "owner@example.test", here, "owner").await;
    let ana = Staff::new(&app, "ana@example.test", here, "member").await;
    let scope = "organization:read organization:write members:read members:write roles:write \
                 invitations:write client-policies:write api-keys:write";
    let token = owner.token(&app, &client, here, scope).await;
    let place = format!("/v1/organizations/{here}");
    let (policy, brand) = (format!("{place}/policy"), format!("{place}/branding"));
    let (logo, member) = (format!("{brand}/logo"), format!("{place}/members/{}", ana.member));
    let key = json!({"name": "k", "permissions": ["members:read"]});
    let rows = [
        row(Method::PATCH, &place, Some(&place), Sent::Json(json!({"name": "Other", "slug": "other"}))),
        row(Method::PUT, &policy, Some(&policy), Sent::Json(json!({"third_party_clients": "listed"}))),
        row(Method::PATCH, &brand, Some(&brand), Sent::Json(json!({"name": "Other"}))),
        row(Method::PUT, &logo, Some(&brand), Sent::Logo),
        row(Method::DELETE, &logo, Some(&brand), Sent::Nothing),
        row(Method::PATCH, &member, Some(&member), Sent::Json(json!({"roles": ["admin"]}))),
        row(
            Method::POST,
            &format!("{place}/roles"),
            None,
            Sent::Json(json!({"key": "auditor", "name": "Auditor", "permissions": ["members:read"]})),
        ),
        row(
            Method::POST,
            &format!("{place}/invitations"),
            None,
            Sent::Json(json!({"email": "bia@example.test", "role": "member"})),
        ),
        row(
            Method::PUT,
            &format!("{place}/client-policies/{}", client.id),
            None,
            Sent::Json(json!({"decision": "allow"})),
        ),
        row(Method::POST, &format!("{place}/api-keys"), None, Sent::Json(key)),
    ];
    let become_ = |role: &str| {
        format!("UPDATE membership_role SET role_key = '{role}' WHERE membership_id = '{}'", owner.member)
    };
    let loss = format!(
        "SELECT 1 FROM organization WHERE organization_id = '{here}' FOR UPDATE; {}",
        become_("member")
    );
    for row in &rows {
        check(&app, row, [&token, &token], &loss, &become_("owner")).await;
    }
}

#[tokio::test]
async fn a_key_of_the_platform_revoked_after_being_let_in_changes_nothing() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let client = Relying::console(&app).await;
    let place = format!("/v1/organizations/{here}");
    let brand = format!("/v1/platform/clients/{}/branding", client.id);
    let logo = format!("{brand}/logo");
    let made = "/v1/platform/organizations";
    let other = format!("/v1/platform/clients/{}", Relying::web(&app).await.id);
    let web = json!({"client_name": "Example", "redirect_uris": ["https://app.example.org/callback"]});
    let api = json!({"identifier": "https://stock.example.test", "name": "Stock",
        "scopes": [{"name": "stock:read", "description": {"en": "See stock", "pt": "Ver estoque"}}]});
    let connection = json!({"name": "Example", "issuer": "https://login.example.org", "client_id": "porteiro",
        "client_authentication": "private_key_jwt", "algorithm": "ES256"});
    let of_api = format!("/v1/platform/apis/{}", URL_SAFE_NO_PAD.encode("https://stock.example.test"));
    let mut ana = people::register_with_password(&app, "ana@example.test").await;
    let account = format!("/v1/platform/accounts/{}", super::driver::account_of(&mut ana).await);
    let rows = [
        row(Method::POST, made, None, Sent::Json(json!({"name": "New", "slug": "new"}))),
        row(Method::PATCH, &place, Some(&place), Sent::Json(json!({"name": "Other"}))),
        row(Method::POST, &format!("{place}/suspend"), None, Sent::Json(json!({"reason_code": "unpaid"}))),
        row(Method::POST, &format!("{place}/resume"), None, Sent::Nothing),
        row(Method::PATCH, &brand, Some(&brand), Sent::Json(json!({"color": "#1f3d7a"}))),
        row(Method::PUT, &logo, Some(&brand), Sent::Logo),
        row(Method::DELETE, &logo, Some(&brand), Sent::Nothing),
        row(
            Method::POST,
            "/v1/platform/clients",
            None,
            Sent::Json(json!({"trust": "verified", "metadata": web})),
        ),
        row(Method::PATCH, &other, Some(&other), Sent::Json(json!({"trust": "unverified"}))),
        row(
            Method::PATCH,
            &other,
            Some(&other),
            Sent::Json(json!({"trust": "verified", "metadata": {"kind": "agent"}})),
        ),
        row(Method::POST, &format!("{other}/rotate-secret"), None, Sent::Nothing),
        row(Method::POST, &format!("{other}/disable"), None, Sent::Nothing),
        row(Method::POST, &format!("{other}/enable"), None, Sent::Nothing),
        row(Method::POST, "/v1/platform/connections", None, Sent::Json(connection)),
        row(Method::POST, "/v1/platform/apis", None, Sent::Json(api.clone())),
        row(Method::PUT, &of_api, Some(&of_api), Sent::Json(api)),
        row(Method::DELETE, &of_api, Some(&of_api), Sent::Nothing),
        row(Method::POST, &format!("{account}/end-sessions"), None, Sent::Nothing),
        row(Method::POST, &format!("{account}/disable"), None, Sent::Json(json!({"reason": "gone"}))),
        row(Method::POST, &format!("{account}/enable"), None, Sent::Nothing),
    ];
    for row in &rows {
        let all = &[
            "platform.organizations:*",
            "platform.clients:*",
            "platform.apis:*",
            "platform.connections:*",
            "platform.accounts:*",
            "organizations:administer",
        ];
        let (revoked, living) = (platform_key(&app, all).await, platform_key(&app, all).await);
        // The first use is written down; what is looked at here is not that.
        assert_eq!(get(&app, made, &revoked).await.status, 200);
        let id = revoked.split('_').nth(2).unwrap();
        let loss = format!("UPDATE api_key SET revoked_at = now() WHERE key_id = '{id}'");
        check(&app, row, [&revoked, &living], &loss, "").await;
    }
}

#[tokio::test]
async fn an_operator_who_loses_authority_after_being_let_in_changes_nothing() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let client = Relying::console(&app).await;
    let (mut browser, mut authenticator) = people::register_with_passkey(&app, "ana@example.test").await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "passkey/begin", nothing()).await;
    let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut browser, "passkey/finish", json!({"credential": response})).await;
    let account = super::driver::account_of(&mut browser).await;
    let change = Change::Grant(vec!["organizations:administer".parse().unwrap()]);
    let (store, now) = (&app.app.store, app.app.clock.now());
    change_at_console(store, now, &*app.app.entropy, account, &change).await.unwrap().unwrap();
    let tokens = client.tokens(&mut browser, &app, &[("scope", "organizations:administer")]).await;
    let token = tokens["access_token"].as_str().unwrap();
    let place = format!("/v1/organizations/{here}");
    let rows = [
        row(Method::PATCH, &place, Some(&place), Sent::Json(json!({"name": "Other"}))),
        row(Method::POST, &format!("{place}/suspend"), None, Sent::Json(json!({"reason_code": "unpaid"}))),
        row(Method::POST, &format!("{place}/resume"), None, Sent::Nothing),
    ];
    let hold = |permissions: &str| format!("UPDATE platform_authority SET permissions = '{permissions}'");
    for row in &rows {
        check(&app, row, [token, token], &hold("{}"), &hold("{organizations:administer}")).await;
    }
}
