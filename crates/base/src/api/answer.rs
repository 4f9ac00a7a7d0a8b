//! How the management API answers with one resource.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::time::OffsetDateTime;
use schemars::JsonSchema;
use serde::Serialize;
use time::format_description::well_known::Rfc3339;

use super::version;
use crate::http::{Problem, ProblemCode};

/// A moment as every answer writes it: RFC 3339, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub OffsetDateTime);

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0.to_offset(time::UtcOffset::UTC).format(&Rfc3339);
        serializer.serialize_str(&text.map_err(serde::ser::Error::custom)?)
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "date-time"})
    }
}

impl From<OffsetDateTime> for Time {
    fn from(at: OffsetDateTime) -> Self {
        Self(at)
    }
}

/// A response that contains a secret, once: a repeated request gets the id instead.
#[derive(Debug, Clone)]
pub(super) struct ShowsSecret {
    pub id: String,
}

/// 200 with a resource and its version.
pub fn one<T: Serialize>(version: i64, body: &T) -> Response {
    let mut response = axum::Json(body).into_response();
    response.headers_mut().insert(header::ETAG, version::tag(version));
    response
}

/// 201 with the new resource and its location.
pub fn created<T: Serialize>(location: &str, version: Option<i64>, body: &T) -> Response {
    let mut response = (StatusCode::CREATED, axum::Json(body)).into_response();
    let headers = response.headers_mut();
    if let Ok(location) = HeaderValue::from_str(location) {
        headers.insert(header::LOCATION, location);
    }
    if let Some(version) = version {
        headers.insert(header::ETAG, version::tag(version));
    }
    response
}

/// The same, with a secret in the body: it is not stored and never shown again.
pub fn created_with_secret<T: Serialize>(location: &str, id: &str, body: &T) -> Response {
    let mut response = created(location, None, body);
    response.extensions_mut().insert(ShowsSecret { id: id.to_owned() });
    response
}

/// 204 if the resource was found and deleted, 404 otherwise.
///
/// # Errors
/// When it was not found.
pub fn deleted(found: bool) -> Result<Response, Problem> {
    if found { Ok(StatusCode::NO_CONTENT.into_response()) } else { Err(ProblemCode::NotFound.into()) }
}

/// RFC 7240 §4.2.
pub(super) fn wants_minimal(headers: &HeaderMap) -> bool {
    headers
        .get_all("prefer")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split([',', ';']))
        .any(|preference| preference.trim().eq_ignore_ascii_case("return=minimal"))
}

/// 204 without the resource, with its headers. A response that contains a secret stays as it is.
pub(super) fn minimal(response: Response) -> Response {
    let has_body = matches!(response.status(), StatusCode::OK | StatusCode::CREATED);
    if !has_body || response.extensions().get::<ShowsSecret>().is_some() {
        return response;
    }
    let mut short = StatusCode::NO_CONTENT.into_response();
    for name in [header::ETAG, header::LOCATION] {
        if let Some(value) = response.headers().get(&name) {
            short.headers_mut().insert(name, value.clone());
        }
    }
    let applied = HeaderName::from_static("preference-applied");
    short.headers_mut().insert(applied, HeaderValue::from_static("return=minimal"));
    short
}
