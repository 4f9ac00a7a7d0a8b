//! `POST /connect/par`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;

use super::{SECONDS, limits, push, read};
use crate::{
    App,
    http::{Access, Form, Problem, RequestContext, Route, unreadable_form},
    oauth::{
        binding::{self, Remember},
        client_auth,
    },
};

const PATH: &str = "/connect/par";

pub fn routes() -> Vec<Route> {
    vec![Route::post(PATH, Access::Client, par).standard("RFC 9126")]
}

async fn par(
    State(app): State<Arc<App>>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Result<Response, Response> {
    let Form(form) = form.map_err(unreadable_form)?;
    let client =
        client_auth::authenticate(&app, &context, &form).await.map_err(IntoResponse::into_response)?;
    let raw = read(&form).map_err(IntoResponse::into_response)?;
    // Before the DPoP proof, which is stored as a row too.
    limits::take(&app, &context, &client.client, raw.size()).await.map_err(IntoResponse::into_response)?;
    let proof =
        binding::proof(&app, &context, "POST", PATH, None).await.map_err(IntoResponse::into_response)?;
    if let Some(proof) = &proof {
        binding::spend(&app, proof, Remember::Yes).await.map_err(IntoResponse::into_response)?;
    }
    // RFC 9449 §10.1: the code is bound to the key that the request was pushed with.
    let key = proof.map(|proof| URL_SAFE_NO_PAD.encode(proof.jkt));
    let request_uri = push(&app, &client, raw, key).await.map_err(IntoResponse::into_response)?;
    let body = json!({"request_uri": request_uri, "expires_in": SECONDS});
    let mut response = (StatusCode::CREATED, axum::Json(body)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
