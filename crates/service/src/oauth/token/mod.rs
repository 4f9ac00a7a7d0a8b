//! The token endpoint (OAuth 2.1 §3.2).
//!
//! 1. The form is read, each parameter once.
//! 2. The client proves itself.
//! 3. `grant_type` picks a row of [`grants::GRANTS`], which the client must hold.
//! 4. What the tokens are bound to is proved, where anything is.
//! 5. The grant decides; [`issue`] signs.
//! 6. A code or refresh token that was used before ends its grant, however the request was refused ([`replay`]).

mod endpoint;
pub mod grants;
pub mod issue;
pub(super) mod person;
pub(super) mod refused;
pub(super) mod replay;

use std::sync::Arc;

use porteiro_protocol::{error::ErrorCode, form::Parameters, id::OrganizationId};
use serde::Serialize;
use serde_json::Value;

use grants::Grant;
pub use person::{for_person, narrowed, present};
pub use refused::because;

use super::{
    binding::{self, Binding, Remember},
    clients::{self, Client},
};
use crate::{
    App,
    http::{OAuthError, RequestContext, Route},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// A token request whose client has proved itself.
#[derive(Debug, Clone, Copy)]
pub struct TokenRequest<'a> {
    pub app: &'a Arc<App>,
    pub context: &'a RequestContext,
    pub client: &'a Client,
    pub form: &'a Parameters,
    pub binding: Binding,
}

/// RFC 6749 §5.1. Members without a value are absent.
#[derive(Serialize)]
pub struct TokenResponse {
    pub access_token: String,
    pub token_type: &'static str,
    pub expires_in: i64,
    pub scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<String>,
    /// The organization the token speaks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<OrganizationId>,
    /// What was granted, as RFC 9396 §7 wants it told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorization_details: Vec<Value>,
}

impl std::fmt::Debug for TokenResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<tokens>")
    }
}

async fn respond(
    app: &Arc<App>,
    context: &RequestContext,
    client: &Client,
    form: &Parameters,
) -> Result<TokenResponse, OAuthError> {
    let (grant, binding) = match begun(app, context, client, form).await {
        Ok(begun) => begun,
        Err(error) => return Err(replay::looked_at(app, context, client, form, error).await),
    };
    let answer = (grant.run)(TokenRequest { app, context, client, form, binding }).await?;
    clients::used(app, client).await;
    Ok(answer)
}

/// Which grant, and what its tokens are bound to.
async fn begun(
    app: &App,
    context: &RequestContext,
    client: &Client,
    form: &Parameters,
) -> Result<(&'static Grant, Binding), OAuthError> {
    let name = form
        .get("grant_type")
        .ok_or_else(|| OAuthError::new(ErrorCode::InvalidRequest, "grant_type is missing"))?;
    let grant = grants::GRANTS
        .iter()
        .find(|grant| grant.name == name && (grant.served)(&app.checked.settings))
        .ok_or_else(|| OAuthError::new(ErrorCode::UnsupportedGrantType, "this grant is not served"))?;
    if !client.may_use_grant(grant.name) {
        return Err(OAuthError::new(ErrorCode::UnauthorizedClient, "this client may not use this grant"));
    }
    let remember = remember(app, client, grant, form);
    let binding = binding::of_request(app, context, client, endpoint::PATH, remember).await?;
    Ok((grant, binding))
}

/// Whether a proof of possession is worth remembering: not beside a code or token that is not ours, which the grant will
/// refuse.
fn remember(app: &App, client: &Client, grant: &Grant, form: &Parameters) -> Remember {
    let Some((name, kind)) = grant.presents else { return Remember::Yes };
    match form.get(name).and_then(|text| app.secrets.handles.open(kind, text)) {
        Some(presented) => Remember::within(client, presented.route.row),
        None => Remember::No,
    }
}
