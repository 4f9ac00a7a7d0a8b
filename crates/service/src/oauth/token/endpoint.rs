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

pub fn routes() -> Vec<Route> {
    vec![Route::post("/connect/token", Access::Client, token).standard("OAuth 2.1")]
}

async fn token(
    State(app): State<Arc<App>>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Result<Response, Response> {
    let Form(form) = form.map_err(unreadable_form)?;
    let tokens = respond(&app, &context, &form).await.map_err(IntoResponse::into_response)?;
    let mut response = axum::Json(tokens).into_response();
    // RFC 6749 §5.1.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    Ok(response)
}
