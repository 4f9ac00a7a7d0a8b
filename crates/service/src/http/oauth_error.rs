//! The error of the OAuth endpoints: rich inside, exact outside.
//!
//! The registry in `porteiro_protocol::error` knows for each code whether it may go to the client's redirect
//! URI; this type cannot be built from a code outside it.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::error::ErrorCode;
use serde::Serialize;

use crate::store::StoreError;

#[derive(Debug)]
pub struct OAuthError {
    pub code: ErrorCode,
    /// For the client's developer. ASCII without quotes and backslashes (RFC 6749 §5.2).
    pub description: String,
}

#[derive(Serialize)]
struct Body<'a> {
    error: ErrorCode,
    #[serde(skip_serializing_if = "str::is_empty")]
    error_description: &'a str,
}

impl OAuthError {
    pub fn new(code: ErrorCode, description: impl Into<String>) -> Self {
        let mut description: String = description.into();
        description.retain(|c| matches!(c, ' '..='~') && c != '"' && c != '\\');
        Self { code, description }
    }
}

impl From<StoreError> for OAuthError {
    fn from(_: StoreError) -> Self {
        Self::new(ErrorCode::TemporarilyUnavailable, "try again in a moment")
    }
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        let body = Body { error: self.code, error_description: &self.description };
        let body = serde_json::to_string(&body).unwrap_or_default();
        let status = StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
