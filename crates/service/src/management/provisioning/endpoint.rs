use std::sync::Arc;

use axum::{Extension, extract::State, response::Response};
use porteiro_protocol::id::RequestId;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Entry, store::newest};
use crate::{
    App,
    api::{Listing, Operation, Time},
    http::{Access, Problem, Route},
    management::Caller,
};

const READ: Access = Access::Organization("audit:read");

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/organizations/{organization}/provisioning-refusals", READ, index).operation(
            Operation::new(
                "provisioning_refusals.list",
                "List the last refused requests of the organization's directory, with the reasons",
            )
            .lists::<RefusalBody>(),
        ),
    ]
}

/// A request of the organization's directory that was refused.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProvisioningRefusal")]
struct RefusalBody {
    /// Larger numbers are newer.
    number: i64,
    /// Kind and id of the API key or client, as in the audit trail.
    actor: String,
    method: String,
    /// What was addressed, such as `Users/{id}`.
    resource: String,
    status: i16,
    /// The kind of error (RFC 7644, section 3.12).
    scim_type: Option<String>,
    /// What was wrong, and what to do.
    detail: String,
    /// How often the same request was refused for the same reason.
    times: i64,
    /// The last such request.
    request_id: RequestId,
    first_at: Time,
    last_at: Time,
}

impl From<Entry> for RefusalBody {
    fn from(entry: Entry) -> Self {
        Self {
            number: entry.number,
            actor: entry.actor,
            method: entry.method,
            resource: entry.resource,
            status: entry.status,
            scim_type: entry.scim_type,
            detail: entry.detail,
            times: entry.times,
            request_id: entry.request_id,
            first_at: entry.first_at.into(),
            last_at: entry.last_at.into(),
        }
    }
}

async fn index(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    let before = listing.after_id::<i64>()?;
    let entries = newest(&app.store, caller.organization()?.id, before, listing.rows()).await?;
    let key = |entry: &Entry| (entry.first_at, entry.number.to_string());
    Ok(listing.page(entries, key, RefusalBody::from))
}
