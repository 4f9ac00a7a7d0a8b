//! `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07): a request that creates something does so once,
//! however often a caller repeats it after a lost connection.
//!
//! 1. The first request with a key claims it. The same request again, while it runs: 409. Another request: 422.
//! 2. The answer is stored for at least 24 hours and repeated word for word. A secret is not stored: the repeated request
//!    gets the id of what was created.
//! 3. A request that created nothing releases the key. One without a known end (a killed node, an answer of 5xx) keeps
//!    it for as long as it could still be running, and a minute.

mod store;

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use store::{Begun, Entry};

use super::answer::ShowsSecret;
use crate::{
    Core,
    http::{Problem, ProblemCode, read},
    secrets::sha256,
};

pub const KEY: &str = "idempotency-key";
const LONGEST_KEY: usize = 255;
const LARGEST_BODY: usize = 256 * 1024;

/// A stored response.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    text: String,
    location: Option<String>,
    etag: Option<String>,
    /// The id of the new resource, if the response contained a secret and is not stored.
    secret_of: Option<String>,
}

pub(super) async fn once(
    core: &Core,
    caller: &str,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Some(key) = key(request.headers())? else { return Ok(next.run(request).await) };
    let (parts, body) = request.into_parts();
    let body = read(Request::from_parts(parts.clone(), body), LARGEST_BODY).await?;
    let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
    let said = [parts.method.as_str().as_bytes(), b" ", target.as_bytes(), b"\n", &body].concat();
    let entry = Entry {
        caller: core.secrets.limit_key("idempotent", caller.as_bytes()),
        request: sha256(key.as_bytes()),
        digest: sha256(&said),
    };
    let lease = 60.0 + f64::from(core.checked.settings.request_timeout_seconds);
    let day = match store::begin(&core.store, &entry, lease).await? {
        Begun::First(day) => day,
        Begun::Running => return Err(ProblemCode::IdempotencyInProgress.into()),
        Begun::Other => {
            let text = "the key was used with a different request; use a new key for a new request";
            return Err(Problem::new(ProblemCode::IdempotencyConflict, text));
        }
        Begun::Done { status, answer } => return again(status, answer),
    };
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    let status = response.status();
    if status.is_server_error() {
        return Ok(response);
    }
    if !status.is_success() {
        store::release(&core.store, &entry, day).await?;
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map_err(|_| Problem::from(ProblemCode::Internal))?.to_bytes();
    let header = |name| parts.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let kept = match parts.extensions.get::<ShowsSecret>() {
        Some(shown) => {
            Kept { text: String::new(), location: None, etag: None, secret_of: Some(shown.id.clone()) }
        }
        None => Kept {
            text: String::from_utf8_lossy(&body).into_owned(),
            location: header(header::LOCATION).map(str::to_owned),
            etag: header(header::ETAG).map(str::to_owned),
            secret_of: None,
        },
    };
    let kept = serde_json::to_value(kept).map_err(|_| Problem::from(ProblemCode::Internal))?;
    // The resource exists whatever happens here: an error must not report the opposite.
    if store::finish(&core.store, &entry, day, status.as_u16(), &kept).await.is_err() {
        metrics::counter!("porteiro_idempotency_lost_total").increment(1);
    }
    Ok(Response::from_parts(parts, Body::from(body)))
}

/// A structured-field string (RFC 9651 §3.3.3) as the draft requires, or the same without its quotation marks.
fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let malformed = || {
        let text = "Idempotency-Key must be one value of 1 to 255 visible ASCII characters";
        Problem::new(ProblemCode::Malformed, text)
    };
    let mut sent = headers.get_all(KEY).iter();
    let value = match (sent.next(), sent.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.to_str().map_err(|_| malformed())?,
        (Some(_), Some(_)) => return Err(malformed()),
    };
    let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    if bare.is_empty() || bare.len() > LONGEST_KEY || !bare.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(malformed());
    }
    Ok(Some(bare.to_owned()))
}

/// The response to the first request.
fn again(status: u16, answer: serde_json::Value) -> Result<Response, Problem> {
    let broken = || Problem::from(ProblemCode::Internal);
    let kept: Kept = serde_json::from_value(answer).map_err(|_| broken())?;
    if let Some(id) = kept.secret_of {
        let text = "an earlier request with this key created the resource and returned its secret";
        let members = serde_json::Map::from_iter([("id".to_owned(), id.into())]);
        return Err(Problem::new(ProblemCode::SecretAlreadyShown, text).with(members));
    }
    let status = StatusCode::from_u16(status).map_err(|_| broken())?;
    let has_body = !kept.text.is_empty();
    let mut response = (status, kept.text).into_response();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    if has_body {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for (name, value) in [(header::LOCATION, kept.location), (header::ETAG, kept.etag)] {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
            headers.insert(name, value);
        }
    }
    Ok(response)
}
