use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use porteiro_protocol::id::{MembershipId, OrganizationId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    App,
    api::{Operation, Time},
    http::{Access, Problem, ProblemCode, RequestContext, Route},
    management::{self, require_fresh},
    members::{self, Member, State as MemberState, Whom},
    organizations::Status,
    roles::{self, Grantable},
    sessions::SignedIn,
};

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/account/organizations", Access::Session, list).operation(
            Operation::new("account_organizations.list", "List your organizations, including suspended ones")
                .gives::<Places>(),
        ),
        Route::get("/v1/account/organizations/{organization}/permissions", Access::Session, held).operation(
            Operation::new(
                "account_organizations.list_permissions",
                "List the permissions you hold in an organization and can give to a key",
            )
            .gives::<HeldPermissions>(),
        ),
        Route::delete("/v1/account/organizations/{organization}", Access::Session, leave).operation(
            Operation::new("account_organizations.leave", "Leave an organization")
                .refuses(&[ProblemCode::LastOwner, ProblemCode::OrganizationSuspended]),
        ),
    ]
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OwnOrganization")]
struct Place {
    id: OrganizationId,
    slug: String,
    name: String,
    /// `suspended`: the person cannot act for the organization.
    status: Status,
}

/// A membership of the person.
#[derive(Serialize, JsonSchema)]
struct OwnMembership {
    organization: Place,
    /// The id of the membership, which is `sub` in tokens for the organization.
    membership: MembershipId,
    state: MemberState,
    display_name: String,
    roles: Vec<String>,
    primary_role: String,
    joined_at: Time,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OwnOrganizations")]
struct Places {
    items: Vec<OwnMembership>,
}

impl From<Member> for OwnMembership {
    fn from(member: Member) -> Self {
        let organization = member.organization;
        Self {
            organization: Place {
                id: organization.id,
                slug: organization.slug,
                name: organization.name,
                status: organization.status,
            },
            membership: member.id,
            state: member.state,
            display_name: member.display_name,
            roles: member.roles,
            primary_role: member.primary_role,
            joined_at: member.created_at.into(),
        }
    }
}

async fn list(State(app): State<Arc<App>>, Extension(me): Extension<SignedIn>) -> Result<Response, Problem> {
    let found = members::of_account(&app.store, me.account_id).await?;
    Ok(axum::Json(Places { items: found.into_iter().map(Into::into).collect() }).into_response())
}

#[derive(Serialize, JsonSchema)]
struct HeldPermissions {
    items: Vec<Grantable>,
}

/// Empty if the person cannot act for the organization now.
async fn held(
    State(app): State<Arc<App>>,
    Path(organization): Path<String>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let organization = organization.parse().map_err(|_| ProblemCode::NotFound)?;
    let member = members::find(&app.store, organization, Whom::Account(me.account_id)).await?;
    let member = member.filter(|member| member.state != MemberState::Removed).ok_or(ProblemCode::NotFound)?;
    let mut items = match member.held() {
        Ok(held) => roles::offered(&app, held).await?,
        Err(_) => Vec::new(),
    };
    items.retain(|item| item.held);
    Ok(axum::Json(HeldPermissions { items }).into_response())
}

/// Ends all grants the person gave there; the rest of the account stays. Only an invitation makes the person a member
/// again, so leaving requires a recent proof.
async fn leave(
    State(app): State<Arc<App>>,
    Path(organization): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    require_fresh(&app, &me).await?;
    let organization = organization.parse().map_err(|_| ProblemCode::NotFound)?;
    Box::pin(management::members::leave(&app, &context, me.account_id, organization)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
