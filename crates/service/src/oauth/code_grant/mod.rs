//! Redeeming an authorization code (OAuth 2.1 §4.1.3): once, by its client, with the verifier, within a minute.
//!
//! 1. Junk is refused without asking the database; so is a missing verifier.
//! 2. One statement redeems the code, or finds that it was redeemed before and revokes what it led to. A request that is
//!    not valid in itself changes nothing: a thief without the verifier cannot end somebody's grant.
//! 3. The client gets an access token, an ID token where a person was asked who they are, and a refresh token where it
//!    registered to use them.

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

/// Redeems what is genuine: a code, or the device code that stands for one.
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

/// What can be refused before the code is presented.
async fn narrowing(
    request: TokenRequest<'_>,
    handle: &Presented,
    apis: &Arc<Apis>,
) -> Result<Option<Narrowed>, OAuthError> {
    same_organization(request, handle).await?;
    narrowed(request, handle, apis).await
}

/// Rotation and the retry FAPI 2.0 asks for exclude each other (docs/decisions/0020).
fn may_refresh(request: &TokenRequest<'_>) -> bool {
    match request.client.profile {
        Profile::Default => request.client.may_use_grant("refresh_token"),
        Profile::Fapi2 => false,
    }
}
