//! `POST /connect/device`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use super::{answer, begin};
use crate::{
    App,
    http::{Access, Form, Problem, RequestContext, Route, unreadable_form},
    oauth::client_auth,
};

pub fn routes() -> Vec<Route> {
    vec![Route::post("/connect/device", Access::Client, device).standard("RFC 8628")]
}

async fn device(
    State(app): State<Arc<App>>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Result<Response, Response> {
    let Form(form) = form.map_err(unreadable_form)?;
    let client =
        client_auth::authenticate(&app, &context, &form).await.map_err(IntoResponse::into_response)?;
    let begun = Box::pin(begin(&app, &context, &client, &form)).await.map_err(IntoResponse::into_response)?;
    let mut response = axum::Json(answer(&begun)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
