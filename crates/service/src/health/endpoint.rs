use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::obstacles;
use crate::{
    App,
    http::{Access, Problem, ProblemCode, Route},
};

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/healthz", Access::Public("liveness probe; contains no data"), live),
        Route::get("/readyz", Access::Public("readiness probe; contains no secrets"), ready),
    ]
}

/// Checks nothing: a running process that cannot reach its database must not be restarted.
async fn live() -> Response {
    axum::Json(json!({"status": "live"})).into_response()
}

async fn ready(State(app): State<Arc<App>>) -> Response {
    let obstacles = obstacles(&app).await;
    if obstacles.is_empty() {
        axum::Json(json!({"status": "ready"})).into_response()
    } else {
        Problem::new(ProblemCode::Unavailable, obstacles.join("; ")).into_response()
    }
}
