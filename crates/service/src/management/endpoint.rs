use std::sync::Arc;

use axum::{extract::State, http::HeaderMap, response::Response};

use super::changes::{CHANGES, Changes};
use crate::{
    App,
    api::{Operation, openapi},
    http::{Access, Document, Problem, ProblemCode, Route},
};

pub fn routes() -> Vec<Route> {
    let public = Access::Public("describes the API; contains no personal data");
    vec![
        Route::get("/v1/openapi.json", public, document)
            .cors()
            .described(Operation::new("openapi.get", "Get this document").gives::<serde_json::Value>()),
        Route::get("/v1/changes", public, changes)
            .operation(Operation::new("changes.list", "List the changes of this API").gives::<Changes>()),
    ]
}

async fn document(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(described) = app.described.get() {
        return Ok(described.answer(&headers));
    }
    let described = Document::new(&app, "application/json", &openapi::document(&crate::table()))
        .map_err(|_| ProblemCode::Internal)?;
    Ok(app.described.get_or_init(|| described).answer(&headers))
}

async fn changes() -> axum::Json<Changes> {
    axum::Json(Changes { items: CHANGES })
}
