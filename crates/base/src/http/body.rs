//! Bodies: bounded, of the declared media type, read within a time limit. A body that is too large is refused, never
//! truncated.

use std::time::Duration;

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::{Method, header},
    response::{IntoResponse, Response},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use porteiro_protocol::{error::ErrorCode, form::Parameters, json::parse_strict};
use serde_json::Value;

use super::{OAuthError, Problem, ProblemCode, unreadable_form};

/// How long a body may take to arrive, so that slow clients do not hold connections.
const ARRIVAL: Duration = Duration::from_secs(10);
const FORM_LIMIT: usize = 64 * 1024;

/// A form, each parameter at most once.
#[derive(Debug)]
pub struct Form(pub Parameters);

/// Parameters from the query of a GET or the form of a POST (OAuth 2.1 §3.1), each at most once.
#[derive(Debug)]
pub struct Sent(pub Parameters);

impl<S: Sync> FromRequest<S> for Sent {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        if request.method() == Method::POST {
            return Form::from_request(request, state)
                .await
                .map(|Form(parameters)| Self(parameters))
                .map_err(unreadable_form);
        }
        Parameters::parse(request.uri().query().unwrap_or_default().as_bytes())
            .map(Self)
            .map_err(|error| OAuthError::new(ErrorCode::InvalidRequest, error.to_string()).into_response())
    }
}

/// JSON of at most `LIMIT` bytes and `DEPTH` levels, without repeated names.
#[derive(Debug)]
pub struct Json<T, const LIMIT: usize = 32_768, const DEPTH: usize = 16>(pub T);

impl<S: Sync> FromRequest<S> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        expect_type(&request, "application/x-www-form-urlencoded")?;
        let body = read(request, FORM_LIMIT).await?;
        Parameters::parse(&body)
            .map(Self)
            .map_err(|error| Problem::new(ProblemCode::Malformed, error.to_string()))
    }
}

impl<T, S, const LIMIT: usize, const DEPTH: usize> FromRequest<S> for Json<T, LIMIT, DEPTH>
where
    T: serde::de::DeserializeOwned,
    S: Sync,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        json_value(request, &["application/json"], LIMIT, DEPTH).await.and_then(typed).map(Self)
    }
}

/// A JSON document of one of these media types.
pub async fn json_value(
    request: Request,
    types: &[&str],
    limit: usize,
    depth: usize,
) -> Result<Value, Problem> {
    expect_one_of(&request, types)?;
    let body = read(request, limit).await?;
    parse_strict(&body, depth).map_err(|error| {
        // The position, never the content: the input may contain a secret.
        Problem::new(
            ProblemCode::Malformed,
            format!("invalid JSON at line {}, column {}", error.line(), error.column()),
        )
    })
}

/// The value as `T`; an invalid value is never quoted.
pub fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_json::from_value(value).map_err(|_| {
        Problem::new(ProblemCode::Malformed, "a member is missing, unknown or of the wrong type")
    })
}

fn expect_type(request: &Request, wanted: &str) -> Result<(), Problem> {
    expect_one_of(request, &[wanted])
}

fn expect_one_of(request: &Request, wanted: &[&str]) -> Result<(), Problem> {
    let announced = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let mut parts = announced.unwrap_or_default().split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let utf8 = parts.all(|parameter| {
        parameter.split_once('=').is_none_or(|(name, value)| {
            !name.eq_ignore_ascii_case("charset") || value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        })
    });
    if wanted.iter().any(|wanted| essence.eq_ignore_ascii_case(wanted)) && utf8 {
        Ok(())
    } else {
        let text = format!("the body must be {} in UTF-8", wanted.join(" or "));
        Err(Problem::new(ProblemCode::UnsupportedMedia, text))
    }
}

pub async fn read(request: Request, limit: usize) -> Result<bytes::Bytes, Problem> {
    let too_large = || Problem::new(ProblemCode::TooLarge, format!("the limit is {limit} bytes"));
    let announced =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > limit as u64) {
        return Err(too_large());
    }
    arrive(request.into_body(), limit).await.map_err(|code| match code {
        ProblemCode::TooLarge => too_large(),
        ProblemCode::Malformed => Problem::new(ProblemCode::Malformed, "the body is incomplete"),
        other => other.into(),
    })
}

/// A whole body of at most `limit` bytes, within a time limit: a slow sender would hold a connection.
///
/// # Errors
/// Too large, too slow, or cut off.
pub async fn arrive(body: Body, limit: usize) -> Result<bytes::Bytes, ProblemCode> {
    match tokio::time::timeout(ARRIVAL, Limited::new(body, limit).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(ProblemCode::TooLarge),
        Ok(Err(_)) => Err(ProblemCode::Malformed),
        Err(_) => Err(ProblemCode::TooSlow),
    }
}
