//! An installation with organizations in it, and whoever calls its management API.

use axum::body::Body;
use http::{Method, Request, header};
use porteiro_protocol::{
    api_key::ApiKey,
    id::{AccountId, Id, MembershipId, OrganizationId},
    permission::Permission,
};
use porteiro_service::{
    api_keys::{self, KeyKind, NewKey},
    members::{self, NewMember, Source},
    organizations,
};
use porteiro_testkit::{Answer, TestApp};
use serde_json::Value;

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
    let id = Id::random(&*app.app.entropy);
    let new = NewMember {
        organization,
        id,
        account: Some(account),
        client_id: None,
        display_name: "A member",
        role,
        source: Source::Admin,
    };
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
