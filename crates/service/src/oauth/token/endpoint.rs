//! `POST /connect/token`. Never GET: parameters of a query are ignored.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::error::ErrorCode;

use super::respond;
use crate::{
    App,
    http::{Access, Form, OAuthError, Problem, RequestContext, Route},
};

pub fn routes() -> Vec<Route> {
    vec![Route::post("/connect/token", Access::Client, token).standard("OAuth 2.1")]
}

async fn token(
    State(app): State<Arc<App>>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Result<Response, Response> {
    let Form(form) = form.map_err(unreadable)?;
    let tokens = respond(&app, &context, &form).await.map_err(IntoResponse::into_response)?;
    let mut response = axum::Json(tokens).into_response();
    // RFC 6749 §5.1.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// What cannot be read is `invalid_request`, whatever is wrong with it; too large stays too large.
fn unreadable(problem: Problem) -> Response {
    match problem.code.status() {
        StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            OAuthError::new(ErrorCode::InvalidRequest, problem.detail).into_response()
        }
        _ => problem.into_response(),
    }
}
