//! Versions (RFC 9110 §13.1.1): a request that changes a resource names the version it is based on. The statement that
//! makes the change checks it, or the code under the same lock.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, header, request::Parts},
};

use super::query::no_operation;
use crate::http::{Problem, ProblemCode};

/// The version that a caller has seen. Only [`super::contract`] creates one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen(pub i64);

impl Seen {
    /// Compares with the locked row.
    ///
    /// # Errors
    /// When the resource was changed since: 412.
    pub fn check(self, version: i64) -> Result<(), Problem> {
        if self.0 == version { Ok(()) } else { Err(stale()) }
    }
}

pub fn stale() -> Problem {
    Problem::new(
        ProblemCode::VersionMismatch,
        "the resource has changed; read it again and repeat the change",
    )
}

/// The strong entity tag of a version.
pub fn tag(version: i64) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{version}\"")).unwrap_or(HeaderValue::from_static("\"0\""))
}

/// The version in `If-Match`. `*` names no version, and a malformed tag matches none.
pub(super) fn seen(headers: &HeaderMap) -> Result<Seen, Problem> {
    let required = || {
        let text = "send the ETag of the version you read in If-Match";
        Problem::new(ProblemCode::VersionRequired, text)
    };
    let mut sent = headers.get_all(header::IF_MATCH).iter();
    let (Some(value), None) = (sent.next(), sent.next()) else { return Err(required()) };
    let value = value.to_str().unwrap_or_default().trim();
    if value.is_empty() || value == "*" {
        return Err(required());
    }
    let digits = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    digits.and_then(|digits| digits.parse().ok()).map(Seen).ok_or_else(stale)
}

impl<S: Sync> FromRequestParts<S> for Seen {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().copied().ok_or_else(no_operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_strong_tag_of_ours_is_a_version() {
        let read = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::IF_MATCH, HeaderValue::from_static(value));
            }
            seen(&headers).map_err(|problem| problem.code)
        };
        assert_eq!(read(&["\"7\""]).unwrap(), Seen(7));
        for none in [&[][..], &[""], &["*"], &["\"1\"", "\"2\""]] {
            assert_eq!(read(none).unwrap_err(), ProblemCode::VersionRequired, "{none:?}");
        }
        for other in ["7", "W/\"7\"", "\"1\", \"2\"", "\"x\"", "\"\""] {
            assert_eq!(read(&[other]).unwrap_err(), ProblemCode::VersionMismatch, "{other}");
        }
    }
}
