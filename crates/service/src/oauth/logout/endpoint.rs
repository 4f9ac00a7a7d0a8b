//! `/connect/logout`: GET and POST, for browsers and for user agents that read JSON.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::error::ErrorCode;
use serde_json::json;

use super::{Left, leave};
use crate::{
    App,
    http::{Access, OAuthError, RequestContext, Route, Sent, forget_cookies, plain_page, prefers_json},
};

pub fn routes() -> Vec<Route> {
    let public = Access::Public("ends only the session of the request");
    let standard = "OpenID Connect RP-Initiated Logout 1.0";
    vec![
        Route::get("/connect/logout", public, answer).standard(standard),
        Route::post("/connect/logout", public, answer).standard(standard),
    ]
}

async fn answer(
    State(app): State<Arc<App>>,
    context: RequestContext,
    headers: HeaderMap,
    Sent(parameters): Sent,
) -> Response {
    let json = prefers_json(&headers);
    let mut response = match leave(&app, &context, &parameters).await {
        Ok(left) => present(left, json),
        Err(error) => error.into_response(),
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    response
}

fn present(left: Left, json: bool) -> Response {
    match left {
        Left::Refused(why) => OAuthError::new(ErrorCode::InvalidRequest, why).into_response(),
        Left::Ask { token } if json => {
            axum::Json(json!({"stage": "confirm", "confirm": token})).into_response()
        }
        Left::Ask { token } => plain_page("Sign out?", Some(("confirm", &token, "Sign out"))),
        Left::Out { to, forgets } => {
            let mut response = match to {
                Some(to) if json => {
                    let next = json!({"type": "redirect", "uri": to});
                    axum::Json(json!({"stage": "complete", "continue": next})).into_response()
                }
                Some(to) => match HeaderValue::from_str(&to) {
                    Ok(to) => (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response(),
                    Err(_) => OAuthError::new(ErrorCode::InvalidRequest, "").into_response(),
                },
                None if json => {
                    axum::Json(json!({"stage": "complete", "continue": {"type": "none"}})).into_response()
                }
                None => plain_page("You are signed out.", None),
            };
            // Also if no person was signed in: flows in this browser may hold proofs.
            forget_cookies(response.headers_mut(), forgets);
            response
        }
    }
}
