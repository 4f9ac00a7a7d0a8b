//! Errors of SCIM (RFC 7644 §3.12).

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use porteiro_protocol::scim::{ErrorKind, Invalid};
use serde_json::{Value, json};

use super::{
    Problem, ProblemCode,
    body::arrive,
    problem::{TxProblem, usual_wait},
};
use crate::{
    limits::Limited,
    store::{StoreError, TxError},
};

/// The media type of SCIM.
pub const SCIM_JSON: &str = "application/scim+json";
/// The longest problem that is translated.
const LONGEST_PROBLEM: usize = 65_536;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScimError {
    pub status: StatusCode,
    pub kind: Option<ErrorKind>,
    /// For the organization's administrator; quotes no value.
    pub detail: String,
    retry_after: Option<u32>,
}

impl ScimError {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, kind: None, detail: detail.into(), retry_after: None }
    }

    pub fn of(status: StatusCode, kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self { kind: Some(kind), ..Self::new(status, detail) }
    }
}

/// The SCIM status of a problem: a suspended organization is a 403.
const fn status(code: ProblemCode) -> StatusCode {
    match code {
        ProblemCode::OrganizationSuspended => StatusCode::FORBIDDEN,
        other => other.status(),
    }
}

impl From<Problem> for ScimError {
    fn from(problem: Problem) -> Self {
        let title = problem.code.title();
        let detail = if problem.detail.is_empty() { title.to_owned() } else { problem.detail };
        let kind = matches!(problem.code, ProblemCode::Malformed).then_some(ErrorKind::InvalidSyntax);
        Self { kind, ..Self::new(status(problem.code), detail) }
    }
}

impl From<StoreError> for ScimError {
    fn from(error: StoreError) -> Self {
        Problem::from(error).into()
    }
}

impl From<Limited> for ScimError {
    fn from(limited: Limited) -> Self {
        let detail = "too many requests; try again later";
        Self { retry_after: Some(limited.seconds), ..Self::new(StatusCode::TOO_MANY_REQUESTS, detail) }
    }
}

impl From<Invalid> for ScimError {
    fn from(invalid: Invalid) -> Self {
        Self::of(StatusCode::BAD_REQUEST, invalid.kind, invalid.detail)
    }
}

impl From<ScimError> for TxError<ScimError> {
    fn from(error: ScimError) -> Self {
        Self::Refused(error)
    }
}

impl From<Invalid> for TxError<ScimError> {
    fn from(invalid: Invalid) -> Self {
        Self::Refused(invalid.into())
    }
}

impl From<TxProblem> for TxError<ScimError> {
    fn from(error: TxProblem) -> Self {
        match error {
            TxError::Store(error) => Self::Store(error),
            TxError::Refused(problem) => Self::Refused(problem.into()),
            TxError::Recorded(problem) => Self::Recorded(problem.into()),
        }
    }
}

impl From<TxError<Self>> for ScimError {
    fn from(error: TxError<Self>) -> Self {
        match error {
            TxError::Store(error) => error.into(),
            TxError::Refused(error) | TxError::Recorded(error) => error,
        }
    }
}

impl IntoResponse for ScimError {
    fn into_response(self) -> Response {
        let mut body = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
            "status": self.status.as_u16().to_string(),
            "detail": self.detail,
        });
        if let Some(kind) = self.kind {
            body["scimType"] = kind.as_str().into();
        }
        let mut response = (self.status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(SCIM_JSON));
        if let Some(seconds) = self.retry_after.or_else(|| usual_wait(self.status)) {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// The layer around routes for directories: a problem from the guard becomes an error of SCIM, with its headers.
pub async fn present_scim_errors(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let Some(code) = response.extensions().get::<ProblemCode>().copied() else { return response };
    let (parts, body) = response.into_parts();
    let body = arrive(body, LONGEST_PROBLEM).await.unwrap_or_default();
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let detail = told["detail"].as_str().unwrap_or_else(|| code.title());
    let kind = matches!(code, ProblemCode::Malformed).then_some(ErrorKind::InvalidSyntax);
    let error = ScimError { kind, ..ScimError::new(status(code), detail) };
    let mut translated: Response<Body> = error.into_response();
    for name in [header::WWW_AUTHENTICATE, header::RETRY_AFTER] {
        if let Some(value) = parts.headers.get(&name) {
            translated.headers_mut().insert(name, value.clone());
        }
    }
    translated
}
