use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use porteiro_protocol::id::OrganizationId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Change, Filter, Found, New, create, find, list, rotate_secret, set, set_enabled};
use crate::{
    App,
    api::{self, Listing, Operation, Parameter, Patch, Seen, Time, created, created_with_secret},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
    oauth::clients::{OrganizationMode, Profile, Trust},
};

const READ: Access = Access::Platform("platform.clients:read");
const WRITE: Access = Access::Platform(super::WRITE);

pub fn routes() -> Vec<Route> {
    let lists = Operation::new("clients.list", "List clients, oldest first")
        .query(&[
            Parameter::choice(
                "trust",
                &["unverified", "verified", "first_party"],
                "Only clients with this trust.",
            ),
            Parameter::time("created_after", "Only clients created after this time."),
        ])
        .lists::<Shown>();
    let shows = Operation::new("clients.get", "Get a client").gives::<Shown>().versioned();
    let makes = Operation::new("clients.create", "Create a client from its metadata (RFC 7591)")
        .takes::<Create>()
.example(serde_json::json!({"trust": "verified", "metadata": {"client_name": "Example",
    "redirect_uris": ["https://app.example.org/callback"], "grant_types": ["authorization_code", "refresh_token"]}}))
        .creates::<Shown>()
        .refuses(&[ProblemCode::FieldInvalid]);
    let changes = Operation::new(
        "clients.update",
        "Update the trust, organization mode and metadata of a client",
    )
    .patches::<Settable>()
    .example(
        serde_json::json!({"trust": "verified", "metadata": {"client_name": "Example", "kind": "agent"}}),
    )
    .gives::<Shown>()
    .versioned()
    .refuses(&[ProblemCode::FieldInvalid]);
    let disables = Operation::new(
        "clients.disable",
        "Disable a client; its requests are refused as from an unknown client",
    );
    let rotates = Operation::new(
        "clients.rotate_secret",
        "Replace the secret of a client; the old secret stops working within a second",
    )
    .creates::<Shown>()
    .refuses(&[ProblemCode::Conflict]);
    let enables = Operation::new("clients.enable", "Enable a client; ended grants stay ended");
    vec![
        Route::get("/v1/platform/clients", READ, all).operation(lists),
        Route::post("/v1/platform/clients", WRITE, make).operation(makes),
        Route::get("/v1/platform/clients/{client_id}", READ, one).operation(shows),
        Route::patch("/v1/platform/clients/{client_id}", WRITE, change).operation(changes),
        Route::post("/v1/platform/clients/{client_id}/rotate-secret", WRITE, rotate).operation(rotates),
        Route::post("/v1/platform/clients/{client_id}/disable", WRITE, disable).operation(disables),
        Route::post("/v1/platform/clients/{client_id}/enable", WRITE, enable).operation(enables),
    ]
}

/// What of a client the platform sets.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Settable {
    trust: Trust,
    organization_mode: OrganizationMode,
    /// The members to change, as in RFC 7591 §2; `null` removes one. A client that loses a redirect URI, a grant type or
    /// all its keys, or authenticates otherwise, loses its grants. After a change to a method with a secret, rotate the
    /// secret to get one.
    metadata: Map<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewClient")]
struct Create {
    /// As in RFC 7591 §2.
    metadata: Map<String, Value>,
    trust: Trust,
    #[serde(default = "default_profile")]
    profile: Profile,
    #[serde(default = "default_mode")]
    organization_mode: OrganizationMode,
    /// The organization that the client belongs to and acts for; it acts for no other.
    organization: Option<OrganizationId>,
}

const fn default_profile() -> Profile {
    Profile::Default
}

const fn default_mode() -> OrganizationMode {
    OrganizationMode::Optional
}

/// A client.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Client")]
struct Shown {
    client_id: String,
    trust: Trust,
    profile: Profile,
    organization_mode: OrganizationMode,
    organization: Option<OrganizationId>,
    enabled: bool,
    disabled_at: Option<Time>,
    /// Whether the client registered itself (RFC 7591) and can change its registration.
    registered_itself: bool,
    has_secret: bool,
    created_at: Time,
    changed_at: Time,
    metadata: Value,
    /// Returned only when the client is created or its secret is rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
}

impl From<Found> for Shown {
    fn from(found: Found) -> Self {
        Self {
            client_id: found.id,
            trust: found.trust,
            profile: found.profile,
            organization_mode: found.organization_mode,
            organization: found.organization,
            enabled: found.disabled_at.is_none(),
            disabled_at: found.disabled_at.map(Into::into),
            registered_itself: found.registered_itself,
            has_secret: found.has_secret,
            created_at: found.created_at.into(),
            changed_at: found.changed_at.into(),
            metadata: serde_json::to_value(&found.metadata).unwrap_or_default(),
            client_secret: None,
        }
    }
}

async fn all(State(app): State<Arc<App>>, listing: Listing) -> Result<Response, Problem> {
    let filter =
        Filter { trust: listing.query.parsed("trust")?, created_after: listing.query.time("created_after") };
    let rows = list(&app, &filter, listing.after.as_ref(), listing.rows()).await?;
    Ok(listing.page(rows, |row| (row.created_at, row.id.clone()), Shown::from))
}

async fn one(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, Problem> {
    let found = find(&app, &id).await?.ok_or(ProblemCode::NotFound)?;
    Ok(api::one(found.version(), &Shown::from(found)))
}

async fn make(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    context: RequestContext,
    Json(body): Json<Create>,
) -> Result<Response, Problem> {
    let new = New {
        metadata: &Value::Object(body.metadata),
        trust: body.trust,
        profile: body.profile,
        organization_mode: body.organization_mode,
        organization: body.organization,
    };
    let (found, secret) = create(&app, &context, &caller, &new).await?;
    let (id, version) = (found.id.clone(), found.version());
    let location = format!("/v1/platform/clients/{id}");
    let mut shown = Shown::from(found);
    let Some(secret) = secret else { return Ok(created(&location, Some(version), &shown)) };
    shown.client_secret = Some(secret.reveal().to_string());
    Ok(created_with_secret(&location, &id, &shown))
}

async fn change(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    context: RequestContext,
    seen: Seen,
    patch: Patch<Settable>,
) -> Result<Response, Problem> {
    let now = find(&app, &id).await?.ok_or(ProblemCode::NotFound)?;
    // The metadata are changed under the lock, from the patch.
    let metadata = Map::new();
    let now = Settable { trust: now.trust, organization_mode: now.organization_mode, metadata };
    let Settable { trust, organization_mode, .. } = patch.apply(&now)?;
    let metadata = patch.object("metadata").unwrap_or(&now.metadata);
    let change = Change { trust, organization_mode, metadata };
    let found = set(&app, &context, &caller, &id, seen, change).await?;
    Ok(api::one(found.version(), &Shown::from(found)))
}

async fn rotate(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    context: RequestContext,
) -> Result<Response, Problem> {
    let (found, secret) = rotate_secret(&app, &context, &caller, &id).await?;
    let mut shown = Shown::from(found);
    shown.client_secret = Some(secret.reveal().to_string());
    Ok(created_with_secret(&format!("/v1/platform/clients/{id}"), &id, &shown))
}

async fn disable(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    context: RequestContext,
) -> Result<Response, Problem> {
    enabled(&app, &context, &caller, &id, false).await
}

async fn enable(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    context: RequestContext,
) -> Result<Response, Problem> {
    enabled(&app, &context, &caller, &id, true).await
}

async fn enabled(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: &str,
    enabled: bool,
) -> Result<Response, Problem> {
    set_enabled(app, context, caller, id, enabled).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
