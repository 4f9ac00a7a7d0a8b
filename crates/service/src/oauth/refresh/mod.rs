//! Refreshing (OAuth 2.1 §4.3): every refresh token is used once, and its successor is in the response.
//!
//! 1. A malformed token is refused without the database.
//! 2. One statement makes the successor current, or finds that this token was used before and revokes the whole
//!    family, whichever party used it first. There is no grace period: a client that loses a response needs a new
//!    authorization.
//! 3. The scope may be narrower for this access token; the family keeps the granted one.

use std::sync::Arc;

use porteiro_protocol::{error::ErrorCode, scope::Scope};

use super::{
    apis::Apis,
    redeem::{Shown, for_person, invalid_grant, narrowed, present, replay, same_organization},
    token_request::{Grant, TokenRequest, TokenResponse},
};
use crate::{
    http::OAuthError,
    secrets::{HandleKind, Presented},
};

pub const GRANT: Grant = Grant { name: "refresh_token", run: |request| Box::pin(grant(request)) };

async fn grant(request: TokenRequest<'_>) -> Result<TokenResponse, OAuthError> {
    let TokenRequest { app, context, client, form, .. } = request;
    let token = form
        .get("refresh_token")
        .ok_or_else(|| OAuthError::new(ErrorCode::InvalidRequest, "refresh_token is missing"))?;
    let handle = app.secrets.handles.open(HandleKind::Refresh, token).ok_or_else(invalid_grant)?;
    let (shown, apis) = match shown(request, &handle).await {
        Ok(shown) => shown,
        Err(error) => return Err(replay::looked_at(app, context, client, form, error).await),
    };
    let (live, next) = present(request, &handle, &shown, &apis).await?;
    let mut response = for_person(request, &apis, &live, &shown).await?;
    response.refresh_token = Some(next.text.to_string());
    Ok(response)
}

/// The parts of the request that can be refused before the token is presented.
async fn shown(request: TokenRequest<'_>, handle: &Presented) -> Result<(Shown, Arc<Apis>), OAuthError> {
    let scope = request
        .form
        .get("scope")
        .map(str::parse::<Scope>)
        .transpose()
        .map_err(|_| OAuthError::new(ErrorCode::InvalidScope, "scope is malformed"))?;
    let apis = request.app.directory.apis(&request.app.store).await?;
    same_organization(request, handle).await?;
    let details = narrowed(request, handle, &apis).await?;
    Ok((Shown { scope, details, ..Shown::default() }, apis))
}
