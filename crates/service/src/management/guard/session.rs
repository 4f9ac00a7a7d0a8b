//! Routes for signed-in people: with their session, or with an access token for a first-party client.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use porteiro_protocol::assurance::Proof;
use serde_json::json;

use crate::{
    App,
    credentials::{self, CredentialKind},
    flow::{self, FlowError, decide},
    http::{OAuthError, Problem, ProblemCode, RequestContext},
    oauth::access_token::{self, Carried},
    organizations::Proved,
    sessions::{self, SignedIn},
};

/// The client whose access token a person's call came with; none where it came with the session's cookie.
#[derive(Debug, Clone)]
pub struct TokenClient(pub String);

/// Implements [`crate::http::Access::Session`]: no handler behind it runs without a [`SignedIn`].
pub async fn require_session(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Ok(context) =
        <RequestContext as axum::extract::FromRequestParts<()>>::from_request_parts(&mut parts, &()).await;
    // A change from another site's page is not the person's (CSRF).
    let by_cookie = context.session.is_some();
    let reads = parts.method == axum::http::Method::GET || parts.method == axum::http::Method::HEAD;
    if by_cookie && !reads && context.origin.as_deref() != Some(app.issuer()) {
        return Problem::from(ProblemCode::OriginRefused).into_response();
    }
    if context.authorization.as_ref().is_some_and(|(scheme, _)| scheme == "bearer" || scheme == "dpop") {
        return with_token(&app, &context, parts, body, next).await;
    }
    match flow::current_session(&app, &context).await {
        Ok(Some(signed_in)) => {
            // A session from before the minimum level was raised, or whose level has decayed.
            if let Err(unmet) = Proved::from(&signed_in).reaches(app.checked.settings.minimum_level) {
                return Problem::from(unmet).into_response();
            }
            parts.extensions.insert(signed_in);
            next.run(Request::from_parts(parts, body)).await
        }
        Ok(None) => {
            Problem::new(ProblemCode::Unauthenticated, "no valid session or access token").into_response()
        }
        Err(error) => error.into_response(),
    }
}

/// A first-party app with an access token of the person's session. If the level is too low, the answer is the step-up
/// challenge of RFC 9470, which tells the client what to request.
async fn with_token(
    app: &Arc<App>,
    context: &RequestContext,
    mut parts: axum::http::request::Parts,
    body: axum::body::Body,
    next: Next,
) -> Response {
    let carried = Carried { method: parts.method.as_str(), path: parts.uri.path(), form: None };
    let signed_in = async {
        let bearer = access_token::check(app, context, &carried, "account").await?;
        let signed_in = sessions::of_grant(&app.store, bearer.grant.uuid(), bearer.account).await?;
        let mut signed_in = signed_in.ok_or_else(access_token::invalid_token)?;
        // The token is worth what was proved when it was granted. What the person proves later, in a browser, is not the
        // app's: it asks for another token (RFC 9470).
        signed_in.proofs.retain(|proof| proof.at.unix_timestamp() <= bearer.auth_time);
        Ok::<_, OAuthError>((signed_in, TokenClient(bearer.client_id)))
    };
    match signed_in.await {
        Ok((signed_in, client)) => {
            parts.extensions.insert(signed_in);
            parts.extensions.insert(client);
            let response = next.run(Request::from_parts(parts, body)).await;
            if response.extensions().get::<ProblemCode>() == Some(&ProblemCode::StepUpRequired) {
                return OAuthError::step_up(sessions::FRESH.whole_seconds()).into_response();
            }
            response
        }
        Err(error) => error.into_response(),
    }
}

/// Requires that the session's proofs allow changing the credentials; a step-up is required otherwise.
pub async fn require_fresh(app: &Arc<App>, signed_in: &SignedIn) -> Result<(), Problem> {
    let all = credentials::find_all(&app.store, signed_in.account_id).await?;
    let bound: Vec<CredentialKind> = all.iter().map(|credential| credential.kind).collect();
    let proofs: Vec<Proof> = signed_in
        .proofs
        .iter()
        .filter(|proof| all.iter().any(|credential| proof.credential == Some(credential.id.uuid())))
        .cloned()
        .collect();
    if decide::may_bind(&proofs, &bound, signed_in.now) {
        return Ok(());
    }
    let open = json!({"method": "POST", "path": "/v1/flows", "body": {"kind": "reauthenticate"}});
    Err(Problem::new(ProblemCode::StepUpRequired, "a more recent authentication is required")
        .with(serde_json::Map::from_iter([("flow".to_owned(), open)])))
}

impl From<FlowError> for Problem {
    fn from(_: FlowError) -> Self {
        ProblemCode::Unavailable.into()
    }
}
