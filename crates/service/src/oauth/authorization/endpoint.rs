//! `/connect/authorize`: GET and POST, for browsers and for user agents that read JSON.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::{
    authorization_request::{AuthorizationResponse, RawRequest},
    error::ErrorCode,
};
use serde_json::json;

use super::{Begun, begin};
use crate::{
    App,
    flow::Delivery,
    http::{Access, OAuthError, RequestContext, Route, Sent, form_post_page, prefers_json},
};

pub fn routes() -> Vec<Route> {
    let public =
        Access::Public("starts the authorization; no code is issued before the person authenticates");
    vec![
        Route::get("/connect/authorize", public, answer).standard("OAuth 2.1"),
        Route::post("/connect/authorize", public, answer).standard("OpenID Connect Core 1.0"),
    ]
}

async fn answer(
    State(app): State<Arc<App>>,
    context: RequestContext,
    headers: HeaderMap,
    Sent(parameters): Sent,
) -> Response {
    let json = prefers_json(&headers);
    let mut response = match Box::pin(begin(&app, &context, RawRequest::from_parameters(&parameters))).await {
        Ok(begun) => present(&app, begun, json),
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Any other policy would cut the connection to a client that opened a window for the sign-in.
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("unsafe-none"));
    response
}

fn present(app: &App, begun: Begun, json: bool) -> Response {
    match begun {
        Begun::Page { code, detail } => {
            let mut response = OAuthError::new(code, detail).into_response();
            // The page is for the person at the browser; it is not a request to authenticate.
            if code != ErrorCode::TemporarilyUnavailable {
                *response.status_mut() = StatusCode::BAD_REQUEST;
            }
            response
        }
        Begun::Delivered { delivery, cookies } => with_cookies(deliver(&delivery, json), cookies),
        Begun::Flow { answer, otherwise } => {
            if json {
                let body = axum::Json(answer.body).into_response();
                return with_cookies(body, answer.cookies);
            }
            if let Some(url) = &app.checked.settings.interaction_url {
                let id = answer.body["id"].as_str().unwrap_or_default();
                let separator = if url.contains('?') { '&' } else { '?' };
                return with_cookies(see_other(&format!("{url}{separator}flow={id}")), answer.cookies);
            }
            match otherwise {
                Some(delivery) => deliver(&delivery, false),
                None => present(
                    app,
                    Begun::Page {
                        code: ErrorCode::InteractionRequired,
                        detail: "the service has no pages: send Accept: application/json".into(),
                    },
                    false,
                ),
            }
        }
    }
}

/// 303, never 307: the browser must not repeat the POST (RFC 9700 §4.12).
fn deliver(delivery: &Delivery, json: bool) -> Response {
    match delivery {
        _ if json => axum::Json(json!({"stage": "complete", "continue": delivery.to_json()})).into_response(),
        Delivery::Browser(AuthorizationResponse::Redirect { location }) => see_other(location),
        Delivery::Browser(AuthorizationResponse::FormPost { action, fields }) => {
            form_post_page(action, fields)
        }
        Delivery::Direct(_) | Delivery::Elsewhere(_) => axum::Json(delivery.to_json()).into_response(),
    }
}

fn see_other(location: &str) -> Response {
    match HeaderValue::from_str(location) {
        Ok(value) => (StatusCode::SEE_OTHER, [(header::LOCATION, value)]).into_response(),
        Err(_) => OAuthError::new(ErrorCode::ServerError, "").into_response(),
    }
}

fn with_cookies(mut response: Response, cookies: Vec<String>) -> Response {
    for cookie in cookies {
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
    response
}
