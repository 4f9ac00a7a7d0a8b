use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use porteiro_protocol::{id::MembershipId, permission::Permission, time::OffsetDateTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Wanted, change, create, decide::Refused, dry_run_change, dry_run_removal, impact::Impact, remove,
};
use crate::{
    App,
    api::{Listing, Operation, Parameter, Patch, Query, Seen, Time, created, one, stale},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route, TxProblem},
    management::{Caller, standing::exceeds},
    permissions::{BUILT_IN, BuiltIn},
    roles::{self, Grantable, Role, find, list},
};

const READ: Access = Access::Organization("roles:read");
const WRITE: Access = Access::Organization("roles:write");
const REFUSALS: &[ProblemCode] =
    &[ProblemCode::AuthorityExceeded, ProblemCode::Conflict, ProblemCode::FieldInvalid];

pub fn routes() -> Vec<Route> {
    let dry_run = [Parameter::flag("dry_run", "Change nothing; return which permissions would be lost.")];
    vec![
        Route::get("/v1/organizations/{organization}/roles", READ, index).operation(
            Operation::new("roles.list", "List the built-in and custom roles of an organization")
                .lists::<RoleBody>(),
        ),
        Route::post("/v1/organizations/{organization}/roles", WRITE, make).operation(
            Operation::new("roles.create", "Create a role")
                .takes::<NewBody>()
                .example(
                    serde_json::json!({"key": "clerk", "name": "Clerk", "permissions": ["members:read"]}),
                )
                .creates::<RoleBody>()
                .refuses(REFUSALS)
                .refuses(&[ProblemCode::Quota]),
        ),
        Route::get("/v1/organizations/{organization}/roles/{role}", READ, show)
            .operation(Operation::new("roles.get", "Get a role").gives::<RoleBody>().versioned()),
        Route::patch("/v1/organizations/{organization}/roles/{role}", WRITE, update).operation(
            Operation::new("roles.update", "Update the name or permissions of a role")
                .query(&dry_run)
                .patches::<ChangeBody>()
                .gives::<RoleBody>()
                .versioned()
                .refuses(REFUSALS),
        ),
        Route::delete("/v1/organizations/{organization}/roles/{role}", WRITE, take_out).operation(
            Operation::new("roles.delete", "Delete a role that no member has")
                .query(&dry_run)
                .versioned()
                .refuses(REFUSALS),
        ),
        Route::get("/v1/organizations/{organization}/permissions", READ, permissions).operation(
            Operation::new(
                "permissions.list",
                "List the permissions that roles of the organization can include",
            )
            .gives::<Permissions>(),
        ),
    ]
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Role")]
struct RoleBody {
    key: String,
    name: String,
    built_in: bool,
    /// Whether the role includes every present and future permission except the reserved ones.
    everything: bool,
    permissions: Vec<String>,
    /// Null for built-in roles.
    created_at: Option<Time>,
}

impl From<Role> for RoleBody {
    fn from(role: Role) -> Self {
        Self {
            key: role.key,
            name: role.name,
            built_in: false,
            everything: false,
            permissions: role.permissions.into_iter().map(String::from).collect(),
            created_at: Some(role.created_at.into()),
        }
    }
}

impl From<&BuiltIn> for RoleBody {
    fn from(role: &BuiltIn) -> Self {
        Self {
            key: role.key.to_owned(),
            name: role.name.to_owned(),
            built_in: true,
            everything: role.permissions.is_none(),
            permissions: role.permissions.unwrap_or_default().iter().map(|&text| text.to_owned()).collect(),
            created_at: None,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NewRole")]
#[serde(deny_unknown_fields)]
struct NewBody {
    /// `[a-z][a-z0-9_-]{0,62}`; it cannot be changed.
    key: String,
    name: String,
    permissions: Vec<String>,
}

/// What of a role may change.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RoleChange")]
#[serde(deny_unknown_fields)]
struct ChangeBody {
    name: String,
    permissions: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Permissions {
    items: Vec<Grantable>,
}

/// What a change would do.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Impact")]
struct ImpactBody {
    dry_run: bool,
    /// Whether it would be done.
    allowed: bool,
    /// How many active members would lose something.
    members_affected: i64,
    /// The first of these members.
    members: Vec<LoserBody>,
    /// How many living grants would be refused from then on.
    grants_refused: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImpactOnMember")]
struct LoserBody {
    id: MembershipId,
    display_name: String,
    loses: Vec<Permission>,
}

/// The response of a dry run.
pub fn impact_answer(impact: &Impact, allowed: bool) -> Response {
    let members = impact.examples.iter().map(|one| LoserBody {
        id: one.id,
        display_name: one.display_name.clone(),
        loses: one.loses.clone(),
    });
    axum::Json(ImpactBody {
        dry_run: true,
        allowed,
        members_affected: impact.members,
        members: members.collect(),
        grants_refused: impact.grants,
    })
    .into_response()
}

impl From<Refused> for TxProblem {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused.into())
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let invalid = |text: &str| Self::new(ProblemCode::FieldInvalid, text);
        match refused {
            Refused::NotFound => ProblemCode::NotFound.into(),
            Refused::Stale => stale(),
            Refused::Key => {
                invalid("key must have 1 to 63 characters of a-z, 0-9, '_' and '-', beginning with a letter")
            }
            Refused::BuiltIn => Self::new(ProblemCode::Conflict, "a built-in role cannot be changed"),
            Refused::Name => invalid("name must have 1 to 100 printable characters"),
            Refused::Taken => Self::new(ProblemCode::Conflict, "a role with this key exists"),
            Refused::TooMany => Self::new(ProblemCode::Quota, "an organization has at most 200 roles"),
            Refused::TooManyPermissions => invalid("a role has at most 200 permissions"),
            Refused::NotAPermission(text) => {
                invalid(&format!("'{}' is not a permission (resource:action)", text.escape_debug()))
            }
            Refused::Reserved(one) => invalid(&format!("{one} is reserved: a role cannot include it")),
            Refused::Unknown(one) => invalid(&format!("unknown permission {one}")),
            Refused::Exceeds(missing) => exceeds(&missing),
            Refused::InUse => {
                Self::new(ProblemCode::Conflict, "members or pending invitations have this role")
            }
        }
    }
}

/// Sorted and paged in memory: roles are few, and built-in ones have no row.
async fn index(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    let own = list(&app.store, caller.organization()?.id).await?;
    let built_in = BUILT_IN.iter().map(|role| (OffsetDateTime::UNIX_EPOCH, RoleBody::from(role)));
    let mut all: Vec<_> =
        built_in.chain(own.into_iter().map(|role| (role.created_at, RoleBody::from(role)))).collect();
    let place = |(at, role): &(OffsetDateTime, RoleBody)| (*at, role.key.clone());
    all.sort_by_key(place);
    all.retain(|role| listing.after.as_ref().is_none_or(|after| place(role) > *after));
    Ok(listing.page(all, place, |(_, role)| role))
}

async fn make(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    context: RequestContext,
    Json(new): Json<NewBody>,
) -> Result<Response, Problem> {
    let made = create(&app, &context, &caller, &new.key, &new.name, &new.permissions);
    let role = Box::pin(made).await?;
    let location = format!("/v1/organizations/{}/roles/{}", caller.organization()?.id, role.key);
    Ok(created(&location, Some(role.version), &RoleBody::from(role)))
}

async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, key)): Path<(String, String)>,
) -> Result<Response, Problem> {
    if let Some(role) = BUILT_IN.iter().find(|role| role.key == key) {
        return Ok(one(1, &RoleBody::from(role)));
    }
    let role = find(&app.store, caller.organization()?.id, &key).await?.ok_or(ProblemCode::NotFound)?;
    Ok(one(role.version, &RoleBody::from(role)))
}

async fn update(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, key)): Path<(String, String)>,
    context: RequestContext,
    Seen(seen): Seen,
    query: Query,
    patch: Patch<ChangeBody>,
) -> Result<Response, Problem> {
    if BUILT_IN.iter().any(|role| role.key == key) {
        return Err(Refused::BuiltIn.into());
    }
    let now = find(&app.store, caller.organization()?.id, &key).await?.ok_or(ProblemCode::NotFound)?;
    let permissions = now.permissions.into_iter().map(String::from).collect();
    let asked = patch.apply(&ChangeBody { name: now.name, permissions })?;
    let wanted = Wanted { name: Some(asked.name), permissions: Some(asked.permissions) };
    if query.flag("dry_run") {
        let impact = Box::pin(dry_run_change(&app, &context, &caller, &key, seen, &wanted)).await?;
        return Ok(impact_answer(&impact, true));
    }
    let role = Box::pin(change(&app, &context, &caller, &key, seen, &wanted)).await?;
    Ok(one(role.version, &RoleBody::from(role)))
}

async fn take_out(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, key)): Path<(String, String)>,
    context: RequestContext,
    Seen(seen): Seen,
    query: Query,
) -> Result<Response, Problem> {
    if query.flag("dry_run") {
        let rehearsed = Box::pin(dry_run_removal(&app, &context, &caller, &key, seen)).await?;
        return Ok(impact_answer(&rehearsed.1, rehearsed.0));
    }
    Box::pin(remove(&app, &context, &caller, &key, seen)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn permissions(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let items = roles::offered(&app, &caller.held).await?;
    Ok(axum::Json(Permissions { items }).into_response())
}
