use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use porteiro_protocol::id::{DirectoryIdentityId, OrganizationId};
use schemars::JsonSchema;
use serde::Serialize;

use super::{super::SIGNED_IN, unlink};
use crate::{
    App,
    api::{Operation, Time, deleted},
    directories::{self, Linked},
    http::{Problem, ProblemCode, RequestContext, Route},
    management::require_fresh,
    sessions::SignedIn,
};

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/account/directory-identities", SIGNED_IN, list).operation(
            Operation::new(
                "account_directory_identities.list",
                "List your identities at the directories of your organizations",
            )
            .gives::<Identities>(),
        ),
        Route::delete("/v1/account/directory-identities/{id}", SIGNED_IN, remove).operation(Operation::new(
            "account_directory_identities.unlink",
            "Unlink an identity; sessions and grants that rest on it end",
        )),
    ]
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OwnDirectoryIdentities")]
struct Identities {
    items: Vec<Identity>,
}

/// An identity of the person at the directory of an organization.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OwnDirectoryIdentity")]
struct Identity {
    id: DirectoryIdentityId,
    organization_id: OrganizationId,
    /// The name of the connection.
    connection: String,
    issuer: String,
    /// As the directory calls the person in its ID tokens.
    subject: String,
    linked_at: Time,
}

impl From<Linked> for Identity {
    fn from(linked: Linked) -> Self {
        Self {
            id: linked.id,
            organization_id: linked.organization,
            connection: linked.connection_name,
            issuer: linked.issuer,
            subject: linked.subject,
            linked_at: linked.created_at.into(),
        }
    }
}

async fn list(State(app): State<Arc<App>>, Extension(me): Extension<SignedIn>) -> Result<Response, Problem> {
    let all = directories::list_of_account(&app.store, me.account_id).await?;
    Ok(axum::Json(Identities { items: all.into_iter().map(Into::into).collect() }).into_response())
}

async fn remove(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    require_fresh(&app, &me).await?;
    let id = id.parse().map_err(|_| ProblemCode::NotFound)?;
    deleted(Box::pin(unlink(&app, &context, &me, id)).await?)
}
