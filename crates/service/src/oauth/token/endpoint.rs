//! `POST /connect/token`. Never GET: parameters of a query are ignored.

use std::sync::Arc;

use super::respond;
use crate::{
    App,
    http::{Access, Form, Problem, RequestContext, Route, unreadable_form},
};
use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

pub const PATH: &str = "/connect/token";

pub fn routes() -> Vec<Route> {
    vec![Route::post(PATH, Access::Client, token).standard("OAuth 2.1")]
}

async fn token(
    State(app): State<Arc<App>>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Result<Response, Response> {
    let Form(form) = form.map_err(unreadable_form)?;
    let bound = !context.dpop.is_empty();
    let tokens = respond(&app, &context, &form).await.map_err(IntoResponse::into_response)?;
    let mut response = axum::Json(tokens).into_response();
    // RFC 6749 §5.1.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    if bound && let Ok(nonce) = HeaderValue::from_str(&app.secrets.nonce(app.clock.now().unix_timestamp())) {
        response.headers_mut().insert("dpop-nonce", nonce);
    }
    Ok(response)
}
