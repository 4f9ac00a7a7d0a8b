use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::set;
use crate::{
    App,
    api::{Listing, Operation, Time, one},
    client_policies::{ClientPolicy, Decision, find, list},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
    oauth::client_documents,
};

const READ: Access = Access::Organization("client-policies:read");
const WRITE: Access = Access::Organization("client-policies:write");

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/organizations/{organization}/client-policies", READ, index).operation(
            Operation::new("client_policies.list", "List the client policies of an organization")
                .lists::<PolicyBody>(),
        ),
        Route::get("/v1/organizations/{organization}/client-policies/{client_id}", READ, show).operation(
            Operation::new("client_policies.get", "Get the policy for a client").gives::<PolicyBody>(),
        ),
        Route::put("/v1/organizations/{organization}/client-policies/{client_id}", WRITE, put).operation(
            Operation::new("client_policies.update", "Allow or block a client; blocking ends its grants")
                .takes::<SetBody>()
                .gives::<PolicyBody>()
                .refuses(&[ProblemCode::Quota]),
        ),
        Route::delete("/v1/organizations/{organization}/client-policies/{client_id}", WRITE, forget)
            .operation(Operation::new("client_policies.delete", "Delete the policy for a client")),
    ]
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ClientPolicy")]
struct PolicyBody {
    client_id: String,
    decision: Decision,
    created_at: Time,
}

impl From<ClientPolicy> for PolicyBody {
    fn from(policy: ClientPolicy) -> Self {
        Self { client_id: policy.client_id, decision: policy.decision, created_at: policy.created_at.into() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "SetClientPolicy")]
#[serde(deny_unknown_fields)]
struct SetBody {
    decision: Decision,
}

async fn index(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    let after = listing.after.as_ref().map(|(_, client_id)| client_id.as_str());
    let policies = list(&app.store, caller.organization()?.id, after, listing.rows()).await?;
    let key = |policy: &ClientPolicy| (policy.created_at, policy.client_id.clone());
    Ok(listing.page(policies, key, PolicyBody::from))
}

async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, client_id)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let policy = find(&app.store, caller.organization()?.id, &client_id).await?;
    let policy = policy.ok_or(ProblemCode::NotFound)?;
    Ok(one(policy.version, &PolicyBody::from(policy)))
}

async fn put(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, client_id)): Path<(String, String)>,
    context: RequestContext,
    Json(asked): Json<SetBody>,
) -> Result<Response, Problem> {
    match asked.decision {
        Decision::Allow => {
            client_documents::name(&app, &context, caller.organization()?.id.uuid(), &client_id).await?;
        }
        Decision::Block => {}
    }
    let said = Box::pin(set(&app, &context, &caller, &client_id, Some(asked.decision))).await?;
    let policy = said.ok_or(ProblemCode::NotFound)?;
    Ok(one(policy.version, &PolicyBody::from(policy)))
}

async fn forget(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, client_id)): Path<(String, String)>,
    context: RequestContext,
) -> Result<Response, Problem> {
    Box::pin(set(&app, &context, &caller, &client_id, None)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
