//! Polling (CIBA Core §10.1 and §11).

use porteiro_protocol::error::ErrorCode;

use super::super::{
    grant_types::CIBA,
    redeem::invalid_grant,
    token_request::{Grant, TokenRequest, TokenResponse},
};
use crate::{
    approvals::{self, State},
    http::OAuthError,
    secrets::HandleKind,
};

pub const GRANT: Grant = Grant { name: CIBA, run: |request| Box::pin(grant(request)) };

async fn grant(request: TokenRequest<'_>) -> Result<TokenResponse, OAuthError> {
    let TokenRequest { app, client, form, .. } = request;
    // The client's current trust decides, not the trust at the time of the request.
    if client.is_public() || !client.is_verified() {
        let text = "this grant type is for confidential clients that an administrator has verified";
        return Err(OAuthError::new(ErrorCode::UnauthorizedClient, text));
    }
    let handle = form
        .get("auth_req_id")
        .ok_or_else(|| OAuthError::new(ErrorCode::InvalidRequest, "auth_req_id is missing"))?;
    let handle = app.secrets.handles.open(HandleKind::ApprovalRequest, handle).ok_or_else(invalid_grant)?;
    let (account, id) = (handle.route.owner.into(), handle.route.row.into());
    if let Some(seconds) = app.polls.hasty(id, app.clock.now()) {
        return Err(slow_down(seconds));
    }
    let polled = approvals::poll(&app.store, account, id, &client.id, &handle.hash).await?;
    let approval = polled.ok_or_else(invalid_grant)?;
    if approval.state == State::Pending {
        return Err(match app.polls.too_soon(id, app.clock.now()) {
            None => OAuthError::new(ErrorCode::AuthorizationPending, "the person has not decided yet"),
            Some(seconds) => slow_down(seconds),
        });
    }
    app.polls.forget(id);
    match approval.state {
        State::Approved => approvals::redeem(request, &approval, &handle.hash).await,
        State::Denied | State::Blocked => {
            Err(OAuthError::new(ErrorCode::AccessDenied, "the person denied the request").at_token_endpoint())
        }
        State::Expired => Err(OAuthError::new(ErrorCode::ExpiredToken, "the request expired; ask again")),
        State::Consumed | State::Pending => Err(invalid_grant()),
    }
}

fn slow_down(seconds: i64) -> OAuthError {
    OAuthError::new(ErrorCode::SlowDown, format!("wait {seconds} seconds between polls"))
}
