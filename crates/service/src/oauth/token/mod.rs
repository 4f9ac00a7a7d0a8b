//! The token endpoint (OAuth 2.1 §3.2).
//!
//! 1. The form is read, each parameter once.
//! 2. The client proves itself.
//! 3. `grant_type` picks a row of [`grants::GRANTS`], which the client must hold.
//! 4. The grant decides; [`issue`] signs.

mod endpoint;
pub mod grants;
pub mod issue;

use std::sync::Arc;

use porteiro_protocol::{error::ErrorCode, form::Parameters};
use serde::Serialize;

use super::client_auth;
use crate::{
    App,
    http::{OAuthError, RequestContext, Route},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// RFC 6749 §5.1. Members without a value are absent.
#[derive(Serialize)]
pub struct TokenResponse {
    pub access_token: String,
    pub token_type: &'static str,
    pub expires_in: i64,
    pub scope: String,
}

impl std::fmt::Debug for TokenResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<tokens>")
    }
}

async fn respond(
    app: &Arc<App>,
    context: &RequestContext,
    form: &Parameters,
) -> Result<TokenResponse, OAuthError> {
    let client = client_auth::authenticate(app, context, form).await?;
    let name = form
        .get("grant_type")
        .ok_or_else(|| OAuthError::new(ErrorCode::InvalidRequest, "grant_type is missing"))?;
    let grant = grants::GRANTS
        .iter()
        .find(|grant| grant.name == name)
        .ok_or_else(|| OAuthError::new(ErrorCode::UnsupportedGrantType, "this grant is not served"))?;
    if !client.client.may_use_grant(grant.name) {
        return Err(OAuthError::new(ErrorCode::UnauthorizedClient, "this client may not use this grant"));
    }
    (grant.run)(app, &client, form).await
}
