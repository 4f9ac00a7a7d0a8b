//! The platform creates, verifies and disables clients.

mod endpoint;
mod store;

use porteiro_protocol::{
    client_metadata::ClientMetadata,
    id::{Id, OrganizationId},
    secret::Plain,
    time::OffsetDateTime,
};
use serde_json::{Value, json};
use uuid::Uuid;

pub use store::{Filter, Found};

use crate::{
    App,
    api::stale,
    http::{Problem, ProblemCode, RequestContext, Route, TxProblem},
    management::{Caller, standing},
    oauth::clients::{self, ALLOWED, Client, ClientSecret, OrganizationMode, Profile, Trust},
    organizations,
    security_log::{self, EventKind},
    store::{StoreError, Tx},
};

const WRITE: &str = "platform.clients:write";

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// A client to create.
#[derive(Debug)]
struct New<'a> {
    metadata: &'a Value,
    trust: Trust,
    profile: Profile,
    organization_mode: OrganizationMode,
    organization: Option<OrganizationId>,
}

/// Creates a client. Only this response contains its secret.
async fn create(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    new: &New<'_>,
) -> Result<(Found, Option<ClientSecret>), TxProblem> {
    let metadata = checked(app, new).map_err(refused)?;
    let id = Id::<Client>::random(&*app.entropy).to_string();
    let secret = clients::needs_secret(&metadata).then(|| ClientSecret::generate(&*app.entropy));
    let hash = secret.as_ref().map(Plain::hash);
    let row = store::New {
        id: &id,
        trust: new.trust,
        profile: new.profile,
        metadata: &metadata,
        secret_hash: hash.as_ref().map(|hash| hash.as_bytes().as_slice()),
        organization_mode: new.organization_mode,
        organization: new.organization,
    };
    let row = &row;
    let made = app
        .store
        .try_tx("platform.create_client", |tx| async move {
            standing::still(&tx, caller, WRITE).await?;
            if let Some(organization) = new.organization
                && organizations::find(&tx, organization).await?.is_none()
            {
                return Err(refused("the organization is unknown").into());
            }
            store::insert(&tx, row).await?;
            note(app, &tx, context, caller, EventKind::ClientCreated, row.id, json!({})).await?;
            Ok(store::find(&tx, row.id).await?.ok_or(ProblemCode::NotFound)?)
        })
        .await?;
    Ok((made, secret))
}

fn checked(app: &App, new: &New<'_>) -> Result<ClientMetadata, String> {
    let metadata = ClientMetadata::parse(new.metadata, &ALLOWED).map_err(|error| error.detail)?;
    clients::check(new.profile, &metadata).map_err(|error| error.detail)?;
    if !clients::is_served(&app.checked.settings, &metadata.token_endpoint_auth_method) {
        return Err(
            "token_endpoint_auth_method requires client certificates, which are not configured".into()
        );
    }
    if new.organization.is_some() && new.organization_mode == OrganizationMode::None {
        return Err("organization_mode must not be none for a client that belongs to an organization".into());
    }
    Ok(metadata)
}

async fn list(
    app: &App,
    filter: &Filter,
    after: Option<&(OffsetDateTime, String)>,
    most: i64,
) -> Result<Vec<Found>, StoreError> {
    store::list(&app.store, filter, after, most).await
}

async fn find(app: &App, id: &str) -> Result<Option<Found>, StoreError> {
    store::find(&app.store, id).await
}

/// A problem with an invalid field.
fn refused(text: impl Into<String>) -> Problem {
    Problem::new(ProblemCode::FieldInvalid, text)
}

/// Sets trust and organization mode of the version that the caller has seen; `change` returns the new values.
async fn set(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: &str,
    seen: i64,
    (trust, mode): (Trust, OrganizationMode),
) -> Result<Found, TxProblem> {
    let changed = app
        .store
        .try_tx("platform.set_client", |tx| async move {
            let before = store::lock(&tx, id).await?.ok_or(ProblemCode::NotFound)?;
            standing::still(&tx, caller, WRITE).await?;
            if before.version() != seen {
                return Err(stale().into());
            }
            if before.organization.is_some() && mode == OrganizationMode::None {
                let text = "organization_mode must not be none for a client that belongs to an organization";
                return Err(refused(text).into());
            }
            let ends = clients::narrows((before.trust, before.organization_mode), (trust, mode));
            store::set(&tx, id, trust, mode, ends).await?;
            let more = json!({
                "before": {"trust": before.trust, "organization_mode": before.organization_mode},
                "after": {"trust": trust, "organization_mode": mode},
            });
            note(app, &tx, context, caller, EventKind::ClientAdministered, id, more).await?;
            Ok(store::find(&tx, id).await?.ok_or(ProblemCode::NotFound)?)
        })
        .await;
    app.directory.forget(id);
    changed
}

/// Disables or enables. Repeating it changes nothing.
async fn set_enabled(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: &str,
    enabled: bool,
) -> Result<(), TxProblem> {
    let known = app
        .store
        .try_tx("platform.enable_client", |tx| async move {
            store::lock(&tx, id).await?.ok_or(ProblemCode::NotFound)?;
            standing::still(&tx, caller, WRITE).await?;
            let changed = if enabled {
                clients::enable_in(&tx, id).await?
            } else {
                clients::disable_in(&tx, id).await?
            };
            if changed {
                let more = json!({"before": {"enabled": !enabled}, "after": {"enabled": enabled}});
                note(app, &tx, context, caller, EventKind::ClientAdministered, id, more).await?;
            }
            Ok(())
        })
        .await;
    app.directory.forget(id);
    known
}

/// Locks the client; `false` if there is none.
pub(crate) async fn lock(tx: &Tx, id: &str) -> Result<bool, StoreError> {
    Ok(store::lock(tx, id).await?.is_some())
}

pub(crate) async fn exists(app: &App, id: &str) -> Result<bool, StoreError> {
    Ok(find(app, id).await?.is_some())
}

pub(crate) async fn note(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    kind: EventKind,
    id: &str,
    more: Value,
) -> Result<(), StoreError> {
    let mut payload = json!({"client_id": id, "by": caller.key()});
    if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
        payload.extend(more);
    }
    security_log::record(app, tx, context, security_log::Event { kind, subject: Uuid::nil(), payload }).await
}
