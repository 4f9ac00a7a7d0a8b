//! `/connect/userinfo`: GET and POST (OpenID Connect Core §5.3.1).

use std::sync::Arc;

use axum::{
    extract::{FromRequest, Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use super::{Answer, respond, unreadable};
use crate::{
    App,
    http::{Access, Form, RequestContext, Route, allow_client},
    oauth::access_token::Carried,
};

const PATH: &str = "/connect/userinfo";

pub fn routes() -> Vec<Route> {
    let standard = "OpenID Connect Core 1.0";
    vec![
        Route::get(PATH, Access::Token("openid"), by_get).standard(standard).cors_for_clients(),
        Route::post(PATH, Access::Token("openid"), by_post).standard(standard),
    ]
}

async fn by_get(State(app): State<Arc<App>>, context: RequestContext) -> Response {
    answer(&app, &context, &Carried { method: "GET", path: PATH, form: None }).await
}

/// The token in the header with any body, or in a form of its own (RFC 6750 §2.2).
async fn by_post(State(app): State<Arc<App>>, context: RequestContext, request: Request) -> Response {
    let form = request.headers().get(header::CONTENT_TYPE).is_some_and(|media| {
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
    answer(&app, &context, &Carried { method: "POST", path: PATH, form: token }).await
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
