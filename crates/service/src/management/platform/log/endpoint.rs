use std::sync::Arc;

use axum::{extract::State, response::Response};
use porteiro_protocol::{
    id::{Id, RequestId},
    time::Duration,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Filter, Found, list};
use crate::{
    App,
    api::{Listing, Operation, Parameter, Time},
    http::{Access, Problem, ProblemCode, Route},
    security_log::{self, EventKind},
};

/// There is no index by kind: without a subject, a search covers at most this period.
const LONGEST: Duration = Duration::days(31);

pub fn routes() -> Vec<Route> {
    let operation = Operation::new("security_log.list", "List the entries of the security log, newest first")
        .query(&[
            Parameter::text("subject", "Only entries about this account."),
            Parameter::choice(
                "kind",
                EventKind::NAMES,
                "Only entries of this kind; requires subject, or from and to at most 31 days apart.",
            ),
            Parameter::time("from", "Only entries at or after this time."),
            Parameter::time("to", "Only entries before this time."),
        ])
        .lists::<Entry>()
        .refuses(&[ProblemCode::FieldInvalid]);
    vec![
        Route::get("/v1/platform/security-log", Access::Platform("platform.log:read"), all)
            .operation(operation),
    ]
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SecurityLogEntry")]
struct Entry {
    id: Id<security_log::Entry>,
    /// The account that the entry is about; all zeros if no account is known.
    subject: Id<security_log::Entry>,
    kind: String,
    at: Time,
    payload: Value,
    request_id: Option<RequestId>,
    address: Option<String>,
    user_agent: Option<String>,
    /// What the administrator wrote; erased with the person.
    reason: Option<String>,
}

impl From<Found> for Entry {
    fn from(found: Found) -> Self {
        Self {
            id: found.id.into(),
            subject: found.subject.into(),
            kind: found.kind,
            at: found.at.into(),
            payload: found.payload,
            request_id: found.request_id.map(Into::into),
            address: found.address,
            user_agent: found.user_agent,
            reason: found.reason,
        }
    }
}

async fn all(State(app): State<Arc<App>>, listing: Listing) -> Result<Response, Problem> {
    let query = &listing.query;
    let filter = Filter {
        subject: query.parsed::<Uuid>("subject")?,
        kind: query.get("kind").map(str::to_owned),
        from: query.time("from"),
        to: query.time("to"),
    };
    let short = filter.from.zip(filter.to).is_some_and(|(from, to)| to - from <= LONGEST);
    if filter.kind.is_some() && filter.subject.is_none() && !short {
        let text = "kind requires subject, or from and to at most 31 days apart";
        return Err(Problem::new(ProblemCode::FieldInvalid, text));
    }
    let rows = list(&app, &filter, listing.after_id()?, listing.rows()).await?;
    Ok(listing.page(rows, |row| (row.at, row.id.to_string()), Entry::from))
}
