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
        /// The machine-readable word of a problem. A closed list.
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
    Malformed = "malformed", BAD_REQUEST, "The request could not be read";
    NotFound = "not_found", NOT_FOUND, "Nothing is here";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "This address does not take that method";
    TooLarge = "too_large", PAYLOAD_TOO_LARGE, "The request is larger than allowed";
    UnsupportedMedia = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "The body is of a kind this address does not take";
    HeadersTooLarge = "headers_too_large", REQUEST_HEADER_FIELDS_TOO_LARGE, "The request headers are larger than allowed";
    TooSlow = "too_slow", REQUEST_TIMEOUT, "The request arrived too slowly";
    Unauthenticated = "unauthenticated", UNAUTHORIZED, "Sign in first";
    Forbidden = "forbidden", FORBIDDEN, "Not allowed";
    OriginRefused = "origin_refused", FORBIDDEN, "This page may not ask that";
    StepUpRequired = "step_up_required", FORBIDDEN, "Prove once more that it is you";
    BrowserNotAllowed = "browser_not_allowed", BAD_REQUEST, "This flow belongs to an app, not to a browser";
    UnknownAction = "unknown_action", BAD_REQUEST, "That is not offered now";
    FlowNotFound = "flow_not_found", NOT_FOUND, "There is no such flow here";
    StepStale = "step_stale", CONFLICT, "The flow has moved on";
    LastOwner = "last_owner", CONFLICT, "An organization keeps an owner";
    OrganizationSuspended = "organization_suspended", CONFLICT, "The organization is suspended";
    AuthorityExceeded = "authority_exceeded", FORBIDDEN, "More was asked for than you hold";
    ReasonRequired = "reason_required", FORBIDDEN, "Say why";
    VersionRequired = "version_required", PRECONDITION_REQUIRED, "Say which version you have seen";
    VersionMismatch = "version_mismatch", PRECONDITION_FAILED, "It has changed since you looked";
    IdempotencyConflict = "idempotency_conflict", UNPROCESSABLE_ENTITY, "The key was used for another request";
    IdempotencyInProgress = "idempotency_in_progress", CONFLICT, "The same request is still under way";
    SecretAlreadyShown = "secret_already_shown", CONFLICT, "It was made before, and its secret is shown once";
    Quota = "quota", UNPROCESSABLE_ENTITY, "There are as many as there may be";
    Conflict = "conflict", CONFLICT, "That cannot be done as things are";
    FlowExpired = "flow_expired", GONE, "The flow took too long";
    FlowFinished = "flow_finished", GONE, "The flow is over";
    Refused = "refused", UNPROCESSABLE_ENTITY, "That did not work";
    CredentialUnknown = "credential_unknown", UNPROCESSABLE_ENTITY, "That credential is not known here";
    FieldInvalid = "field_invalid", UNPROCESSABLE_ENTITY, "A field needs attention";
    SlowDown = "slow_down", TOO_MANY_REQUESTS, "Too many attempts";
    Internal = "internal", INTERNAL_SERVER_ERROR, "Something broke on our side";
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "Try again in a moment";
}

#[derive(Debug)]
pub struct Problem {
    pub code: ProblemCode,
    pub detail: String,
    /// Members of this problem's own (RFC 9457 §3.2).
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

    /// When it is worth trying again, in seconds.
    #[must_use]
    pub const fn after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// By which whoever may know finds out why (`docs/refusals.md`).
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
        Self::new(ProblemCode::SlowDown, "too many attempts; wait a little").after(limited.seconds)
    }
}

impl From<ProblemCode> for Problem {
    fn from(code: ProblemCode) -> Self {
        Self::new(code, "")
    }
}

/// The cause is in the log under the same request id; the caller learns only that it may try again.
impl From<StoreError> for Problem {
    fn from(_: StoreError) -> Self {
        ProblemCode::Unavailable.into()
    }
}

/// How a transaction ends whose work may refuse.
pub type TxProblem = TxError<Problem>;

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
        // For whoever stands between the handler and the caller.
        response.extensions_mut().insert(self.code);
        response
    }
}

/// Where nothing better is known than the status.
pub(super) const fn usual_wait(status: StatusCode) -> Option<u32> {
    match status {
        StatusCode::SERVICE_UNAVAILABLE => Some(1),
        StatusCode::TOO_MANY_REQUESTS => Some(60),
        _ => None,
    }
}
