//! `POST /connect/register` (RFC 7591 §3) and `/connect/register/{client_id}` (RFC 7592 §2).

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::error::ErrorCode;
use serde_json::Value;

use super::{answer::Registered, open};
use crate::{
    App,
    http::{Access, Json, OAuthError, Problem, RequestContext, Route},
};

pub fn routes() -> Vec<Route> {
    const ONE: &str = "/connect/register/{client_id}";
    let open = Access::Public("dynamic registration; a client's trust limits what it may do");
    let holder = Access::RegistrationToken;
    vec![
        Route::post("/connect/register", open, register).standard("RFC 7591").cors(),
        Route::get(ONE, holder, read).standard("RFC 7592"),
        Route::put(ONE, holder, replace).standard("RFC 7592"),
        Route::delete(ONE, holder, remove).standard("RFC 7592"),
    ]
}

type Answer = Result<Response, Response>;

async fn register(
    State(app): State<Arc<App>>,
    context: RequestContext,
    body: Result<Json<Value>, Problem>,
) -> Answer {
    let Json(request) = body.map_err(unreadable)?;
    let registered = super::register(&app, &context, &request).await.map_err(IntoResponse::into_response)?;
    Ok(present(&app, StatusCode::CREATED, &registered))
}

async fn read(State(app): State<Arc<App>>, Path(client_id): Path<String>, context: RequestContext) -> Answer {
    let registered = super::read(&app, &context, &client_id).await.map_err(IntoResponse::into_response)?;
    Ok(present(&app, StatusCode::OK, &registered))
}

async fn replace(
    State(app): State<Arc<App>>,
    Path(client_id): Path<String>,
    context: RequestContext,
    body: Result<Json<Value>, Problem>,
) -> Answer {
    // Without a valid token, the body is not examined.
    let (client, token) = open(&app, &context, &client_id).await.map_err(IntoResponse::into_response)?;
    let Json(request) = body.map_err(unreadable)?;
    let registered = super::replace(&app, &context, &client, &token, &request)
        .await
        .map_err(IntoResponse::into_response)?;
    Ok(present(&app, StatusCode::OK, &registered))
}

async fn remove(
    State(app): State<Arc<App>>,
    Path(client_id): Path<String>,
    context: RequestContext,
) -> Answer {
    super::remove(&app, &context, &client_id).await.map_err(IntoResponse::into_response)?;
    Ok(private(StatusCode::NO_CONTENT.into_response()))
}

fn present(app: &App, status: StatusCode, registered: &Registered) -> Response {
    match registered.body(app.issuer()) {
        Ok(body) => {
            let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
            private((status, json, body).into_response())
        }
        Err(error) => {
            tracing::error!(%error, "a registration could not be serialized");
            OAuthError::new(ErrorCode::ServerError, "").into_response()
        }
    }
}

/// RFC 7591 §3.2.1.
fn private(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

/// A body that cannot be read is `invalid_client_metadata`; one that is too large keeps its own error.
fn unreadable(problem: Problem) -> Response {
    match problem.code.status() {
        StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            OAuthError::new(ErrorCode::InvalidClientMetadata, problem.detail).into_response()
        }
        _ => problem.into_response(),
    }
}
