//! Polling by a device (RFC 8628 §3.4 and §3.5).

use porteiro_protocol::error::ErrorCode;

use super::{State, store};
use crate::{
    http::OAuthError,
    oauth::{
        clients::Trust,
        code_grant,
        grant_types::DEVICE_CODE,
        redeem::{Shown, invalid_grant},
        token_request::{Grant, TokenRequest, TokenResponse},
    },
    secrets::{HandleKind, Presented, Route},
};

pub const GRANT: Grant = Grant { name: DEVICE_CODE, run: |request| Box::pin(grant(request)) };

async fn grant(request: TokenRequest<'_>) -> Result<TokenResponse, OAuthError> {
    let app = request.app;
    match request.client.trust {
        // The client's current trust decides, not the trust at the time of the request.
        Trust::Unverified => {
            let text = "this grant type is not available to unverified clients";
            return Err(OAuthError::new(ErrorCode::UnauthorizedClient, text));
        }
        Trust::Verified | Trust::FirstParty => {}
    }
    let code = request
        .form
        .get("device_code")
        .ok_or_else(|| OAuthError::new(ErrorCode::InvalidRequest, "device_code is missing"))?;
    let handle = app.secrets.handles.open(HandleKind::DeviceCode, code).ok_or_else(invalid_grant)?;
    let polled = store::poll(&app.store, handle.route.row, &request.client.id, &handle.hash).await?;
    let polled = polled.ok_or_else(invalid_grant)?;
    if polled.too_soon {
        let text = format!("wait {} seconds between polls", polled.interval_seconds);
        return Err(OAuthError::new(ErrorCode::SlowDown, text));
    }
    match (polled.state, polled.granted) {
        (State::Denied, _) => {
            let error = OAuthError::new(ErrorCode::AccessDenied, "access was denied");
            Err(error.at_token_endpoint())
        }
        (State::Pending, _) if polled.expired => Err(OAuthError::new(
            ErrorCode::ExpiredToken,
            "the code expired before the person confirmed it; start again",
        )),
        (State::Pending, _) => Err(OAuthError::new(
            ErrorCode::AuthorizationPending,
            "the person has not confirmed the request yet",
        )),
        (State::Approved, Some((account, grant))) => {
            let route = Route { owner: account, row: grant, generation: 0 };
            let code = Presented { route, hash: handle.hash };
            // The secret part of the device code is its own verifier.
            let shown = Shown { challenge: Some(handle.hash), ..Shown::default() };
            code_grant::redeem(request, &code, shown).await
        }
        // A constraint of the table excludes this.
        (State::Approved, None) => Err(invalid_grant()),
    }
}
