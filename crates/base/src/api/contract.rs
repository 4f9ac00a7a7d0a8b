//! Checks that all operations have in common, in this order:
//!
//! 1. The query has only parameters of the operation ([`Query`]).
//! 2. A request that changes an existing resource names the version that the caller has seen ([`version`]).
//! 3. A request that creates something does so once per `Idempotency-Key` ([`repeat`]).
//! 4. `Prefer: return=minimal` gives a response without a body ([`answer`]).

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

/// Runs the handler of an operation with a request that conforms to it. `caller`: identifies the caller for idempotency
/// keys; `None` at a public route.
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
    // A dry run is useless without its response.
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
