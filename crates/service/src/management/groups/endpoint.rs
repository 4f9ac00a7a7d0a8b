use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use porteiro_protocol::id::GroupId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::map;
use crate::{
    App,
    api::{Listing, Operation, Patch, Seen, Time, one},
    groups::{Group, find, list},
    http::{Access, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
};

const READ: Access = Access::Organization("roles:read");
const WRITE: Access = Access::Organization("roles:write");

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/organizations/{organization}/groups", READ, index).operation(
            Operation::new("groups.list", "List the groups of an organization's directory")
                .lists::<GroupBody>(),
        ),
        Route::get("/v1/organizations/{organization}/groups/{group}", READ, show)
            .operation(Operation::new("groups.get", "Get a group").gives::<GroupBody>().versioned()),
        Route::patch("/v1/organizations/{organization}/groups/{group}", WRITE, update).operation(
            Operation::new("groups.update", "Set the role that members of a group have")
                .patches::<ChangeBody>()
                .gives::<GroupBody>()
                .versioned()
                .refuses(&[ProblemCode::AuthorityExceeded, ProblemCode::FieldInvalid]),
        ),
    ]
}

/// A group of the organization's directory, which says who is in it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Group")]
struct GroupBody {
    id: GroupId,
    display_name: String,
    /// The directory's own key of the group.
    external_id: Option<String>,
    /// The role that its members have; null: none.
    role: Option<String>,
    /// The number of members.
    members: i64,
    created_at: Time,
}

impl From<Group> for GroupBody {
    fn from(group: Group) -> Self {
        Self {
            id: group.id,
            display_name: group.display_name,
            external_id: group.external_id,
            role: group.role,
            members: group.size,
            created_at: group.created_at.into(),
        }
    }
}

/// What of a group may change here; the directory changes the rest.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GroupChange")]
#[serde(deny_unknown_fields)]
struct ChangeBody {
    /// A role of the organization, or null. Never `owner`.
    role: Option<String>,
}

async fn index(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    let after = listing.after_time().zip(listing.after_id::<GroupId>()?);
    let groups = list(&app.store, caller.organization()?.id, after, listing.rows()).await?;
    let key = |group: &Group| (group.created_at, group.id.to_string());
    Ok(listing.page(groups, key, GroupBody::from))
}

fn shown(group: Group) -> Response {
    one(group.version, &GroupBody::from(group))
}

async fn found(app: &App, caller: &Caller, text: &str) -> Result<Group, Problem> {
    let id = text.parse().map_err(|_| ProblemCode::NotFound)?;
    let group = find(&app.store, caller.organization()?.id, id).await?;
    group.ok_or_else(|| ProblemCode::NotFound.into())
}

async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, group)): Path<(String, String)>,
) -> Result<Response, Problem> {
    Ok(shown(found(&app, &caller, &group).await?))
}

async fn update(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, group)): Path<(String, String)>,
    context: RequestContext,
    Seen(seen): Seen,
    patch: Patch<ChangeBody>,
) -> Result<Response, Problem> {
    let now = found(&app, &caller, &group).await?;
    let asked = patch.apply(&ChangeBody { role: now.role })?;
    let mapped = map(&app, &context, &caller, now.id, seen, asked.role.as_deref());
    Ok(shown(Box::pin(mapped).await?))
}
