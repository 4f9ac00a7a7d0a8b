use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use porteiro_protocol::id::DomainId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{add, find, remove, verify};
use crate::{
    App,
    api::{Listing, Operation, Time, created, deleted},
    domains::{self, Domain, State as Standing, decide},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
};

const READ: Access = Access::Organization("domains:read");
const WRITE: Access = Access::Organization(super::WRITE);
const ALL: &str = "/v1/organizations/{organization}/domains";
const ONE: &str = "/v1/organizations/{organization}/domains/{id}";

pub fn routes() -> Vec<Route> {
    vec![
        Route::get(ALL, READ, list).operation(
            Operation::new("domains.list", "List the organization's domains").lists::<DomainView>(),
        ),
        Route::post(ALL, WRITE, create).operation(
            Operation::new("domains.create", "Add a domain; the answer contains the record to publish")
                .takes::<NewDomain>()
                .creates::<DomainView>()
                .refuses(&[ProblemCode::Conflict, ProblemCode::Quota])
                .example(json!({"name": "example.com"})),
        ),
        Route::get(ONE, READ, get)
            .operation(Operation::new("domains.get", "Get a domain").gives::<DomainView>()),
        Route::post("/v1/organizations/{organization}/domains/{id}/verify", WRITE, check).operation(
            Operation::new("domains.verify", "Look up the domain's record, and verify the domain")
                .gives::<DomainView>()
                .refuses(&[ProblemCode::Conflict, ProblemCode::SlowDown]),
        ),
        Route::delete(ONE, WRITE, delete).operation(Operation::new(
            "domains.delete",
            "Remove a domain; the organization's directory vouches for no address there any more",
        )),
    ]
}

/// A domain of an organization.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Domain")]
struct DomainView {
    id: DomainId,
    /// In lower case and ASCII.
    name: String,
    /// `pending` until the record was seen; `lapsed` after seven days without it.
    state: Standing,
    record: Record,
    verified_at: Option<Time>,
    /// When the record was last looked up.
    checked_at: Option<Time>,
    /// Since when the record of a verified domain is missing; null while it is there.
    failing_since: Option<Time>,
    created_at: Time,
}

/// The record to publish. It must stay: it is looked up every day.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DomainRecord")]
struct Record {
    #[serde(rename = "type")]
    kind: &'static str,
    host: String,
    value: String,
}

impl From<Domain> for DomainView {
    fn from(domain: Domain) -> Self {
        Self {
            id: domain.id,
            record: Record { kind: "TXT", host: decide::host(&domain.name), value: domain.value },
            name: domain.name,
            state: domain.state,
            verified_at: domain.verified_at.map(Into::into),
            checked_at: domain.checked_at.map(Into::into),
            failing_since: domain.failing_since.map(Into::into),
            created_at: domain.created_at.into(),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewDomain {
    /// Such as `example.com`. Subdomains are added and verified themselves.
    name: String,
}

fn parsed(id: &str) -> Result<DomainId, Problem> {
    id.parse().map_err(|_| ProblemCode::NotFound.into())
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    let organization = caller.organization()?.id;
    let all = domains::list(&app.store, organization, listing.position()?, listing.rows()).await?;
    Ok(listing.page(all, |one| (one.created_at, one.id.to_string()), DomainView::from))
}

async fn get(
    State(app): State<Arc<App>>,
    Path((_, id)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let found = find(&app, &caller, parsed(&id)?).await?;
    Ok(axum::Json(DomainView::from(found)).into_response())
}

async fn create(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(request): Json<NewDomain>,
) -> Result<Response, Problem> {
    let place = caller.organization()?.id;
    let made = Box::pin(add(&app, &context, &caller, &request.name)).await?;
    let location = format!("/v1/organizations/{place}/domains/{}", made.id);
    Ok(created(&location, None, &DomainView::from(made)))
}

async fn check(
    State(app): State<Arc<App>>,
    Path((_, id)): Path<(String, String)>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let verified = Box::pin(verify(&app, &context, &caller, parsed(&id)?)).await?;
    Ok(axum::Json(DomainView::from(verified)).into_response())
}

async fn delete(
    State(app): State<Arc<App>>,
    Path((_, id)): Path<(String, String)>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    deleted(Box::pin(remove(&app, &context, &caller, parsed(&id)?)).await?)
}
