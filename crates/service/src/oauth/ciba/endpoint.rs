//! `POST /connect/ciba`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{INTERVAL, begin::begin};
use crate::{
    App,
    http::{Access, Form, Problem, RequestContext, Route, unreadable_form},
    oauth::{client_auth, client_documents},
};

pub fn routes() -> Vec<Route> {
    vec![Route::post("/connect/ciba", Access::Client, ciba).standard("CIBA Core")]
}

async fn ciba(
    State(app): State<Arc<App>>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Result<Response, Response> {
    let Form(form) = form.map_err(unreadable_form)?;
    let authenticated =
        client_auth::authenticate(&app, &context, &form).await.map_err(IntoResponse::into_response)?;
    let again = client_documents::read_again(&app, &context, &authenticated.client).await;
    let client = again.map_err(IntoResponse::into_response)?.unwrap_or(authenticated.client);
    let begun = Box::pin(begin(&app, &context, &client, &form)).await;
    let question = begun.map_err(IntoResponse::into_response)?;
    // CIBA Core §7.3. The number is our own: the person picks it among three.
    let answer = json!({
        "auth_req_id": question.handle.text.as_str(),
        "expires_in": question.seconds,
        "interval": INTERVAL,
        "approval_number": question.number,
    });
    let mut response = axum::Json(answer).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
