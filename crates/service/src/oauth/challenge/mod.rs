//! The authorization challenge endpoint, for first-party clients that have their own screens (OAuth 2.0 for
//! First-Party Applications, draft-ietf-oauth-first-party-apps §4 and §5).
//!
//! 1. The client authenticates and sends its request: the same parameters and checks, without redirect URI. Only
//!    first-party clients may, because the person types credentials into the app.
//! 2. The response is `insufficient_authorization` with `auth_session` and the flow, which the app continues with
//!    that token.
//! 3. When the flow completes, its answer contains the code.

mod endpoint;

use std::sync::Arc;

use porteiro_protocol::{authorization_request::RawRequest, error::ErrorCode, form::Parameters};

use super::{
    authorization::{self, Beside, Continued},
    client_auth::AuthenticatedClient,
    clients::Trust,
};
use crate::{
    App,
    flow::{Answer, FlowError, Started},
    http::{OAuthError, RequestContext, Route},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// Why no flow was started.
enum Turned {
    OAuth(OAuthError),
    Flow(FlowError),
}

impl From<OAuthError> for Turned {
    fn from(error: OAuthError) -> Self {
        Self::OAuth(error)
    }
}

impl From<FlowError> for Turned {
    fn from(error: FlowError) -> Self {
        Self::Flow(error)
    }
}

async fn begin(
    app: &Arc<App>,
    context: &RequestContext,
    authenticated: &AuthenticatedClient,
    form: &Parameters,
) -> Result<Box<Answer>, Turned> {
    let client = authenticated.client.as_ref();
    match client.trust {
        Trust::FirstParty => {}
        Trust::Unverified | Trust::Verified => {
            return Err(OAuthError::new(
                ErrorCode::UnauthorizedClient,
                "this endpoint is for first-party clients only",
            )
            .into());
        }
    }
    let raw = RawRequest::from_parameters(form)
        .of_client(&client.id, None)
        .map_err(|refused| OAuthError::new(refused.code, refused.description))?;
    let raw = raw.without_redirect();
    if let Some(limited) = authorization::limited(app, context, &raw).await.map_err(OAuthError::from)? {
        return Err(OAuthError::from(limited).into());
    }
    let continued = authorization::continued_from(app, raw, Beside::Ignored)
        .await
        .map_err(OAuthError::from)?
        .map_err(OAuthError::from)?;
    let continued = Continued { challenge: true, ..continued };
    let prepared = authorization::prepare(app, &app.store, &continued)
        .await
        .map_err(OAuthError::from)?
        .map_err(OAuthError::from)?;
    let continued = authorization::naming(app, continued, &prepared)
        .await
        .map_err(OAuthError::from)?
        .map_err(|refused| OAuthError::new(refused.code, refused.description))?;
    match authorization::start(app, context, continued, prepared).await? {
        Started::Flow(answer) => Ok(answer),
        Started::Blocked { refused } => Err(OAuthError::new(refused.code, refused.description).into()),
        Started::Done { .. } => {
            Err(FlowError::Internal("the flow completed without interaction".into()).into())
        }
    }
}
