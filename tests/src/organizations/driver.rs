//! An installation with organizations in it, and whoever calls its management API.

use std::sync::Arc;

use axum::body::Body;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{Method, Request, header};
use porteiro_protocol::{
    api_key::ApiKey,
    assurance::Level,
    id::{AccountId, Id, MembershipId, OrganizationId},
    permission::Permission,
};
use porteiro_service::{
    api_keys::{self, KeyKind, NewKey},
    members::{self, NewMember, Source},
    oauth::apis,
    organizations,
};
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

fn permissions(names: &[&str]) -> Vec<Permission> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

/// A new organization with nobody in it.
pub async fn organization(app: &TestApp, slug: &str) -> OrganizationId {
    let id = Id::random(&*app.app.entropy);
    let made = app
        .app
        .store
        .run_tx("test.organization", |tx| async move {
            organizations::insert(&tx, id, slug, &format!("The {slug} company"), "en").await
        })
        .await
        .unwrap();
    assert!(made, "{slug} is taken");
    id
}

/// Somebody becomes a member, in one role.
pub async fn join(
    app: &TestApp,
    organization: OrganizationId,
    account: AccountId,
    role: &str,
) -> MembershipId {
    joined(app, organization, Some(account), None, role).await
}

/// A client becomes a member for itself.
pub async fn join_client(
    app: &TestApp,
    organization: OrganizationId,
    client_id: &str,
    role: &str,
) -> MembershipId {
    joined(app, organization, None, Some(client_id), role).await
}

async fn joined(
    app: &TestApp,
    organization: OrganizationId,
    account: Option<AccountId>,
    client_id: Option<&str>,
    role: &str,
) -> MembershipId {
    let id = Id::random(&*app.app.entropy);
    let display_name = "A member";
    let new = NewMember { organization, id, account, client_id, display_name, role, source: Source::Admin };
    let new = &new;
    app.app
        .store
        .run_tx("test.join", |tx| async move { members::insert(&tx, new).await })
        .await
        .unwrap()
        .expect("not a member yet")
}

/// A key, as it was shown once.
pub async fn key(
    app: &TestApp,
    kind: KeyKind,
    organization: Option<OrganizationId>,
    membership: Option<MembershipId>,
    names: &[&str],
) -> String {
    let key = ApiKey::generate(&*app.app.entropy);
    let (hash, permissions) = (key.hash(), permissions(names));
    let new = NewKey {
        id: key.id(),
        kind,
        organization,
        membership,
        name: "test",
        hash: &hash,
        permissions: &permissions,
        level: Level::Aal2,
        allowed_networks: &[],
        created_by: "test",
        seconds: 3_600.0,
    };
    let new = &new;
    app.app.store.run_tx("test.key", |tx| async move { api_keys::insert(&tx, new).await }).await.unwrap();
    key.reveal().to_string()
}

pub async fn platform_key(app: &TestApp, names: &[&str]) -> String {
    key(app, KeyKind::Platform, None, None, names).await
}

pub async fn organization_key(app: &TestApp, organization: OrganizationId, names: &[&str]) -> String {
    key(app, KeyKind::Organization, Some(organization), None, names).await
}

/// One call of the management API. `more`: headers.
pub async fn call(
    app: &TestApp,
    method: Method,
    path: &str,
    bearer: &str,
    body: Option<&Value>,
    more: &[(&str, &str)],
) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {bearer}"))
        .header(header::CONTENT_TYPE, "application/json");
    for (name, value) in more {
        request = request.header(*name, *value);
    }
    let body = body.map_or_else(Body::empty, |value| Body::from(value.to_string()));
    app.send(request.body(body).unwrap()).await
}

pub async fn get(app: &TestApp, path: &str, bearer: &str) -> Answer {
    call(app, Method::GET, path, bearer, None, &[]).await
}

pub const PAYROLL: &str = "https://payroll.example.test";

/// An application in which people have an account, and an API whose scopes are permissions.
pub async fn house() -> Arc<TestApp> {
    let app = crate::oauth::app().await;
    payroll(&app).await;
    app
}

pub async fn payroll(app: &TestApp) {
    let scope = |name: &str| json!({"name": name, "description": {"en": name, "pt": name}});
    let api = json!({
        "identifier": PAYROLL,
        "name": "Payroll",
        "organizational": true,
        "scopes": [scope("salaries:read"), scope("salaries:write"), scope("reports:read")],
    });
    let api: apis::Api = serde_json::from_value(api).unwrap();
    api.check(app.app.issuer()).unwrap();
    apis::register(&app.app.store, &api).await.unwrap();
}

pub async fn account_of(browser: &mut Browser) -> AccountId {
    browser.get("/v1/account").await.json()["id"].as_str().unwrap().parse().unwrap()
}

/// A role of the organization's own; what it permits is replaced where it exists.
pub async fn role(app: &TestApp, organization: OrganizationId, role: &str, permissions: &[&str]) {
    let client = app.database.client().await;
    let permissions: Vec<String> = permissions.iter().map(|name| (*name).to_owned()).collect();
    client
        .execute(
            "INSERT INTO role (organization_id, role_key, name, permissions) VALUES ($1, $2, $2, $3)
             ON CONFLICT (organization_id, role_key) DO UPDATE SET permissions = excluded.permissions",
            &[&organization.uuid(), &role, &permissions],
        )
        .await
        .unwrap();
    client
        .execute(
            "UPDATE organization SET authority_version = authority_version + 1 WHERE organization_id = $1",
            &[&organization.uuid()],
        )
        .await
        .unwrap();
}

pub async fn set_status(app: &TestApp, organization: OrganizationId, status: &str) {
    let client = app.database.client().await;
    client
        .execute(
            "UPDATE organization SET status = $2 WHERE organization_id = $1",
            &[&organization.uuid(), &status],
        )
        .await
        .unwrap();
}

/// What a token says.
pub fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}
