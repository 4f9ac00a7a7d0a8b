//! The well-known documents. Any other well-known path is a 404.

use std::sync::Arc;

use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use porteiro_protocol::error::ErrorCode;

use super::{SignError, authorization_server, protected_resource, signed};
use crate::{
    App,
    http::{Access, Document, OAuthError, RESOURCE_METADATA, Route},
};

pub fn routes() -> Vec<Route> {
    let public = Access::Public("public metadata");
    vec![
        Route::get("/.well-known/openid-configuration", public, server)
            .standard("OpenID Connect Discovery 1.0")
            .cors(),
        Route::get("/.well-known/oauth-authorization-server", public, server).standard("RFC 8414").cors(),
        Route::get(RESOURCE_METADATA, public, resource).standard("RFC 9728").cors(),
    ]
}

async fn server(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    answer(&headers, signed(&app, |documents| &documents.server, authorization_server).await)
}

async fn resource(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    answer(&headers, signed(&app, |documents| &documents.resource, protected_resource).await)
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
