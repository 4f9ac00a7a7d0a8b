//! Pushed authorization requests (RFC 9126).
//!
//! 1. The client authenticates as at the token endpoint and sends its request, as parameters or signed.
//! 2. Every check of the authorization endpoint runs now, and again when the request is used.
//! 3. It is stored under a `request_uri` that only this client can use, for 90 seconds; it is consumed when an
//!    authorization completes, so that a reload before that does no harm.
//! 4. It is deleted a minute after it expired, or together with a flow that was opened with it.
//!
//! Every client is limited in number and size, whatever its kind (docs/decisions/0079).

mod endpoint;
mod limits;

use std::sync::Arc;

use porteiro_protocol::{
    authorization_request::{MAX_REQUEST, RawRequest},
    error::ErrorCode,
    form::Parameters,
    id::Id,
};
use uuid::Uuid;

pub use super::authorization::pushed::{SECONDS, sweep};

use super::{
    authorization::{
        self, Beside, Continued,
        pushed::{self, PREFIX, Stored},
    },
    client_auth::AuthenticatedClient,
};
use crate::{
    App,
    http::{OAuthError, Route},
    jobs::JobKind,
    secrets::{HandleKind, Route as HandleRoute},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// The job that deletes expired requests.
pub const SWEEPING: JobKind<App> = JobKind::<App>::new("pushed_requests.sweep", |app, _| {
    Box::pin(async move { Ok(sweep(&app.store).await.map(|_| ())?) })
})
.every(|_| 60);

/// Type of the ids of pushed requests.
enum PushedRequest {}

/// The request in a form, if it may be pushed and is not too large.
fn read(form: &Parameters) -> Result<RawRequest, OAuthError> {
    if form.get("request_uri").is_some() {
        return Err(OAuthError::new(
            ErrorCode::InvalidRequest,
            "request_uri must not be in a pushed request",
        ));
    }
    let raw = RawRequest::from_parameters(form);
    if raw.size() > MAX_REQUEST {
        let text = format!("the request must not exceed {MAX_REQUEST} bytes");
        return Err(OAuthError::new(ErrorCode::InvalidRequest, text).too_large());
    }
    Ok(raw)
}

/// Stores a request and returns its `request_uri`.
async fn push(
    app: &Arc<App>,
    authenticated: &AuthenticatedClient,
    raw: RawRequest,
    key: Option<String>,
) -> Result<String, OAuthError> {
    let client = &authenticated.client;
    let raw = raw
        .of_client(&client.id, key.as_deref())
        .map_err(|refused| OAuthError::new(refused.code, refused.description))?;
    let continued =
        authorization::continued_from(app, raw, Beside::Ignored).await?.map_err(OAuthError::from)?;
    let id = Id::<PushedRequest>::ordered(app.clock.now(), &*app.entropy);
    // Repeated for parameters that were inside a signed object.
    let request = continued
        .request
        .of_client(&client.id, key.as_deref())
        .map_err(|refused| OAuthError::new(refused.code, refused.description))?;
    let continued = Continued { request, pushed: Some(id.uuid()), ..continued };
    if continued.request.addressee().map(|addressee| addressee.client_id) != Ok(client.id.as_str()) {
        return Err(OAuthError::new(ErrorCode::InvalidRequest, "the request belongs to another client"));
    }
    authorization::prepare(app, &app.store, &continued).await?.map_err(OAuthError::from)?;
    let route = HandleRoute { owner: Uuid::nil(), row: id.uuid(), generation: 0 };
    let handle = app.secrets.handles.issue(HandleKind::Pushed, route, &*app.entropy).map_err(|error| {
        tracing::error!(%error, "a request_uri could not be created");
        OAuthError::new(ErrorCode::ServerError, "")
    })?;
    let stored = Stored { request: continued.request, signed: continued.signed };
    pushed::insert(&app.store, id.uuid(), &client.id, &handle.hash, &stored).await?;
    Ok(format!("{PREFIX}{}", handle.text.as_str()))
}
