use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use porteiro_protocol::id::{ConnectionId, DirectoryIdentityId};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::endpoint::{READ, REFUSALS, WRITE, id, member_of},
    unlink,
};
use crate::{
    App,
    api::{Operation, Time, deleted},
    directories::{self, Linked},
    http::{Problem, ProblemCode, RequestContext, Route},
    management::Caller,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/organizations/{organization}/members/{member}/directory-identities", READ, list)
            .operation(
                Operation::new(
                    "members.list_directory_identities",
                    "List the identities of a member at the organization's directories",
                )
                .gives::<Identities>(),
            ),
        Route::delete(
            "/v1/organizations/{organization}/members/{member}/directory-identities/{identity}",
            WRITE,
            remove,
        )
        .operation(
            Operation::new(
                "members.unlink_directory_identity",
                "Unlink an identity of a member, and end the sessions and grants that rest on it",
            )
            .refuses(REFUSALS),
        ),
    ]
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DirectoryIdentities")]
struct Identities {
    items: Vec<IdentityBody>,
}

/// An identity of a member.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DirectoryIdentity")]
struct IdentityBody {
    id: DirectoryIdentityId,
    connection_id: ConnectionId,
    issuer: String,
    /// As the directory calls the member in its ID tokens.
    subject: String,
    linked_at: Time,
}

impl From<Linked> for IdentityBody {
    fn from(linked: Linked) -> Self {
        Self {
            id: linked.id,
            connection_id: linked.connection,
            issuer: linked.issuer,
            subject: linked.subject,
            linked_at: linked.created_at.into(),
        }
    }
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, member)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let member = member_of(&app, &caller, &member).await?;
    let all = directories::list_of_member(&app.store, member.organization.id, member.id).await?;
    Ok(axum::Json(Identities { items: all.into_iter().map(Into::into).collect() }).into_response())
}

async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, member, identity)): Path<(String, String, String)>,
    context: RequestContext,
) -> Result<Response, Problem> {
    let identity = identity.parse().map_err(|_| ProblemCode::NotFound)?;
    deleted(Box::pin(unlink(&app, &context, &caller, id(&member)?, identity)).await?)
}
