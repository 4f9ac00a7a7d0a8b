//! `/connect/userinfo`: GET and POST (OpenID Connect Core §5.3.1).

use std::sync::Arc;

use axum::{
    extract::{FromRequest, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use uuid::Uuid;

use super::{Answer, respond, unreadable};
use crate::{
    App,
    http::{Access, Form, RequestContext, Route, allow_client},
    oauth::access_token::Carried,
};

const PATH: &str = "/connect/userinfo";
const INTERACTION: HeaderName = HeaderName::from_static("x-fapi-interaction-id");

pub fn routes() -> Vec<Route> {
    let standard = "OpenID Connect Core 1.0";
    vec![
        Route::get(PATH, Access::Token("openid"), by_get).standard(standard).cors_for_clients(),
        Route::post(PATH, Access::Token("openid"), by_post).standard(standard),
    ]
}

async fn by_get(State(app): State<Arc<App>>, context: RequestContext, headers: HeaderMap) -> Response {
    let response = answer(&app, &context, &Carried { method: "GET", path: PATH, form: None }).await;
    with_interaction(response, &headers, &context)
}

/// The token in the header with any body, or in a form of its own (RFC 6750 §2.2).
async fn by_post(State(app): State<Arc<App>>, context: RequestContext, request: Request) -> Response {
    let headers = request.headers().clone();
    let form = headers.get(header::CONTENT_TYPE).is_some_and(|media| {
        media.to_str().is_ok_and(|media| media.starts_with("application/x-www-form-urlencoded"))
    });
    let parameters = if form {
        match Form::from_request(request, &()).await {
            Ok(Form(parameters)) => Some(parameters),
            Err(_) => return unreadable().into_response(),
        }
    } else {
        None
    };
    let token = parameters.as_ref().and_then(|parameters| parameters.get("access_token"));
    let response = answer(&app, &context, &Carried { method: "POST", path: PATH, form: token }).await;
    with_interaction(response, &headers, &context)
}

/// FAPI 1.0 Baseline §6.2.1 (11), which FAPI-CIBA builds on: the UUID by which the client logs this request, or ours.
fn with_interaction(mut response: Response, headers: &HeaderMap, context: &RequestContext) -> Response {
    let is_uuid = |sent: &&HeaderValue| sent.len() == 36 && Uuid::try_parse_ascii(sent.as_bytes()).is_ok();
    let sent = headers.get(INTERACTION).filter(is_uuid).cloned();
    let own = || HeaderValue::from_str(&context.request_id.to_string()).ok();
    if let Some(id) = sent.or_else(own) {
        response.headers_mut().insert(INTERACTION, id);
    }
    response
}

async fn answer(app: &Arc<App>, context: &RequestContext, carried: &Carried<'_>) -> Response {
    let (client, answer) = match respond(app, context, carried).await {
        Ok(answered) => answered,
        Err(error) => return error.into_response(),
    };
    let mut response = match answer {
        Answer::Plain(claims) => axum::Json(claims).into_response(),
        Answer::Signed(token) => {
            let mut response = token.into_response();
            let media = HeaderValue::from_static("application/jwt");
            response.headers_mut().insert(header::CONTENT_TYPE, media);
            response
        }
    };
    allow_client(&mut response, context.origin.as_deref(), &client.metadata.redirect_uris);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
