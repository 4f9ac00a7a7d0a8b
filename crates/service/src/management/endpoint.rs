use std::sync::{Arc, OnceLock};

use axum::{extract::State, http::HeaderMap, response::Response};
use serde_json::Value;

use super::{
    changes::{CHANGES, Changes},
    openapi,
    operation::Operation,
};
use crate::{
    App,
    http::{Access, Route, cached_json},
};

pub fn routes() -> Vec<Route> {
    let public = Access::Public("it says what the API is, and nothing about anybody");
    vec![
        Route::get("/v1/openapi.json", public, document).cors(),
        Route::get("/v1/changes", public, changes)
            .operation(Operation::new("changes.list", "What changed in the API").gives::<Changes>()),
    ]
}

/// Made once: the table is the same until the next release.
async fn document(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    let document = DOCUMENT.get_or_init(|| openapi::document(&crate::table()));
    cached_json(&app, "application/json", &headers, document)
}

async fn changes() -> axum::Json<Changes> {
    axum::Json(Changes { items: CHANGES })
}
