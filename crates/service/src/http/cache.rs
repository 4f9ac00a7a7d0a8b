//! Public documents that anybody may keep for a while.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;

use crate::App;

const LONGEST: u32 = 300;

/// JSON with a strong ETag; `304` when the caller has it already (RFC 9110 §13.1.2). Kept for at most half of
/// `key_publish_lead_seconds`: a cached key set never misses the key that signs.
pub fn cached_json<T: Serialize>(
    app: &App,
    content_type: &'static str,
    request: &HeaderMap,
    document: &T,
) -> Response {
    let Ok(body) = serde_json::to_vec(document) else {
        return super::Problem::from(super::ProblemCode::Internal).into_response();
    };
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &body);
    let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&digest.as_ref()[..16]));
    let unchanged = request
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.split(',').any(|known| known.trim().trim_start_matches("W/") == tag));
    let mut response =
        if unchanged { StatusCode::NOT_MODIFIED.into_response() } else { body.into_response() };
    let headers = response.headers_mut();
    if unchanged {
        headers.remove(header::CONTENT_TYPE);
    } else {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    let seconds = LONGEST.min(app.checked.settings.key_publish_lead_seconds / 2);
    if let Ok(policy) = HeaderValue::from_str(&format!("public, max-age={seconds}")) {
        headers.insert(header::CACHE_CONTROL, policy);
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}
