use std::{net::IpAddr, sync::Arc};

use axum::{
    Extension,
    extract::{Path, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::{
    id::{MembershipId, OrganizationId},
    permission::Permission,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::make;
use crate::{
    App,
    api::{Listing, Operation, Time, created_with_secret, deleted},
    api_keys::{self, Key, KeyKind, Made, NewKeyRequest, NewPersonalKeyRequest, Wanted, Whose},
    audit_trail::{Actor, ActorKind},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::{Caller, require_fresh},
    sessions::SignedIn,
};

const READ: Access = Access::Organization("api-keys:read");
const WRITE: Access = Access::Organization("api-keys:write");
const PLATFORM_READ: Access = Access::Platform("platform.api-keys:read");
const PLATFORM_WRITE: Access = Access::Platform("platform.api-keys:write");
const MINE: &str = "/v1/account/api-keys";
const ITS: &str = "/v1/organizations/{organization}/api-keys";
const PLATFORM: &str = "/v1/platform/api-keys";

pub fn routes() -> Vec<Route> {
    let makes = |id, summary| {
        let refuses = [ProblemCode::AuthorityExceeded, ProblemCode::Quota];
        Operation::new(id, summary).creates::<NewKeyView>().refuses(&refuses)
    };
    vec![
        Route::get(MINE, Access::Session, list_mine)
            .operation(Operation::new("account_api_keys.list", "List your API keys").lists::<KeyView>()),
        Route::post(MINE, Access::Session, make_mine).operation(
            makes("account_api_keys.create", "Create a personal API key; the secret is shown once")
                .takes::<NewPersonalKeyRequest>()
                .refuses(&[ProblemCode::StepUpRequired, ProblemCode::Conflict]),
        ),
        Route::delete("/v1/account/api-keys/{id}", Access::Session, revoke_mine)
            .operation(Operation::new("account_api_keys.revoke", "Revoke one of your API keys")),
        Route::get(ITS, READ, list).operation(
            Operation::new("api_keys.list", "List the API keys of an organization and of its members")
                .lists::<KeyView>(),
        ),
        Route::post(ITS, WRITE, create).operation(
            makes("api_keys.create", "Create an API key of an organization; the secret is shown once")
                .takes::<NewKeyRequest>()
                .example(serde_json::json!({"name": "nightly report", "permissions": ["members:read"]})),
        ),
        Route::get("/v1/organizations/{organization}/api-keys/{id}", READ, show)
            .operation(Operation::new("api_keys.get", "Get an API key").gives::<KeyView>()),
        Route::delete("/v1/organizations/{organization}/api-keys/{id}", WRITE, revoke).operation(
            Operation::new("api_keys.revoke", "Revoke an API key of an organization or of a member"),
        ),
        Route::get(PLATFORM, PLATFORM_READ, list_platform)
            .operation(Operation::new("platform_api_keys.list", "List platform API keys").lists::<KeyView>()),
        Route::post(PLATFORM, PLATFORM_WRITE, create_platform).operation(
            makes("platform_api_keys.create", "Create a platform API key; the secret is shown once")
                .takes::<NewKeyRequest>()
                .example(
                    serde_json::json!({"name": "console", "permissions": ["platform.organizations:read"]}),
                ),
        ),
        Route::delete("/v1/platform/api-keys/{id}", PLATFORM_WRITE, revoke_platform)
            .operation(Operation::new("platform_api_keys.revoke", "Revoke a platform API key")),
    ]
}

/// An API key, without its secret: only a hash of the secret is stored.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ApiKey")]
struct KeyView {
    id: String,
    kind: KeyKind,
    /// Null for platform keys.
    organization: Option<OrganizationId>,
    /// The owner of a personal key.
    membership: Option<MembershipId>,
    name: String,
    permissions: Vec<Permission>,
    /// The networks from which the key may be used; empty: any network.
    allowed_networks: Vec<String>,
    /// Kind and id of the actor who created it, as in the audit trail.
    created_by: String,
    created_at: Time,
    expires_at: Time,
    /// To the minute.
    last_used_at: Option<Time>,
    last_used_address: Option<IpAddr>,
    revoked_at: Option<Time>,
    revoke_reason: Option<String>,
}

/// A new API key.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CreatedApiKey")]
struct NewKeyView {
    #[serde(flatten)]
    key: KeyView,
    /// The API key itself; it is shown once.
    secret: String,
}

impl From<Key> for KeyView {
    fn from(key: Key) -> Self {
        Self {
            id: key.id,
            kind: key.kind,
            organization: key.organization,
            membership: key.membership,
            name: key.name,
            permissions: key.permissions,
            allowed_networks: key.allowed_networks,
            created_by: key.created_by,
            created_at: key.created_at.into(),
            expires_at: key.expires_at.into(),
            last_used_at: key.last_used_at.map(Into::into),
            last_used_address: key.last_used_address,
            revoked_at: key.revoked_at.map(Into::into),
            revoke_reason: key.revoke_reason,
        }
    }
}

/// The only response that contains the secret.
fn made(made: Made, place: &str) -> Response {
    let id = made.key.id.clone();
    let view = NewKeyView { key: made.key.into(), secret: made.secret.reveal().to_string() };
    let mut response = created_with_secret(&format!("{place}/{id}"), &id, &view);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn wanted(kind: KeyKind, request: &NewKeyRequest) -> Result<Wanted, Problem> {
    api_keys::wanted(kind, request).map_err(|detail| Problem::new(ProblemCode::FieldInvalid, detail))
}

async fn page(app: &App, listing: &Listing, whose: Whose) -> Result<Response, Problem> {
    let after = listing.after.as_ref().map(|(at, id)| (*at, id.as_str()));
    let found = api_keys::list(&app.store, whose, after, listing.rows()).await?;
    Ok(listing.page(found, |key| (key.created_at, key.id.clone()), KeyView::from))
}

async fn list_mine(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
    listing: Listing,
) -> Result<Response, Problem> {
    page(&app, &listing, Whose::Account(me.account_id)).await
}

async fn make_mine(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
    Json(request): Json<NewPersonalKeyRequest>,
) -> Result<Response, Problem> {
    let (organization, request) = request.split();
    let wanted = wanted(KeyKind::Personal, &request)?;
    require_fresh(&app, &me).await?;
    Ok(made(Box::pin(make::by_person(&app, &context, &me, &organization, &wanted)).await?, MINE))
}

/// Revoking a key needs no step-up: it can only make the account safer.
async fn revoke_mine(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let whose = Whose::Account(me.account_id);
    let key = api_keys::show(&app.store, whose, &id).await?.ok_or(ProblemCode::NotFound)?;
    // The audit trail names the membership, not the account.
    let actor = Actor { kind: ActorKind::Member, id: api_keys::subject(&key), act: None };
    deleted(make::revoke(&app, &context, whose, &id, &actor, "owner").await?)
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    page(&app, &listing, Whose::Organization(caller.organization()?.id)).await
}

async fn show(
    State(app): State<Arc<App>>,
    Path((_, id)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let key = api_keys::show(&app.store, Whose::Organization(caller.organization()?.id), &id).await?;
    Ok(axum::Json(KeyView::from(key.ok_or(ProblemCode::NotFound)?)).into_response())
}

async fn create(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(request): Json<NewKeyRequest>,
) -> Result<Response, Problem> {
    let wanted = wanted(KeyKind::Organization, &request)?;
    let location = format!("/v1/organizations/{}/api-keys", caller.organization()?.id);
    Ok(made(Box::pin(make::by_caller(&app, &context, &caller, &wanted)).await?, &location))
}

async fn revoke(
    State(app): State<Arc<App>>,
    Path((_, id)): Path<(String, String)>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let whose = Whose::Organization(caller.organization()?.id);
    let reason = caller.reason.as_deref().unwrap_or("administrator");
    deleted(make::revoke(&app, &context, whose, &id, &caller.actor, reason).await?)
}

async fn list_platform(State(app): State<Arc<App>>, listing: Listing) -> Result<Response, Problem> {
    page(&app, &listing, Whose::Platform).await
}

async fn create_platform(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(request): Json<NewKeyRequest>,
) -> Result<Response, Problem> {
    let wanted = wanted(KeyKind::Platform, &request)?;
    Ok(made(Box::pin(make::by_caller(&app, &context, &caller, &wanted)).await?, PLATFORM))
}

async fn revoke_platform(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let reason = caller.reason.as_deref().unwrap_or("administrator");
    deleted(make::revoke(&app, &context, Whose::Platform, &id, &caller.actor, reason).await?)
}
