//! `/v1/flows`: the JSON API that every client uses, hosted screens included.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::id::FlowId;
use serde_json::{Map, Value, json};

use super::{FlowError, OpenRequest, describe, representation::Answer, state::Transport};
use crate::{
    App,
    credentials::{email, password, sms},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
};

pub fn routes() -> Vec<Route> {
    let public = Access::Public("starts a flow; no account data is returned before a proof");
    let owner = Access::FlowOwner;
    vec![
        Route::post("/v1/flows", public, open).described(describe::open()),
        Route::get("/v1/flows/{id}", owner, show).described(describe::show()),
        Route::delete("/v1/flows/{id}", owner, cancel).described(describe::cancel()),
        Route::post("/v1/flows/{id}/{module}/{verb}", owner, act).described(describe::act()),
    ]
}

/// Requires the same origin of browsers, so that no other site acts for the person; an app must not look like a
/// browser.
pub(super) fn same_origin(
    app: &App,
    context: &RequestContext,
    transport: Transport,
) -> Result<(), FlowError> {
    match transport {
        Transport::Browser => {
            let origin = context.origin.as_deref() == Some(app.issuer());
            let site = matches!(context.fetch_site.as_deref(), None | Some("same-origin"));
            if origin && site { Ok(()) } else { Err(FlowError::OriginRefused) }
        }
        Transport::Api if context.origin.is_some() || context.has_cookies => {
            Err(FlowError::BrowserNotAllowed)
        }
        Transport::Api => Ok(()),
    }
}

async fn open(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Json(request): Json<OpenRequest>,
) -> Result<Response, FlowError> {
    let answer = super::open(&app, &context, request).await?;
    Ok(respond(StatusCode::CREATED, answer))
}

async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
) -> Result<Response, FlowError> {
    let answer = super::show(&app, &context, parse(&id)?).await?;
    Ok(respond(StatusCode::OK, answer))
}

async fn cancel(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
) -> Result<Response, FlowError> {
    let answer = super::cancel(&app, &context, parse(&id)?).await?;
    Ok(respond(StatusCode::OK, answer))
}

async fn act(
    State(app): State<Arc<App>>,
    Path((id, module, verb)): Path<(String, String, String)>,
    context: RequestContext,
    Json(input): Json<Value>,
) -> Result<Response, FlowError> {
    let started = tokio::time::Instant::now();
    let action = format!("{module}/{verb}");
    let outcome = Box::pin(super::act(&app, &context, parse(&id)?, &action, &input)).await;
    // Answers for known and unknown people take the same, not a random, time.
    if let Some(floor) = floor(&app, &action) {
        tokio::time::sleep_until(started + floor).await;
    }
    Ok(respond(StatusCode::OK, outcome?))
}

fn floor(app: &App, action: &str) -> Option<Duration> {
    let settings = &app.checked.settings;
    let milliseconds = if action == password::CHECK.path() {
        settings.password_floor_ms
    } else if action == email::SEND.path() || action == sms::SEND.path() {
        settings.send_floor_ms
    } else {
        return None;
    };
    Some(Duration::from_millis(milliseconds.into()))
}

fn parse(id: &str) -> Result<FlowId, FlowError> {
    id.parse().map_err(|_| FlowError::NotFound)
}

fn respond(status: StatusCode, answer: Answer) -> Response {
    let mut response = (status, axum::Json(answer.body)).into_response();
    for cookie in answer.cookies {
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
    response
}

fn with(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}

impl IntoResponse for FlowError {
    fn into_response(self) -> Response {
        let mut cookies = Vec::new();
        let problem = match self {
            Self::NotFound => Problem::from(ProblemCode::FlowNotFound),
            Self::UnknownKind => {
                Problem::new(ProblemCode::Malformed, "a member is missing, unknown or of the wrong type")
            }
            Self::BrowserNotAllowed => Problem::from(ProblemCode::BrowserNotAllowed),
            Self::OriginRefused => Problem::from(ProblemCode::OriginRefused),
            Self::UnknownAction => Problem::new(
                ProblemCode::UnknownAction,
                "the flow does not offer this action at its current step",
            ),
            Self::KindNotOpen(what) => {
                Problem::new(ProblemCode::Forbidden, format!("{what} is not available"))
            }
            Self::NotSignedIn => Problem::new(ProblemCode::Unauthenticated, "sign in to open this flow"),
            Self::StepStale(answer) => Problem::new(ProblemCode::StepStale, "the flow is at a later step")
                .with(with("flow", answer.body)),
            Self::Expired => Problem::new(ProblemCode::FlowExpired, "start a new flow"),
            Self::Finished => Problem::new(ProblemCode::FlowFinished, "start a new flow"),
            Self::Refused(answer) => {
                cookies = answer.cookies;
                Problem::new(ProblemCode::Refused, "the attempt was refused").with(with("flow", answer.body))
            }
            Self::UnknownPasskey { credential_id } => Problem::new(
                ProblemCode::CredentialUnknown,
                "the passkey is not registered with this service",
            )
            .with(with("signal", json!({"credential_id": credential_id}))),
            Self::Invalid { field, detail } => {
                Problem::new(ProblemCode::FieldInvalid, format!("{field} {detail}"))
                    .with(with("errors", json!([{"pointer": format!("/{field}"), "detail": detail}])))
            }
            Self::Password(unfit) => {
                let (code, detail) = (unfit.code(), unfit.to_string());
                let errors = json!([{"pointer": "/new_password", "code": code, "detail": detail}]);
                Problem::new(ProblemCode::FieldInvalid, format!("new_password {detail}"))
                    .with(with("errors", errors))
            }
            Self::SlowDown => Problem::new(ProblemCode::SlowDown, "too many attempts; try again later"),
            Self::Early { seconds } => {
                Problem::new(ProblemCode::SlowDown, "too many attempts; try again later").after(seconds)
            }
            Self::Unavailable => Problem::from(ProblemCode::Unavailable),
            Self::Internal(what) => {
                tracing::error!(what, "a flow failed");
                Problem::from(ProblemCode::Internal)
            }
        };
        let mut response = problem.into_response();
        for cookie in cookies {
            if let Ok(value) = HeaderValue::from_str(&cookie) {
                response.headers_mut().append(header::SET_COOKIE, value);
            }
        }
        response
    }
}
