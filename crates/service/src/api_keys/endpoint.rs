use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    Key, KeyKind, NewKeyRequest, Wanted, Whose,
    make::{self, Made},
    store,
};
use crate::{
    App, account,
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
    sessions::SignedIn,
    trail::{Actor, ActorKind},
};

const READ: Access = Access::Organization("api-keys:read");
const WRITE: Access = Access::Organization("api-keys:write");
const PLATFORM_READ: Access = Access::Platform("platform.api-keys:read");
const PLATFORM_WRITE: Access = Access::Platform("platform.api-keys:write");

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/account/api-keys", Access::Session, list_mine),
        Route::post("/v1/account/api-keys", Access::Session, make_mine),
        Route::delete("/v1/account/api-keys/{id}", Access::Session, revoke_mine),
        Route::get("/v1/organizations/{organization}/api-keys", READ, list),
        Route::post("/v1/organizations/{organization}/api-keys", WRITE, create),
        Route::get("/v1/organizations/{organization}/api-keys/{id}", READ, show),
        Route::delete("/v1/organizations/{organization}/api-keys/{id}", WRITE, revoke),
        Route::get("/v1/platform/api-keys", PLATFORM_READ, list_platform),
        Route::post("/v1/platform/api-keys", PLATFORM_WRITE, create_platform),
        Route::delete("/v1/platform/api-keys/{id}", PLATFORM_WRITE, revoke_platform),
    ]
}

fn at(when: OffsetDateTime) -> String {
    when.format(&Rfc3339).unwrap_or_default()
}

/// Never the secret: nobody has it.
fn described(key: &Key) -> Value {
    json!({
        "id": key.id,
        "kind": key.kind,
        "organization": key.organization,
        "membership": key.membership,
        "name": key.name,
        "permissions": key.permissions,
        "allowed_networks": key.allowed_networks,
        "created_by": key.created_by,
        "created_at": at(key.created_at),
        "expires_at": at(key.expires_at),
        "last_used_at": key.last_used_at.map(at),
        "last_used_address": key.last_used_address,
        "revoked_at": key.revoked_at.map(at),
        "revoke_reason": key.revoke_reason,
    })
}

/// The one answer with the secret in it.
fn made(made: &Made, place: &str) -> Response {
    let mut body = described(&made.key);
    body["secret"] = json!(*made.secret.reveal());
    let mut response = (StatusCode::CREATED, axum::Json(body)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(location) = HeaderValue::from_str(&format!("{place}/{}", made.key.id)) {
        headers.insert(header::LOCATION, location);
    }
    response
}

fn wanted(kind: KeyKind, request: &NewKeyRequest) -> Result<Wanted, Problem> {
    if kind != KeyKind::Personal && request.organization.is_some() {
        return Err(Problem::new(ProblemCode::FieldInvalid, "organization follows from the address"));
    }
    super::wanted(kind, request).map_err(|detail| Problem::new(ProblemCode::FieldInvalid, detail))
}

fn listed(keys: &[Key]) -> Response {
    let items: Vec<Value> = keys.iter().map(described).collect();
    axum::Json(json!({"items": items})).into_response()
}

async fn list_mine(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    Ok(listed(&store::list(&app.store, Whose::Account(me.account_id), None, 500).await?))
}

async fn make_mine(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
    Json(request): Json<NewKeyRequest>,
) -> Result<Response, Problem> {
    let wanted = wanted(KeyKind::Personal, &request)?;
    let organization = request.organization.as_deref().ok_or_else(|| {
        Problem::new(ProblemCode::FieldInvalid, "organization says where you act, by id or slug")
    })?;
    account::require_fresh(&app, &me).await?;
    let key = Box::pin(make::by_person(&app, &context, &me, organization, &wanted)).await?;
    Ok(made(&key, "/v1/account/api-keys"))
}

/// Taking something back needs no proof beyond being signed in: it only ever makes the account safer.
async fn revoke_mine(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let whose = Whose::Account(me.account_id);
    let key = store::show(&app.store, whose, &id).await?.ok_or(ProblemCode::NotFound)?;
    // In the organization they are their membership, not their account.
    let actor = Actor { kind: ActorKind::Member, id: super::subject(&key), act: None };
    gone(make::revoke(&app, &context, whose, &id, &actor, "owner").await?)
}

fn gone(found: bool) -> Result<Response, Problem> {
    if found { Ok(StatusCode::NO_CONTENT.into_response()) } else { Err(ProblemCode::NotFound.into()) }
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    Ok(listed(&store::list(&app.store, Whose::Organization(caller.organization()?.id), None, 500).await?))
}

async fn show(
    State(app): State<Arc<App>>,
    Path((_, id)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let key = store::show(&app.store, Whose::Organization(caller.organization()?.id), &id).await?;
    Ok(axum::Json(described(&key.ok_or(ProblemCode::NotFound)?)).into_response())
}

async fn create(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(request): Json<NewKeyRequest>,
) -> Result<Response, Problem> {
    let wanted = wanted(KeyKind::Organization, &request)?;
    let location = format!("/v1/organizations/{}/api-keys", caller.organization()?.id);
    let key = Box::pin(make::by_caller(&app, &context, &caller, &wanted)).await?;
    Ok(made(&key, &location))
}

async fn revoke(
    State(app): State<Arc<App>>,
    Path((_, id)): Path<(String, String)>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let whose = Whose::Organization(caller.organization()?.id);
    let reason = caller.reason.as_deref().unwrap_or("administrator");
    gone(make::revoke(&app, &context, whose, &id, &caller.actor, reason).await?)
}

async fn list_platform(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    Ok(listed(&store::list(&app.store, Whose::Platform, None, 500).await?))
}

async fn create_platform(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(request): Json<NewKeyRequest>,
) -> Result<Response, Problem> {
    let wanted = wanted(KeyKind::Platform, &request)?;
    let key = Box::pin(make::by_caller(&app, &context, &caller, &wanted)).await?;
    Ok(made(&key, "/v1/platform/api-keys"))
}

async fn revoke_platform(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let reason = caller.reason.as_deref().unwrap_or("administrator");
    gone(make::revoke(&app, &context, Whose::Platform, &id, &caller.actor, reason).await?)
}
