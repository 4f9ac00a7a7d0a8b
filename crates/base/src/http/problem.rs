//! RFC 9457 problems, the errors of the product's own APIs.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{
    limits::Limited,
    store::{StoreError, TxError},
};

macro_rules! codes {
    ($($variant:ident = $code:literal, $status:ident, $title:literal;)+) => {
        /// The machine-readable code of a problem.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ProblemCode { $($variant),+ }

        impl ProblemCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code),+ }
            }
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status),+ }
            }
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }
        }
    };
}

codes! {
    Malformed = "malformed", BAD_REQUEST, "Malformed request";
    NotFound = "not_found", NOT_FOUND, "Not found";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "Method not allowed";
    TooLarge = "too_large", PAYLOAD_TOO_LARGE, "Request too large";
    UnsupportedMedia = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type";
    HeadersTooLarge = "headers_too_large", REQUEST_HEADER_FIELDS_TOO_LARGE, "Request headers too large";
    TooSlow = "too_slow", REQUEST_TIMEOUT, "Request timed out";
    Unauthenticated = "unauthenticated", UNAUTHORIZED, "Authentication required";
    Forbidden = "forbidden", FORBIDDEN, "Permission denied";
    OriginRefused = "origin_refused", FORBIDDEN, "Origin not allowed";
    StepUpRequired = "step_up_required", FORBIDDEN, "Step-up authentication required";
    BrowserNotAllowed = "browser_not_allowed", BAD_REQUEST, "Not available to browsers";
    UnknownAction = "unknown_action", BAD_REQUEST, "Action not available";
    FlowNotFound = "flow_not_found", NOT_FOUND, "Flow not found";
    StepStale = "step_stale", CONFLICT, "Step is out of date";
    LastOwner = "last_owner", CONFLICT, "An organization must keep at least one owner";
    OrganizationSuspended = "organization_suspended", CONFLICT, "Organization suspended";
    AuthorityExceeded = "authority_exceeded", FORBIDDEN, "Insufficient authority";
    ReasonRequired = "reason_required", FORBIDDEN, "Reason required";
    VersionRequired = "version_required", PRECONDITION_REQUIRED, "Version required";
    VersionMismatch = "version_mismatch", PRECONDITION_FAILED, "Version mismatch";
    IdempotencyConflict = "idempotency_conflict", UNPROCESSABLE_ENTITY, "Idempotency key already used";
    IdempotencyInProgress = "idempotency_in_progress", CONFLICT, "Request still in progress";
    SecretAlreadyShown = "secret_already_shown", CONFLICT, "Secret already shown";
    Quota = "quota", UNPROCESSABLE_ENTITY, "Limit reached";
    Conflict = "conflict", CONFLICT, "Conflict with the current state";
    FlowExpired = "flow_expired", GONE, "Flow expired";
    FlowFinished = "flow_finished", GONE, "Flow finished";
    Refused = "refused", UNPROCESSABLE_ENTITY, "Request refused";
    CredentialUnknown = "credential_unknown", UNPROCESSABLE_ENTITY, "Unknown credential";
    FieldInvalid = "field_invalid", UNPROCESSABLE_ENTITY, "Invalid field";
    SlowDown = "slow_down", TOO_MANY_REQUESTS, "Too many attempts";
    Internal = "internal", INTERNAL_SERVER_ERROR, "Internal error";
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "Temporarily unavailable";
}

#[derive(Debug)]
pub struct Problem {
    pub code: ProblemCode,
    pub detail: String,
    /// Additional members of this problem (RFC 9457 §3.2).
    pub members: serde_json::Map<String, serde_json::Value>,
    retry_after: Option<u32>,
}

#[derive(Serialize)]
struct Body<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    code: &'a str,
    #[serde(flatten)]
    members: &'a serde_json::Map<String, serde_json::Value>,
}

impl Problem {
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), members: serde_json::Map::new(), retry_after: None }
    }

    #[must_use]
    pub fn with(mut self, members: serde_json::Map<String, serde_json::Value>) -> Self {
        self.members = members;
        self
    }

    /// Seconds until the next attempt.
    #[must_use]
    pub const fn after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The reference under which an authorized caller can look the refusal up (`docs/refusals.md`).
    #[must_use]
    pub fn with_reference(mut self, reference: Option<impl std::fmt::Display>) -> Self {
        if let Some(reference) = reference {
            self.members.insert("reference".to_owned(), reference.to_string().into());
        }
        self
    }
}

impl From<Limited> for Problem {
    fn from(limited: Limited) -> Self {
        Self::new(ProblemCode::SlowDown, "too many attempts; try again later").after(limited.seconds)
    }
}

impl From<ProblemCode> for Problem {
    fn from(code: ProblemCode) -> Self {
        Self::new(code, "")
    }
}

/// The log has the cause under the same request id; the caller learns only that it may try again.
impl From<StoreError> for Problem {
    fn from(_: StoreError) -> Self {
        ProblemCode::Unavailable.into()
    }
}

/// How a transaction with a refusal ends.
pub type TxProblem = TxError<Problem>;

/// Refuses a field of the request, inside a transaction.
pub fn field_invalid(text: impl Into<String>) -> TxProblem {
    Problem::new(ProblemCode::FieldInvalid, text).into()
}

impl From<Problem> for TxProblem {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

impl From<ProblemCode> for TxProblem {
    fn from(code: ProblemCode) -> Self {
        Self::Refused(code.into())
    }
}

impl From<TxProblem> for Problem {
    fn from(error: TxProblem) -> Self {
        match error {
            TxError::Store(error) => error.into(),
            TxError::Refused(problem) | TxError::Recorded(problem) => problem,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = Body {
            r#type: format!("urn:porteiro:problem:{}", self.code.as_str()),
            title: self.code.title(),
            status: self.code.status().as_u16(),
            detail: &self.detail,
            instance: super::layers::current_request_id().map(|id| format!("urn:uuid:{id}")),
            code: self.code.as_str(),
            members: &self.members,
        };
        let body = serde_json::to_string(&body).unwrap_or_default();
        let mut response = (self.code.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after.or_else(|| usual_wait(self.code.status())) {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        // For the layers around the handler.
        response.extensions_mut().insert(self.code);
        response
    }
}

/// The default wait for a status.
pub(super) const fn usual_wait(status: StatusCode) -> Option<u32> {
    match status {
        StatusCode::SERVICE_UNAVAILABLE => Some(1),
        StatusCode::TOO_MANY_REQUESTS => Some(60),
        _ => None,
    }
}
