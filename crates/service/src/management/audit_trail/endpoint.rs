use std::sync::Arc;

use axum::{
    Extension,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use uuid::Uuid;

use super::export;
use crate::{
    App,
    api::{Listing, Operation, Parameter},
    audit_trail::{AuditEvent, Filter, Found, TrailKind, newest},
    http::{Access, Problem, ProblemCode, Route},
    limits::{self, AUDIT_EXPORT, Bucket},
    management::Caller,
};

const LINES: &str = "application/x-ndjson";

pub fn routes() -> Vec<Route> {
    let path = "/v1/organizations/{organization}/audit-events";
    let operation = Operation::new(
        "audit_events.list",
        "List the audit trail of an organization, newest first; as JSON lines, export all matching entries, oldest first",
    )
    .query(&[
        Parameter::choice("type", TrailKind::NAMES, "Only entries of this type."),
        Parameter::text("actor", "Only entries by this actor: the id of a member, client, key or operator."),
        Parameter::time("from", "Only entries at or after this time."),
        Parameter::time("to", "Only entries before this time."),
    ])
    .lists::<AuditEvent>()
    .also_as(LINES);
    vec![Route::get(path, Access::Organization("audit:read"), list).operation(operation)]
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    listing: Listing,
) -> Result<Response, Problem> {
    let organization = caller.organization()?.id;
    let text = |name: &str| listing.query.get(name).map(str::to_owned);
    let filter = Filter {
        kind: text("type"),
        actor: text("actor"),
        from: listing.query.time("from"),
        to: listing.query.time("to"),
    };
    if wants_lines(&headers) {
        if listing.query.get("cursor").is_some() || listing.query.get("limit").is_some() {
            return Err(Problem::new(
                ProblemCode::Malformed,
                "an export is not paged: omit limit and cursor",
            ));
        }
        let whom = format!("{}|{organization}", caller.key());
        let key = app.secrets.limit_key(AUDIT_EXPORT.name, whom.as_bytes());
        if let Some(limited) = limits::take(&app.store, &[Bucket { rule: AUDIT_EXPORT, key }]).await? {
            let problem = Problem::new(ProblemCode::SlowDown, "at most ten exports per minute");
            return Err(problem.after(limited.seconds));
        }
        let mut response = Response::new(Body::new(export::begin(&app, organization, filter).await?));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(LINES));
        return Ok(response);
    }
    let before = listing.after_id::<Uuid>()?;
    let rows = newest(&app.store, organization, &filter, before, listing.rows()).await?;
    Ok(listing.page(rows, |row| (row.entry.at, row.entry.id.to_string()), Found::shown))
}

/// JSON lines only if `Accept` names them; `*/*` gets a page.
fn wants_lines(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept
        .split(',')
        .any(|part| part.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(LINES))
}
