//! Refreshing (OAuth 2.1 §4.3): every token is good once, and the next one comes with the answer.
//!
//! 1. Junk is refused without asking the database.
//! 2. One statement makes the next token current, or finds that this one was used before and revokes the whole family,
//!    whoever was right. There is no grace: a client that loses an answer asks its person again.
//! 3. The scope may be narrower for this access token; the family keeps what was granted.

use porteiro_protocol::{error::ErrorCode, scope::Scope};

use super::token::{
    TokenRequest, TokenResponse, for_person, narrowed,
    person::{Shown, invalid_grant, same_organization},
    present,
};
use crate::{http::OAuthError, secrets::HandleKind};

pub async fn grant(request: TokenRequest<'_>) -> Result<TokenResponse, OAuthError> {
    let (app, form) = (request.app, request.form);
    let token = form
        .get("refresh_token")
        .ok_or_else(|| OAuthError::new(ErrorCode::InvalidRequest, "refresh_token is missing"))?;
    let handle = app.secrets.handles.open(HandleKind::Refresh, token).ok_or_else(invalid_grant)?;
    let scope = form
        .get("scope")
        .map(str::parse::<Scope>)
        .transpose()
        .map_err(|_| OAuthError::new(ErrorCode::InvalidScope, "scope is not a list of scopes"))?;
    let apis = app.directory.apis(&app.store).await?;
    same_organization(request, &handle).await?;
    let details = narrowed(request, &handle, &apis).await?;
    let shown = Shown { scope: scope.clone(), ..Shown::default() };
    let (live, next) = present(request, &handle, shown).await?;
    let mut response = for_person(request, &apis, &live, scope.as_ref(), details.as_deref()).await?;
    response.refresh_token = Some(next.text.to_string());
    Ok(response)
}
