//! The well-known documents. Any other well-known path is a 404.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, Uri},
    response::{IntoResponse, Response},
};
use porteiro_protocol::error::ErrorCode;

use super::{DETAILS_TYPES, SignError, details_types, own_resource, resources};
use crate::{
    App,
    http::{Access, Document, OAuthError, Problem, ProblemCode, RESOURCE_METADATA, Route},
};

pub fn routes() -> Vec<Route> {
    let public = Access::Public("public metadata");
    vec![
        Route::get("/.well-known/openid-configuration", public, server)
            .standard("OpenID Connect Discovery 1.0")
            .cors(),
        Route::get("/.well-known/oauth-authorization-server", public, server).standard("RFC 8414").cors(),
        Route::get(RESOURCE_METADATA, public, resource).standard("RFC 9728").cors(),
        Route::get("/.well-known/oauth-protected-resource/{*resource}", public, api_resource)
            .standard("RFC 9728")
            .cors(),
        Route::get(DETAILS_TYPES, public, types).standard("draft-ietf-oauth-rar-metadata-remediation").cors(),
    ]
}

async fn server(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    answer(&headers, super::server(&app).await)
}

async fn resource(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    answer(&headers, own_resource(&app).await)
}

/// The path as it came: a decoded one would be another.
async fn api_resource(
    State(app): State<Arc<App>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let path = uri.path().strip_prefix(RESOURCE_METADATA).and_then(|rest| rest.strip_prefix('/'));
    let found = resources::find(&app, path.unwrap_or_default()).await?;
    let document = Document::new(&app, "application/json", &found.ok_or(ProblemCode::NotFound)?);
    Ok(document.map_err(|_| ProblemCode::Internal)?.answer(&headers))
}

async fn types(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    let apis = app.directory.apis(&app.store).await?;
    let document = Document::new(&app, "application/json", &details_types::all(&apis));
    Ok(document.map_err(|_| ProblemCode::Internal)?.answer(&headers))
}

fn answer(headers: &HeaderMap, document: Result<Document, SignError>) -> Response {
    match document {
        Ok(document) => document.answer(headers),
        Err(error) => {
            tracing::error!(%error, "the metadata could not be signed");
            OAuthError::new(ErrorCode::TemporarilyUnavailable, "temporarily unavailable; try again later")
                .into_response()
        }
    }
}
