//! The platform creates, verifies and disables clients.

mod endpoint;
mod store;

use porteiro_protocol::{
    client_metadata::{ClientMetadata, MetadataError},
    id::{Id, OrganizationId},
    secret::Plain,
    time::OffsetDateTime,
};
use serde_json::{Value, json};
use uuid::Uuid;

pub use store::{Filter, Found};

use crate::{
    App,
    api::Seen,
    http::{Problem, ProblemCode, RequestContext, Route, TxProblem},
    management::{Caller, standing},
    oauth::{
        apis::Api,
        clients::{self, ALLOWED, Client, ClientSecret, OrganizationMode, Profile, Trust},
        registration::{
            Rules,
            administer::{self, Change},
        },
    },
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
    let apis = app.directory.apis(&app.store).await?;
    let metadata = checked(rules(app, &apis), new)?;
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

fn checked(rules: Rules<'_>, new: &New<'_>) -> Result<ClientMetadata, Problem> {
    let metadata = ClientMetadata::parse(new.metadata, &ALLOWED).map_err(unfit)?;
    rules.check(new.profile, new.trust, &metadata).map_err(unfit)?;
    if new.organization.is_some() && new.organization_mode == OrganizationMode::None {
        return Err(refused(
            "organization_mode must not be none for a client that belongs to an organization",
        ));
    }
    Ok(metadata)
}

fn rules<'a>(app: &'a App, apis: &'a [Api]) -> Rules<'a> {
    Rules { settings: &app.checked.settings, apis }
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

fn unfit(error: MetadataError) -> Problem {
    refused(error.detail)
}

/// Changes the version that the caller has seen, by the rules of registration.
async fn set(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: &str,
    seen: Seen,
    change: Change<'_>,
) -> Result<Found, TxProblem> {
    let apis = app.directory.apis(&app.store).await?;
    let rules = rules(app, &apis);
    let changed = app
        .store
        .try_tx("platform.set_client", |tx| async move {
            let before = administer::lock(&tx, id).await?.ok_or(ProblemCode::NotFound)?;
            standing::still(&tx, caller, WRITE).await?;
            seen.check(store::version(before.changed_at))?;
            let decided = administer::decide(&before, change, rules).map_err(unfit)?;
            administer::apply(&tx, &before, &decided).await?;
            let more = json!({
                "before": {"trust": before.trust, "organization_mode": before.organization_mode},
                "after": {"trust": change.trust, "organization_mode": change.organization_mode},
                "members": decided.members,
            });
            note(app, &tx, context, caller, EventKind::ClientAdministered, id, more).await?;
            Ok(store::find(&tx, id).await?.ok_or(ProblemCode::NotFound)?)
        })
        .await;
    app.directory.forget(id);
    changed
}

/// Replaces the secret. The new secret is only returned here.
async fn rotate_secret(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: &str,
) -> Result<(Found, ClientSecret), TxProblem> {
    let secret = ClientSecret::generate(&*app.entropy);
    let new = &secret;
    let rotated = app
        .store
        .try_tx("platform.rotate_client_secret", |tx| async move {
            let before = administer::lock(&tx, id).await?.ok_or(ProblemCode::NotFound)?;
            standing::still(&tx, caller, WRITE).await?;
            if !administer::replace_secret(&tx, &before, new).await? {
                let text = "the client does not authenticate with a secret";
                return Err(Problem::new(ProblemCode::Conflict, text).into());
            }
            note(app, &tx, context, caller, EventKind::ClientSecretRotated, id, json!({})).await?;
            Ok(store::find(&tx, id).await?.ok_or(ProblemCode::NotFound)?)
        })
        .await;
    app.directory.forget(id);
    Ok((rotated?, secret))
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
