//! `POST /connect/challenge`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{Turned, begin};
use crate::{
    App,
    http::{Access, Form, Problem, RequestContext, Route, unreadable_form},
    oauth::client_auth,
};

pub fn routes() -> Vec<Route> {
    vec![
        Route::post("/connect/challenge", Access::Client, challenge)
            .standard("OAuth 2.0 for First-Party Applications"),
    ]
}

async fn challenge(
    State(app): State<Arc<App>>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Result<Response, Response> {
    let Form(form) = form.map_err(unreadable_form)?;
    let client =
        client_auth::authenticate(&app, &context, &form).await.map_err(IntoResponse::into_response)?;
    let answer = Box::pin(begin(&app, &context, &client, &form)).await.map_err(|turned| match turned {
        Turned::OAuth(error) => error.into_response(),
        Turned::Flow(error) => error.into_response(),
    })?;
    let mut flow = answer.body;
    // §5.2.2: `auth_session` is returned beside the error.
    let auth_session = flow.as_object_mut().and_then(|flow| flow.remove("auth_session"));
    let body = json!({"error": "insufficient_authorization", "auth_session": auth_session, "flow": flow});
    let mut response = (StatusCode::FORBIDDEN, axum::Json(body)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
