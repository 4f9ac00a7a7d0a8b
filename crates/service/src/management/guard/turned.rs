//! Refusals by the guard, as problems with the challenge of the credential's scheme.

use axum::{
    http::header,
    response::{IntoResponse, Response},
};

use crate::{
    http::{OAuthError, Problem, ProblemCode},
    store::StoreError,
};

/// Why a call is refused.
pub(super) enum Turned {
    Problem(Problem),
    /// The credential is not accepted; the answer has the challenge of its scheme.
    Credential(OAuthError),
}

impl From<Problem> for Turned {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}
impl From<ProblemCode> for Turned {
    fn from(code: ProblemCode) -> Self {
        Self::Problem(code.into())
    }
}
impl From<StoreError> for Turned {
    fn from(error: StoreError) -> Self {
        Self::Problem(error.into())
    }
}
impl From<OAuthError> for Turned {
    fn from(error: OAuthError) -> Self {
        Self::Credential(error)
    }
}

impl IntoResponse for Turned {
    fn into_response(self) -> Response {
        let error = match self {
            Self::Problem(problem) => return problem.into_response(),
            Self::Credential(error) => error,
        };
        let detail = error.description.clone();
        let told = error.into_response();
        let code = match told.status().as_u16() {
            403 => ProblemCode::Forbidden,
            429 => ProblemCode::SlowDown,
            503 => ProblemCode::Unavailable,
            _ => ProblemCode::Unauthenticated,
        };
        let mut response = Problem::new(code, detail).into_response();
        let kept =
            [header::WWW_AUTHENTICATE, header::RETRY_AFTER, header::HeaderName::from_static("dpop-nonce")];
        for name in kept {
            if let Some(value) = told.headers().get(&name) {
                response.headers_mut().insert(name, value.clone());
            }
        }
        response
    }
}
