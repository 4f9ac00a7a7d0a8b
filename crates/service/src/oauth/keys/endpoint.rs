//! `/.well-known/jwks.json` (RFC 7517 §5).

use std::sync::Arc;

use axum::{extract::State, http::HeaderMap, response::Response};

use crate::{
    App,
    http::{Access, Route, cached_json},
};

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/.well-known/jwks.json", Access::Public("public keys"), jwks).standard("RFC 7517").cors(),
    ]
}

async fn jwks(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    cached_json(&app, "application/jwk-set+json", &headers, &app.keys.current().published)
}
