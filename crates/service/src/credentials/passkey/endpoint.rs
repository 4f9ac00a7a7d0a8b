//! `/.well-known/webauthn`: other origins that may use the same passkeys (WebAuthn Level 3 §5.11).

use std::sync::Arc;

use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::{
    App,
    http::{Access, Problem, ProblemCode, Route, cached_json},
};

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/.well-known/webauthn", Access::Public("public metadata"), related_origins)
            .standard("WebAuthn Level 3")
            .cors(),
    ]
}

/// 404 unless other origins are configured.
async fn related_origins(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let others = &app.checked.settings.passkey_origins;
    if others.is_empty() {
        return Problem::from(ProblemCode::NotFound).into_response();
    }
    let origins: Vec<&str> = std::iter::once(app.issuer()).chain(others.iter().map(String::as_str)).collect();
    cached_json(&app, "application/json", &headers, &json!({"origins": origins}))
}
