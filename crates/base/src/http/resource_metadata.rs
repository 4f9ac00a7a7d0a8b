//! Adds the address of the protected resource metadata (RFC 9728 §5.1) to every 401 of our own APIs, so that a client
//! that knows only an address can find out where to get a token.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::Response,
};

use crate::Core;

pub const PATH: &str = "/.well-known/oauth-protected-resource";

/// Completes the challenge of a refusal, or adds one if no token was presented.
pub(super) async fn name(State(core): State<Arc<Core>>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    if response.status() == StatusCode::UNAUTHORIZED {
        let challenge = completed(response.headers(), core.issuer());
        if let Ok(value) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
    }
    response
}

fn completed(headers: &HeaderMap, issuer: &str) -> String {
    let challenge = headers.get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    let challenge = challenge.unwrap_or("Bearer");
    // A space follows the scheme, a comma a parameter (RFC 9110 §11.6.1).
    let separator = if challenge.contains(' ') { ", " } else { " " };
    format!("{challenge}{separator}resource_metadata=\"{issuer}{PATH}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_completed_and_never_replaced() {
        let told = |challenge: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.extend(challenge.map(|text| (header::WWW_AUTHENTICATE, HeaderValue::from_static(text))));
            completed(&headers, "https://id.example.test")
        };
        let named = "resource_metadata=\"https://id.example.test/.well-known/oauth-protected-resource\"";
        assert_eq!(told(None), format!("Bearer {named}"));
        assert_eq!(told(Some("Bearer")), format!("Bearer {named}"));
        let invalid = "DPoP error=\"invalid_token\"";
        assert_eq!(told(Some(invalid)), format!("{invalid}, {named}"));
    }
}
