//! Refreshing (OAuth 2.1 §4.3): every token is good once, and the next one comes with the answer.
//!
//! 1. Junk is refused without asking the database.
//! 2. One statement makes the next token current, or finds that this one was used before and revokes the whole family,
//!    whoever was right. There is no grace: a client that loses an answer asks its person again.
//! 3. The scope may be narrower for this access token; the family keeps what was granted.

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

/// What is asked of the grant, as far as it can be refused before it is presented.
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
