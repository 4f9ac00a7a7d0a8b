//! Device authorization (RFC 8628): a person with a browser authorizes a device without one.
//!
//! 1. The client authenticates and sends the request; every check of the authorization endpoint runs now. It receives
//!    a device code for polling and a user code to display.
//! 2. A person signs in, enters the user code and sees the client, the origin and the scopes of the request
//!    ([`look`], a step of a flow of the kind `confirm_device`). Signing in comes first, so that codes cannot be
//!    probed anonymously. The person who looked the code up decides.
//! 3. Approval writes the grant in the transaction that completes the flow, as for any authorization; its code is the
//!    device code, which is also its own verifier.
//! 4. Meanwhile the device polls ([`grant`]): one statement decides whether it has to wait or slow down, or the
//!    request is over; the first poll after approval redeems the code by the same statement as any other.

mod endpoint;
mod grant;
mod look;
mod purpose;
mod store;

use std::sync::Arc;

use porteiro_protocol::{
    authorization_request::RawRequest, entropy::Entropy, error::ErrorCode, form::Parameters, id::AccountId,
    user_code::UserCode,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

pub use grant::GRANT;
pub use purpose::DevicePurpose;
pub use store::sweep;

use super::{
    authorization::{self, Asking, Continued},
    client_auth::AuthenticatedClient,
    grants::{self, Why},
    logout,
};
use crate::{
    App,
    http::{OAuthError, RequestContext, Route},
    jobs::JobKind,
    limits::{self, Bucket, DEVICE_REQUEST, network},
    secrets::{HandleKind, Issued, Route as HandleRoute, Secrets},
    store::{StoreError, Tx, text_enum},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// The job that deletes expired requests.
pub const SWEEPING: JobKind<App> = JobKind::<App>::new("device_requests.sweep", |app, _| {
    Box::pin(async move { Ok(sweep(&app.store).await.map(|_| ())?) })
})
.every(|_| 600);

/// How long a person has to confirm.
const SECONDS: i32 = 300;
/// How long the device has to fetch its tokens after approval: twice the longest polling interval.
const NOTICED_SECONDS: f64 = 120.0;
/// RFC 8628 §3.2: the initial interval between two polls.
const INTERVAL: i32 = 5;

text_enum! {
    /// The state of a device authorization request.
    State { Pending = "pending", Approved = "approved", Denied = "denied" }
}

/// The stored origin of a request.
#[derive(Debug, Serialize, Deserialize)]
struct AskedFrom {
    address: String,
    user_agent: String,
}

/// The request of a device, not bound to a person yet.
fn continued(request: RawRequest, device: Asking) -> Continued {
    Continued { device: Some(device), ..Continued::plain(request) }
}

/// The person's denial. The later decision wins: it also ends a grant that the same person approved in another
/// window.
async fn refuse(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    id: Uuid,
    account: AccountId,
) -> Result<(), StoreError> {
    if store::deny(tx, id, account).await? {
        return Ok(());
    }
    let Some((grant, client)) = store::approved(tx, id, account).await? else { return Ok(()) };
    match grants::revoke_one(tx, grant, account.uuid(), &client, Why::Owner).await? {
        Some(revoked) => logout::grant_ended(app, tx, context, &revoked, Why::Owner).await,
        None => Ok(()),
    }
}

/// The content of the device authorization response.
#[derive(Debug)]
struct Begun {
    device_code: Issued,
    user_code: UserCode,
    page: String,
}

/// The row id of a user code. Keyed, so that codes cannot be recovered from the table.
fn row(secrets: &Secrets, code: &UserCode) -> Uuid {
    let key = secrets.identifier_key("user_code", code.as_bytes());
    Uuid::from_slice(&key[..16]).unwrap_or_default()
}

/// Stores a device authorization request.
async fn begin(
    app: &Arc<App>,
    context: &RequestContext,
    authenticated: &AuthenticatedClient,
    form: &Parameters,
) -> Result<Begun, OAuthError> {
    let client = &authenticated.client;
    let Some(path) = app.checked.settings.device_page_path.as_deref() else {
        return Err(OAuthError::new(
            ErrorCode::UnauthorizedClient,
            "the service has no page for confirming devices",
        ));
    };
    if client.is_public() || !client.is_verified() {
        let key = app.secrets.limit_key(DEVICE_REQUEST.name, &network(context.address));
        if let Some(limited) = limits::take(&app.store, &[Bucket { rule: DEVICE_REQUEST, key }]).await? {
            return Err(limited.into());
        }
    }
    let from = AskedFrom { address: context.address.to_string(), user_agent: context.user_agent.clone() };
    // Two pending codes collide once in ten thousand million: then another one is drawn.
    for _ in 0..3 {
        let (user_code, row, device_code) = draw(app, &*app.entropy)?;
        let request = RawRequest::of_device(form, &client.id, &device_code.hash);
        let asking = Asking {
            id: row,
            user_code: user_code.to_string(),
            address: from.address.clone(),
            user_agent: from.user_agent.clone(),
            at: app.clock.now(),
            same_network: false,
        };
        let continued = continued(request, asking);
        authorization::prepare(app, &app.store, &continued).await?.map_err(OAuthError::from)?;
        let new = store::New {
            id: row,
            client_id: &client.id,
            hash: &device_code.hash,
            request: &continued.request,
            from: &from,
        };
        if store::insert(&app.store, &new).await? {
            let page = format!("{}{path}", app.issuer());
            return Ok(Begun { device_code, user_code, page });
        }
    }
    Err(OAuthError::new(ErrorCode::TemporarilyUnavailable, "temporarily unavailable; try again later"))
}

fn draw(app: &App, entropy: &dyn Entropy) -> Result<(UserCode, Uuid, Issued), OAuthError> {
    let user_code = UserCode::generate(entropy);
    let row = row(&app.secrets, &user_code);
    let route = HandleRoute { owner: Uuid::nil(), row, generation: 0 };
    let device_code = app.secrets.handles.issue(HandleKind::DeviceCode, route, entropy).map_err(|error| {
        tracing::error!(%error, "a device code could not be created");
        OAuthError::new(ErrorCode::ServerError, "")
    })?;
    Ok((user_code, row, device_code))
}

/// RFC 8628 §3.2.
fn answer(begun: &Begun) -> serde_json::Value {
    let user_code = begun.user_code.to_string();
    json!({
        "device_code": begun.device_code.text.as_str(),
        "user_code": user_code,
        "verification_uri": begun.page,
        "verification_uri_complete": format!("{}?user_code={user_code}", begun.page),
        "expires_in": SECONDS,
        "interval": INTERVAL,
    })
}
