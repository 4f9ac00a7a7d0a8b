//! Redeeming an authorization code (OAuth 2.1 §4.1.3): once, by its client, with the verifier, within a minute.
//!
//! 1. A malformed code or a missing verifier is refused without the database.
//! 2. One statement redeems the code, or finds that it was redeemed before and revokes its grant. An invalid request
//!    changes nothing: a thief without the verifier cannot end a grant.
//! 3. The client receives an access token, an ID token for an OpenID request, and a refresh token if it registered to
//!    use them.

use std::sync::Arc;

use porteiro_protocol::pkce::CodeVerifier;

use super::{
    apis::Apis,
    clients::Profile,
    details::Narrowed,
    minting,
    redeem::{Shown, for_person, invalid_grant, narrowed, present, replay, same_organization},
    token_request::{Grant, TokenRequest, TokenResponse},
};
use crate::{
    http::OAuthError,
    secrets::{HandleKind, Presented},
};
use porteiro_protocol::error::ErrorCode;

pub const GRANT: Grant = Grant { name: "authorization_code", run: |request| Box::pin(grant(request)) };

async fn grant(request: TokenRequest<'_>) -> Result<TokenResponse, OAuthError> {
    let form = request.form;
    let code =
        form.get("code").ok_or_else(|| OAuthError::new(ErrorCode::InvalidRequest, "code is missing"))?;
    let handle = request.app.secrets.handles.open(HandleKind::Code, code).ok_or_else(invalid_grant)?;
    let verifier = form.get("code_verifier").and_then(|text| CodeVerifier::parse(text).ok());
    let verifier = verifier.ok_or_else(invalid_grant)?;
    let shown = Shown {
        challenge: Some(verifier.challenge()),
        redirect_uri: form.get("redirect_uri").map(str::to_owned),
        ..Shown::default()
    };
    redeem(request, &handle, shown).await
}

/// Redeems a genuine code, or a device code in its place.
pub(super) async fn redeem(
    request: TokenRequest<'_>,
    handle: &Presented,
    shown: Shown,
) -> Result<TokenResponse, OAuthError> {
    let TokenRequest { app, context, client, form, .. } = request;
    let apis = app.directory.apis(&app.store).await?;
    let details = match narrowing(request, handle, &apis).await {
        Ok(details) => details,
        Err(error) => return Err(replay::looked_at(app, context, client, form, error).await),
    };
    let shown = Shown { details, ..shown };
    let (live, refresh) = present(request, handle, &shown, &apis).await?;
    let mut response = for_person(request, &apis, &live, &shown).await?;
    if live.authority.scope().contains("openid") {
        response.id_token =
            Some(minting::id_token(app, request.client, &live, &response.access_token).await?);
    }
    if may_refresh(&request) {
        response.refresh_token = Some(refresh.text.to_string());
    }
    Ok(response)
}

/// Refusals before the code is presented.
async fn narrowing(
    request: TokenRequest<'_>,
    handle: &Presented,
    apis: &Arc<Apis>,
) -> Result<Option<Narrowed>, OAuthError> {
    same_organization(request, handle).await?;
    narrowed(request, handle, apis).await
}

/// Rotation and the retry that FAPI 2.0 requires exclude each other (docs/decisions/0020).
fn may_refresh(request: &TokenRequest<'_>) -> bool {
    match request.client.profile {
        Profile::Default => request.client.may_use_grant("refresh_token"),
        Profile::Fapi2 => false,
    }
}
