use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::endpoint::{READ, REFUSALS, WRITE, id, member_of},
    list, revoke,
};
use crate::{
    App,
    api::{Operation, Time},
    http::{Problem, RequestContext, Route},
    management::Caller,
    oauth::grants::Held,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/organizations/{organization}/members/{member}/grants", READ, grants_of).operation(
            Operation::new("members.list_grants", "List the grants of a member in the organization")
                .gives::<Grants>(),
        ),
        Route::delete("/v1/organizations/{organization}/members/{member}/grants", WRITE, revoke_all)
            .operation(
                Operation::new("members.revoke_grants", "Revoke all grants of a member in the organization")
                    .gives::<Revoked>()
                    .refuses(REFUSALS),
            ),
        Route::delete(
            "/v1/organizations/{organization}/members/{member}/grants/{client_id}",
            WRITE,
            revoke_of_client,
        )
        .operation(
            Operation::new("members.revoke_client_grants", "Revoke the grants of a member to one client")
                .gives::<Revoked>()
                .refuses(REFUSALS),
        ),
    ]
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemberGrants")]
struct Grants {
    items: Vec<GrantBody>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemberGrant")]
struct GrantBody {
    client_id: String,
    audience: String,
    scope: String,
    details: Vec<serde_json::Value>,
    offline: bool,
    created_at: Time,
    used_at: Time,
    expires_at: Time,
}

impl From<Held> for GrantBody {
    fn from(held: Held) -> Self {
        Self {
            client_id: held.client_id,
            audience: held.audience,
            scope: held.scope,
            details: held.details,
            offline: held.offline,
            created_at: held.created_at.into(),
            used_at: held.used_at.into(),
            expires_at: held.expires_at.into(),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RevokedGrants")]
struct Revoked {
    /// The number of revoked grants; if there are more than a thousand, the number revoked so far. All of them have
    /// ended.
    revoked: usize,
}

async fn grants_of(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, member)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let member = member_of(&app, &caller, &member).await?;
    let items = list(&app, &member).await?.into_iter().map(GrantBody::from).collect();
    Ok(axum::Json(Grants { items }).into_response())
}

async fn revoke_all(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, member)): Path<(String, String)>,
    context: RequestContext,
) -> Result<Response, Problem> {
    let revoked = Box::pin(revoke(&app, &context, &caller, id(&member)?, None)).await?;
    Ok(axum::Json(Revoked { revoked }).into_response())
}

async fn revoke_of_client(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, member, client_id)): Path<(String, String, String)>,
    context: RequestContext,
) -> Result<Response, Problem> {
    let revoked = revoke(&app, &context, &caller, id(&member)?, Some(&client_id));
    Ok(axum::Json(Revoked { revoked: Box::pin(revoked).await? }).into_response())
}
