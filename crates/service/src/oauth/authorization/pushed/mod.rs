//! Requests that were pushed before (RFC 9126), until the authorization endpoint uses them.

mod store;

use porteiro_protocol::authorization_request::RawRequest;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use store::{consume, insert, keep, sweep};

use crate::{App, secrets::HandleKind, store::StoreError};

pub const PREFIX: &str = "urn:ietf:params:oauth:request_uri:";
/// How long a client may take from pushing to sending the person.
pub const SECONDS: i32 = 90;

/// What is kept.
#[derive(Debug, Serialize, Deserialize)]
pub struct Stored {
    pub request: RawRequest,
    pub signed: bool,
}

/// A pushed request that may be used now.
#[derive(Debug)]
pub struct Found {
    pub id: Uuid,
    pub request: RawRequest,
    pub signed: bool,
}

/// The request behind an address, if it is this client's and still good.
pub async fn find(app: &App, uri: &str, client_id: &str) -> Result<Option<Found>, StoreError> {
    let presented =
        uri.strip_prefix(PREFIX).and_then(|text| app.secrets.handles.open(HandleKind::Pushed, text));
    let Some(presented) = presented else { return Ok(None) };
    let id = presented.route.row;
    let stored = store::find(&app.store, id, client_id, &presented.hash).await?;
    Ok(stored.map(|stored| Found { id, request: stored.request, signed: stored.signed }))
}
