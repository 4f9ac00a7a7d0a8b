//! `/.well-known/jwks.json` (RFC 7517 §5).

use std::sync::Arc;

use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};

use crate::{
    App,
    http::{Access, Document, Problem, ProblemCode, Route},
};

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/.well-known/jwks.json", Access::Public("public keys"), jwks).standard("RFC 7517").cors(),
    ]
}

async fn jwks(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let rings = app.keys.current();
    if let Some(document) = rings.documents.keys.get() {
        return document.answer(&headers);
    }
    match Document::new(&app, "application/jwk-set+json", &rings.published) {
        Ok(document) => rings.documents.keys.get_or_init(|| document).answer(&headers),
        Err(_) => Problem::from(ProblemCode::Internal).into_response(),
    }
}
