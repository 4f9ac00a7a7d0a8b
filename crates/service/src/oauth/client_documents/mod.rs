//! Clients whose id is the URL of a document about them (draft-ietf-oauth-client-id-metadata-document; docs/decisions/0091).
//!
//! 1. [`look`]: the id must have the draft's form. A client whose document was read and is still valid is a client like
//!    any other: a row, found by every endpoint.
//! 2. Nothing is fetched for a caller who has not signed in: a flow signs the person in and leads back to the same
//!    request ([`purpose`]). An administrator of an organization may also name the URL ([`name`]).
//! 3. The document is fetched through the guarded fetcher, so often for one account and network, and read by the rules
//!    for self-registered clients. What cannot be fetched or read is not kept.
//! 4. The row is written, or renewed. If the document changed so much that it describes another client, what was granted
//!    before ends, and its trust is that of a new client ([`apply`]).
//! 5. A client that asks without a browser has its document read again when it is no longer valid ([`read_again`]).
//! 6. Unused rows are deleted; a later request fetches the document again ([`expiry`]).

mod again;
mod decide;
mod expiry;
mod purpose;
mod store;

use std::sync::Arc;

use porteiro_protocol::{
    client_metadata::{ClientIdUrl, ClientMetadata},
    error::ErrorCode,
};
use serde_json::json;
use uuid::Uuid;

pub use again::read_again;
pub use expiry::{EXPIRY, expire};
pub use purpose::{ClientDocumentPurpose, sign_in_first};

use self::store::Known;
use super::{
    clients::{self, Profile},
    registration::{self, CROWD, New, ReadDocument, SELF_REGISTERED, weighty_changes},
};
use crate::{
    App,
    fetch::Destination,
    flow::{self, FlowError},
    http::{OAuthError, Problem, ProblemCode, RequestContext},
    limits::{self, Bucket, DOCUMENT_ADDRESS, DOCUMENT_SUBJECT, Limited, REGISTER_SITE, Rule, network},
    secrets::sha256,
    security_log::{self, Event, EventKind},
    store::{StoreError, Tx},
};

/// The draft's §9.6 recommends five kilobytes.
const LARGEST: usize = 5 * 1024;

/// What is known of the client that an authorization request names.
#[derive(Debug)]
pub enum Looked {
    /// All there is to know: it has a row, or its id is no URL.
    Known,
    /// Its document is read for a person who has signed in.
    SignInFirst,
    Unusable(OAuthError),
}

/// Steps 1 to 4, for a client id in an authorization request.
pub async fn look(app: &Arc<App>, context: &RequestContext, client_id: &str) -> Result<Looked, FlowError> {
    if !ClientIdUrl::is_claimed_by(client_id) {
        return Ok(Looked::Known);
    }
    let url = match ClientIdUrl::parse(client_id) {
        Ok(url) => url,
        Err(error) => return Ok(Looked::Unusable(refused(error.to_string()))),
    };
    match store::find(&app.store, &url).await? {
        Some(Known { is_disabled: true, .. }) => return Ok(Looked::Unusable(unknown())),
        Some(Known { is_fresh: true, .. }) => return Ok(Looked::Known),
        None if !is_open(app) => return Ok(Looked::Unusable(unknown())),
        Some(_) | None => {}
    }
    let Some(person) = flow::current_session(app, context).await? else { return Ok(Looked::SignInFirst) };
    if let Some(limited) = limited(app, context, person.account_id.uuid()).await? {
        return Err(limited.into());
    }
    Ok(match read(app, context, &url).await {
        Ok(()) => Looked::Known,
        Err(error) => Looked::Unusable(error),
    })
}

/// The same for an organization that allows a client by name: its administrator has signed in.
///
/// # Errors
/// Why there can be no such client.
pub async fn name(
    app: &Arc<App>,
    context: &RequestContext,
    organization: Uuid,
    client_id: &str,
) -> Result<(), Problem> {
    if !ClientIdUrl::is_claimed_by(client_id) {
        return Ok(());
    }
    let not_found = |detail: String| Problem::new(ProblemCode::NotFound, detail);
    let url = ClientIdUrl::parse(client_id).map_err(|error| not_found(error.to_string()))?;
    if store::find(&app.store, &url).await?.is_some() || !is_open(app) {
        return Ok(());
    }
    if let Some(limited) = limited(app, context, organization).await? {
        return Err(limited.into());
    }
    read(app, context, &url).await.map_err(|error| match error.code {
        ErrorCode::TemporarilyUnavailable => ProblemCode::Unavailable.into(),
        _ => not_found(error.description),
    })
}

/// Whether unverified clients are accepted: the setting is the same as for registration.
pub fn is_open(app: &App) -> bool {
    app.checked.settings.client_registrations_per_hour > 0
}

fn refused(detail: impl Into<String>) -> OAuthError {
    OAuthError::new(ErrorCode::InvalidRequest, detail)
}

fn unknown() -> OAuthError {
    refused("the client is unknown")
}

async fn limited(app: &App, context: &RequestContext, subject: Uuid) -> Result<Option<Limited>, StoreError> {
    let bucket = |rule: Rule, whom: &[u8]| Bucket { rule, key: app.secrets.limit_key(rule.name, whom) };
    let buckets =
        [bucket(DOCUMENT_SUBJECT, subject.as_bytes()), bucket(DOCUMENT_ADDRESS, &network(context.address))];
    limits::take(&app.store, &buckets).await
}

/// Steps 3 and 4. No connection to the database is held while the document is fetched.
async fn read(app: &App, context: &RequestContext, url: &ClientIdUrl) -> Result<(), OAuthError> {
    let fetched = app.fetcher.get_cacheable_json(Destination::Documents, url.as_str(), LARGEST).await;
    let (document, lifetime) =
        fetched.map_err(|_| refused("the client's metadata document could not be fetched"))?;
    let metadata = ClientMetadata::parse_document(&document, url, &decide::ALLOWED);
    let mut metadata = metadata.map_err(|error| unfit(&error.detail))?;
    // Before anything is left out that depends on the APIs here.
    let digest = sha256(json!(metadata).to_string().as_bytes());
    let apis = app.directory.apis(&app.store).await?;
    decide::keep_open_scopes(&mut metadata, &apis);
    let profile = clients::find(&app.store, url.as_str()).await?.map_or(Profile::Default, |it| it.profile);
    let settled = registration::settle(app, profile, &mut metadata).await;
    settled.map_err(|error| match error.code {
        ErrorCode::InvalidClientMetadata | ErrorCode::InvalidRedirectUri => unfit(&error.description),
        _ => error,
    })?;
    let document = ReadDocument { digest: &digest, seconds: decide::lifetime(lifetime) };
    let applied = app
        .store
        .run_tx("client_documents.apply", async |tx| apply(app, &tx, context, url, &metadata, document).await)
        .await;
    app.directory.forget(url.as_str());
    if applied? { Ok(()) } else { Err(unknown()) }
}

fn unfit(detail: &str) -> OAuthError {
    refused(format!("the client's metadata document is not usable: {detail}"))
}

/// Step 4. `false` where an administrator has disabled the client, or where there is no room for a new one.
async fn apply(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    url: &ClientIdUrl,
    metadata: &ClientMetadata,
    document: ReadDocument<'_>,
) -> Result<bool, StoreError> {
    let Some(before) = store::lock(tx, url).await? else {
        return insert(app, tx, context, url, metadata, document).await;
    };
    if before.is_disabled {
        return Ok(false);
    }
    // What an administrator changed here stays until the publisher changes the document.
    if before.digest == document.digest {
        return store::renew(tx, url, document.seconds).await;
    }
    let members = weighty_changes(&before.metadata, metadata);
    let replaced = store::replace(tx, url, metadata, document, !members.is_empty()).await?;
    let payload = json!({"client_id": url.as_str(), "members": members});
    note(app, tx, context, EventKind::ClientChanged, payload).await?;
    Ok(replaced)
}

/// A new client, unless there is a crowd of unused ones (docs/decisions/0079). Another request may have inserted it a
/// moment before: then it exists.
async fn insert(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    url: &ClientIdUrl,
    metadata: &ClientMetadata,
    document: ReadDocument<'_>,
) -> Result<bool, StoreError> {
    let new = New {
        client_id: url.as_str(),
        trust: SELF_REGISTERED,
        metadata,
        secret_hash: None,
        registration_hash: None,
        document: Some(document),
    };
    let registered_from = app.secrets.limit_key(REGISTER_SITE.name, &limits::site(context.address));
    if registration::insert(tx, &new, &registered_from, CROWD).await?.is_some() {
        let payload = json!({"client_id": url.as_str()});
        note(app, tx, context, EventKind::ClientRegistered, payload).await?;
        return Ok(true);
    }
    Ok(store::find(tx, url).await?.is_some_and(|known| !known.is_disabled))
}

async fn note(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    kind: EventKind,
    payload: serde_json::Value,
) -> Result<(), StoreError> {
    security_log::record(app, tx, context, Event { kind, subject: Uuid::nil(), payload }).await
}
