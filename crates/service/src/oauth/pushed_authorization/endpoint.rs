//! `POST /connect/par`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{SECONDS, push};
use crate::{
    App,
    http::{Access, Form, Problem, RequestContext, Route, unreadable_form},
    oauth::client_auth,
};

pub fn routes() -> Vec<Route> {
    vec![Route::post("/connect/par", Access::Client, par).standard("RFC 9126")]
}

async fn par(
    State(app): State<Arc<App>>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Result<Response, Response> {
    let Form(form) = form.map_err(unreadable_form)?;
    let client =
        client_auth::authenticate(&app, &context, &form).await.map_err(IntoResponse::into_response)?;
    let request_uri = push(&app, &client, &form, None).await.map_err(IntoResponse::into_response)?;
    let body = json!({"request_uri": request_uri, "expires_in": SECONDS});
    let mut response = (StatusCode::CREATED, axum::Json(body)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
