//! `POST /connect/token`. Never GET: query parameters are ignored.

use std::sync::Arc;

use super::respond;
use crate::{
    App,
    http::{Access, Form, OAuthError, Problem, RequestContext, Route, allow_client, unreadable_form},
    oauth::{client_auth, key_credentials},
};
use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::redirect_uri::RedirectUri;
use serde::Serialize;

pub const PATH: &str = "/connect/token";

pub fn routes() -> Vec<Route> {
    vec![Route::post(PATH, Access::Client, token).standard("OAuth 2.1").cors_for_clients()]
}

async fn token(
    State(app): State<Arc<App>>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Result<Response, Response> {
    let Form(form) = form.map_err(unreadable_form)?;
    // Only here, an API key may act as a client.
    if let Some(presented) = key_credentials::presented(&context) {
        let answer = Box::pin(key_credentials::respond(&app, &context, &form, &presented, PATH)).await;
        return Ok(finish(&app, &context, answer, &[]));
    }
    let client = match client_auth::authenticate(&app, &context, &form).await {
        Ok(authenticated) => authenticated.client,
        Err(error) => return Err(error.into_response()),
    };
    let answer = respond(&app, &context, &client, &form).await;
    Ok(finish(&app, &context, answer, &client.metadata.redirect_uris))
}

fn finish<T: Serialize>(
    app: &App,
    context: &RequestContext,
    answer: Result<T, OAuthError>,
    redirect_uris: &[RedirectUri],
) -> Response {
    let mut response = match answer {
        Ok(tokens) => axum::Json(tokens).into_response(),
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    // RFC 6749 §5.1.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    if !context.dpop.is_empty()
        && let Ok(nonce) = HeaderValue::from_str(&app.secrets.nonce(app.clock.now().unix_timestamp()))
    {
        headers.insert("dpop-nonce", nonce);
    }
    allow_client(&mut response, context.origin.as_deref(), redirect_uris);
    response
}
