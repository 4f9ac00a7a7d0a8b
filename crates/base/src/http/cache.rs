//! Public documents that clients may cache.

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;

use crate::Core;

const LONGEST: u32 = 300;

/// JSON with a strong ETag, serialized once.
#[derive(Debug, Clone)]
pub struct Document {
    body: Bytes,
    content_type: HeaderValue,
    tag: HeaderValue,
    policy: HeaderValue,
}

impl Document {
    /// Clients may cache it for at most half of `key_publish_lead_seconds`, so that a cached key set always contains the
    /// signing key.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn new<T: Serialize>(
        core: &Core,
        content_type: &'static str,
        document: &T,
    ) -> Result<Self, serde_json::Error> {
        let body = serde_json::to_vec(document)?;
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &body);
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&digest.as_ref()[..16]));
        let seconds = LONGEST.min(core.checked.settings.key_publish_lead_seconds / 2);
        let value = |text: String| HeaderValue::try_from(text).map_err(serde::ser::Error::custom);
        Ok(Self {
            body: body.into(),
            content_type: HeaderValue::from_static(content_type),
            tag: value(tag)?,
            policy: value(format!("public, max-age={seconds}"))?,
        })
    }

    /// `304` if the client has it already (RFC 9110 §13.1.2).
    pub fn answer(&self, request: &HeaderMap) -> Response {
        let unchanged =
            request.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).is_some_and(|value| {
                value.split(',').any(|known| known.trim().trim_start_matches("W/") == self.tag)
            });
        let mut response = if unchanged {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = self.body.clone().into_response();
            response.headers_mut().insert(header::CONTENT_TYPE, self.content_type.clone());
            response
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, self.policy.clone());
        headers.insert(header::ETAG, self.tag.clone());
        response
    }
}

/// The same for a document that is written for each request.
pub fn cached_json<T: Serialize>(
    core: &Core,
    content_type: &'static str,
    request: &HeaderMap,
    document: &T,
) -> Response {
    match Document::new(core, content_type, document) {
        Ok(document) => document.answer(request),
        Err(_) => super::Problem::from(super::ProblemCode::Internal).into_response(),
    }
}
