//! Pushed authorization requests (RFC 9126), until the authorization endpoint uses them.

mod store;

use porteiro_protocol::authorization_request::RawRequest;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use store::{consume, insert, keep, sweep};

use crate::{App, secrets::HandleKind, store::StoreError};

pub const PREFIX: &str = "urn:ietf:params:oauth:request_uri:";
/// How long a pushed request is valid before it is used.
pub const SECONDS: i32 = 90;

/// The stored form.
#[derive(Debug, Serialize, Deserialize)]
pub struct Stored {
    pub request: RawRequest,
    pub signed: bool,
}

/// A pushed request that is valid now.
#[derive(Debug)]
pub struct Found {
    pub id: Uuid,
    pub request: RawRequest,
    pub signed: bool,
}

/// The request of this `request_uri`, if it belongs to this client and is valid.
pub async fn find(app: &App, uri: &str, client_id: &str) -> Result<Option<Found>, StoreError> {
    let presented =
        uri.strip_prefix(PREFIX).and_then(|text| app.secrets.handles.open(HandleKind::Pushed, text));
    let Some(presented) = presented else { return Ok(None) };
    let id = presented.route.row;
    let stored = store::find(&app.store, id, client_id, &presented.hash).await?;
    Ok(stored.map(|stored| Found { id, request: stored.request, signed: stored.signed }))
}
