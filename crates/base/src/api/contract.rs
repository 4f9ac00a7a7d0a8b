//! What holds around every operation, in this order:
//!
//! 1. Its query names nothing the operation does not take ([`Query`]).
//! 2. Where something known is changed, the request says which version the caller has seen ([`version`]).
//! 3. Where something is made, the same `Idempotency-Key` makes it once ([`repeat`]).
//! 4. Who prefers a short answer gets one ([`answer`]).

use axum::{
    extract::Request,
    http::Method,
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{answer, query::Query, repeat, version};
use crate::{
    Core,
    http::{Operation, Problem},
};

/// Runs the handler of an operation with a request that keeps to it. `caller`: what repeated requests are known by; nobody
/// is known at a public route.
pub async fn keep(
    core: &Core,
    operation: &Operation,
    caller: Option<&str>,
    request: Request,
    next: Next,
) -> Response {
    kept(core, operation, caller, request, next).await.unwrap_or_else(IntoResponse::into_response)
}

/// Whether a request may change something.
pub fn writes(method: &Method) -> bool {
    *method != Method::GET && *method != Method::HEAD
}

async fn kept(
    core: &Core,
    operation: &Operation,
    caller: Option<&str>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let query = Query::read(operation, request.uri().query())?;
    // Looking at what would come of a change is nothing without the answer.
    let minimal =
        writes(request.method()) && !query.flag("dry_run") && answer::wants_minimal(request.headers());
    request.extensions_mut().insert(query);
    if operation.needs_version(request.method()) {
        let seen = version::seen(request.headers())?;
        request.extensions_mut().insert(seen);
    }
    let response = match caller {
        Some(caller) if operation.creates => repeat::once(core, caller, request, next).await?,
        Some(_) | None => next.run(request).await,
    };
    Ok(if minimal { answer::minimal(response) } else { response })
}
