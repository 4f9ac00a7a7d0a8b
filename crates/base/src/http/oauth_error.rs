//! The error of the OAuth endpoints.
//!
//! The registry in `porteiro_protocol::error` states for each code whether it may be sent to the client's redirect URI;
//! this type cannot be built from any other code.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::{
    assurance::Level, authorization_request::Refused, client_metadata::MetadataError, error::ErrorCode,
};
use serde::Serialize;

use super::problem::usual_wait;
use crate::{limits::Limited, store::StoreError};

#[derive(Debug)]
pub struct OAuthError {
    pub code: ErrorCode,
    /// For the client's developer. ASCII without quotes and backslashes (RFC 6749 §5.2).
    pub description: String,
    /// The scheme of a `WWW-Authenticate` header, if the code or the caller's scheme requires one.
    scheme: Option<&'static str>,
    status: Option<StatusCode>,
    /// `DPoP-Nonce` (RFC 9449 §8).
    nonce: Option<Box<str>>,
    bare: bool,
    /// What is required (RFC 9470 §3).
    acr: Option<&'static str>,
    max_age: Option<u32>,
    retry_after: Option<u32>,
    /// An additional member (RFC 6749 §5.2 allows it); in a redirect it is part of the description.
    pub reference: Option<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    error: ErrorCode,
    #[serde(skip_serializing_if = "str::is_empty")]
    error_description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
    /// What is required (RFC 9470 §3), for endpoints that answer without a challenge.
    #[serde(skip_serializing_if = "Option::is_none")]
    acr_values: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_age: Option<i64>,
}

impl OAuthError {
    pub fn new(code: ErrorCode, description: impl Into<String>) -> Self {
        let mut description: String = description.into();
        description.retain(|c| matches!(c, ' '..='~') && c != '"' && c != '\\');
        let scheme = code.may_challenge().then_some("Bearer").filter(|_| code.status() == 401);
        Self {
            code,
            description,
            scheme,
            status: None,
            nonce: None,
            bare: false,
            acr: None,
            max_age: None,
            retry_after: None,
            reference: None,
        }
    }

    /// The reference under which an authorized caller can look the refusal up (`docs/refusals.md`).
    #[must_use]
    pub fn with_reference(mut self, reference: Option<impl std::fmt::Display>) -> Self {
        self.reference = reference.map(|reference| reference.to_string());
        self
    }

    /// The description with the reference, for redirects, which have no member for it.
    pub fn described(&self) -> String {
        match &self.reference {
            Some(reference) => {
                format!("{} (reference {reference})", self.description).trim_start().to_owned()
            }
            None => self.description.clone(),
        }
    }

    /// Answers with a challenge in this scheme (RFC 6749 §5.2: the one the client tried).
    #[must_use]
    pub const fn challenge(mut self, scheme: Option<&'static str>) -> Self {
        self.scheme = scheme;
        self
    }

    /// No credentials were presented: the challenge names no error (RFC 6750 §3.1).
    #[must_use]
    pub const fn missing(mut self) -> Self {
        self.bare = true;
        self
    }

    /// Requires a proof no older than this many seconds (RFC 9470 §3).
    #[must_use]
    pub fn step_up(max_age: i64) -> Self {
        let mut error =
            Self::new(ErrorCode::InsufficientUserAuthentication, "the person must authenticate again");
        error.max_age = u32::try_from(max_age).ok();
        error
    }

    /// Requires a level, a maximum age, or both.
    #[must_use]
    pub fn step_up_to(level: Level, max_age: Option<i64>, description: &str) -> Self {
        let mut error = Self::new(ErrorCode::InsufficientUserAuthentication, description);
        error.acr = Some(level.acr()).filter(|_| level != Level::None);
        error.max_age = max_age.and_then(|age| u32::try_from(age).ok());
        error
    }

    /// The nonce to use instead (RFC 9449 §8).
    #[must_use]
    pub fn nonce(mut self, nonce: String) -> Self {
        self.nonce = Some(nonce.into());
        self
    }

    /// An invalid proof of possession at a protected resource: answered with a challenge (RFC 9449 §7.1 and §9), while
    /// the token endpoint answers 400. Clients read the nonce from there.
    #[must_use]
    pub fn at_resource(self) -> Self {
        if !matches!(self.code, ErrorCode::InvalidDpopProof | ErrorCode::UseDpopNonce) {
            return self;
        }
        Self { scheme: Some("DPoP"), status: Some(StatusCode::UNAUTHORIZED), ..self }
    }

    /// RFC 6749 §5.2 has one status for every refusal at the token endpoint.
    #[must_use]
    pub const fn at_token_endpoint(mut self) -> Self {
        self.status = Some(StatusCode::BAD_REQUEST);
        self
    }

    /// RFC 9126 §2.3: the request is too large.
    #[must_use]
    pub const fn too_large(mut self) -> Self {
        self.status = Some(StatusCode::PAYLOAD_TOO_LARGE);
        self
    }

    /// Too many attempts. There is no better registered code; the status is 429.
    #[must_use]
    pub fn slow_down() -> Self {
        let mut error = Self::new(ErrorCode::TemporarilyUnavailable, "too many attempts; try again later");
        error.status = Some(StatusCode::TOO_MANY_REQUESTS);
        error
    }
}

impl From<Limited> for OAuthError {
    fn from(limited: Limited) -> Self {
        Self { retry_after: Some(limited.seconds), ..Self::slow_down() }
    }
}

impl From<Refused> for OAuthError {
    fn from(refused: Refused) -> Self {
        Self::new(refused.code, refused.description)
    }
}

impl From<MetadataError> for OAuthError {
    fn from(error: MetadataError) -> Self {
        Self::new(error.code, error.detail)
    }
}

impl From<StoreError> for OAuthError {
    fn from(_: StoreError) -> Self {
        Self::new(ErrorCode::TemporarilyUnavailable, "temporarily unavailable; try again later")
    }
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        let body = Body {
            error: self.code,
            error_description: &self.description,
            reference: self.reference.as_deref(),
            acr_values: self.acr,
            max_age: self.max_age.map(i64::from),
        };
        let body = serde_json::to_string(&body).unwrap_or_default();
        let status = self
            .status
            .or_else(|| StatusCode::from_u16(self.code.status()).ok())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after.or_else(|| usual_wait(status)) {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(nonce) = self.nonce.as_deref().and_then(|nonce| HeaderValue::from_str(nonce).ok()) {
            headers.insert("dpop-nonce", nonce);
        }
        if let Some(scheme) = self.scheme
            && let Ok(challenge) = HeaderValue::from_str(&if self.bare {
                scheme.to_owned()
            } else {
                let acr = self.acr.map(|acr| format!(", acr_values=\"{acr}\"")).unwrap_or_default();
                let age = self.max_age.map(|age| format!(", max_age=\"{age}\"")).unwrap_or_default();
                format!("{scheme} error=\"{}\"{acr}{age}", self.code.as_str())
            })
        {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// An unreadable form is `invalid_request`, whatever the reason; a body that is too large stays 413.
pub fn unreadable_form(problem: super::Problem) -> Response {
    match problem.code.status() {
        StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            OAuthError::new(ErrorCode::InvalidRequest, problem.detail).into_response()
        }
        _ => problem.into_response(),
    }
}
