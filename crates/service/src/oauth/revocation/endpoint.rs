//! `POST /connect/revoke`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use super::revoke;
use crate::{
    App,
    http::{Access, Form, Problem, RequestContext, Route, unreadable_form},
};

pub fn routes() -> Vec<Route> {
    vec![Route::post("/connect/revoke", Access::Client, answer).standard("RFC 7009")]
}

async fn answer(
    State(app): State<Arc<App>>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Result<Response, Response> {
    let Form(form) = form.map_err(unreadable_form)?;
    let told = revoke(&app, &context, &form).await.map_err(IntoResponse::into_response)?;
    let mut response = axum::Json(told).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
