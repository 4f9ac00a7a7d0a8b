//! Access tokens (RFC 9068): the one place that mints them.

use std::sync::Arc;

use porteiro_protocol::{error::ErrorCode, id::Id, scope::Scope, time::numeric_date};
use serde::Serialize;

use super::TokenResponse;
use crate::{App, http::OAuthError, oauth::apis::Api};

/// Claims of an access token. Members without a value are absent.
#[derive(Serialize)]
struct AccessToken<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    exp: i64,
    iat: i64,
    jti: String,
    client_id: &'a str,
    scope: String,
}

/// Somebody that names a token id.
#[derive(Debug)]
enum Token {}

pub async fn access_token(
    app: &Arc<App>,
    api: &Api,
    subject: &str,
    client_id: &str,
    scope: &Scope,
) -> Result<TokenResponse, OAuthError> {
    let now = numeric_date(app.clock.now());
    let expires_in = i64::from(api.token_seconds);
    let claims = AccessToken {
        iss: app.issuer(),
        sub: subject,
        aud: &api.identifier,
        exp: now + expires_in,
        iat: now,
        jti: Id::<Token>::random(&*app.entropy).to_string(),
        client_id,
        scope: scope.to_string(),
    };
    let failed = |error: crate::oauth::keys::SignError| {
        tracing::error!(%error, "a token could not be signed");
        OAuthError::new(ErrorCode::TemporarilyUnavailable, "try again in a moment")
    };
    let signer = app.keys.current().signer(api.algorithm).map_err(failed)?;
    let access_token = signer.jwt("at+jwt", &claims).await.map_err(failed)?;
    Ok(TokenResponse { access_token, token_type: "Bearer", expires_in, scope: claims.scope })
}
