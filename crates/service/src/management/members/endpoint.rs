use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State as Shared},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use porteiro_protocol::id::{AccountId, MembershipId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{roles::impact_answer, standing::exceeds},
    End, Who, add, change,
    decide::{Refused, Wanted},
    dry_run, enable, end,
};
use crate::{
    App,
    api::{Listing, Operation, Parameter, Patch, Query, Seen, Time, created, one, stale},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route, TxProblem},
    management::{By, Caller},
    members::{Filter, Member, Position, Source, State, Whom, find, list},
};

pub(super) const READ: Access = Access::Organization("members:read");
pub(super) const WRITE: Access = Access::Organization("members:write");
pub(super) const REFUSALS: &[ProblemCode] = &[
    ProblemCode::AuthorityExceeded,
    ProblemCode::LastOwner,
    ProblemCode::Conflict,
    ProblemCode::FieldInvalid,
];

pub(super) fn routes() -> Vec<Route> {
    let filters = [
        Parameter::choice(
            "state",
            &["provisioned", "active", "disabled", "removed"],
            "Only members in this state; by default all but removed ones.",
        ),
        Parameter::text("role", "Only members with this role."),
        Parameter::time("created_after", "Only members created after this time."),
    ];
    let dry_run = [Parameter::flag("dry_run", "Change nothing; return which permissions would be lost.")];
    vec![
        Route::get("/v1/organizations/{organization}/members", READ, index).operation(
            Operation::new("members.list", "List the members of an organization")
                .query(&filters)
                .lists::<MemberBody>(),
        ),
        Route::post("/v1/organizations/{organization}/members", WRITE, create).operation(
            Operation::new(
                "members.create",
                "Add a client as a member; the platform can also add an account",
            )
            .takes::<NewBody>()
            .creates::<MemberBody>()
            .refuses(REFUSALS),
        ),
        Route::get("/v1/organizations/{organization}/members/{member}", READ, show)
            .operation(Operation::new("members.get", "Get a member").gives::<MemberBody>().versioned()),
        Route::patch("/v1/organizations/{organization}/members/{member}", WRITE, update).operation(
            Operation::new("members.update", "Update the name or roles of a member")
                .query(&dry_run)
                .patches::<ChangeBody>()
                .gives::<MemberBody>()
                .versioned()
                .refuses(REFUSALS),
        ),
        Route::delete("/v1/organizations/{organization}/members/{member}", WRITE, remove).operation(
            Operation::new("members.delete", "Delete a member and end all its grants in the organization")
                .versioned()
                .refuses(REFUSALS),
        ),
        Route::post("/v1/organizations/{organization}/members/{member}/disable", WRITE, disable).operation(
            Operation::new("members.disable", "Disable a member and end all its grants in the organization")
                .takes::<DisableBody>()
                .gives::<MemberBody>()
                .refuses(REFUSALS),
        ),
        Route::post("/v1/organizations/{organization}/members/{member}/enable", WRITE, reenable).operation(
            Operation::new("members.enable", "Enable a member; ended grants stay ended")
                .gives::<MemberBody>()
                .refuses(REFUSALS),
        ),
    ]
}

/// A member, without the account: two organizations must not find out that they have the same person as a member.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Member")]
struct MemberBody {
    id: MembershipId,
    /// Visible to the platform only.
    #[serde(skip_serializing_if = "Option::is_none")]
    account_id: Option<AccountId>,
    /// The client, where the member is a client.
    client_id: Option<String>,
    state: State,
    source: Source,
    display_name: String,
    /// The name in the organization's directory, where it provisioned the member.
    user_name: Option<String>,
    /// The directory's own key of the member.
    external_id: Option<String>,
    /// The id of a deleted member that this one followed: the same name in the directory, or the same person.
    previous_subject: Option<MembershipId>,
    roles: Vec<String>,
    /// The role that tokens contain.
    primary_role: String,
    /// When, by whom and why the member was disabled or removed.
    ended: Option<EndedBody>,
    created_at: Time,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemberEnded")]
struct EndedBody {
    at: Time,
    by: String,
    reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NewMember")]
#[serde(deny_unknown_fields)]
struct NewBody {
    /// For the platform only: organizations invite people.
    account_id: Option<AccountId>,
    client_id: Option<String>,
    role: String,
    display_name: Option<String>,
}

/// What of a member may change.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemberChange")]
#[serde(deny_unknown_fields)]
struct ChangeBody {
    display_name: String,
    roles: Vec<String>,
    /// One of the roles. It stays while it is one of them; else it is the first.
    primary_role: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DisableMember")]
#[serde(deny_unknown_fields)]
struct DisableBody {
    /// Visible in the organization's audit trail.
    reason: Option<String>,
}

/// Whether the platform acts here, with a reason.
const fn is_platform(caller: &Caller) -> bool {
    match caller.by {
        By::Operator(_) => true,
        By::Key { .. } => caller.reason.is_some(),
        By::Member { .. } => false,
    }
}

fn body(member: Member, caller: &Caller) -> MemberBody {
    MemberBody {
        id: member.id,
        account_id: member.account.filter(|_| is_platform(caller)),
        client_id: member.client_id,
        state: member.state,
        source: member.source,
        display_name: member.display_name,
        user_name: member.user_name,
        external_id: member.external_id,
        previous_subject: member.previous,
        roles: member.roles,
        primary_role: member.primary_role,
        ended: member.ended.map(|it| EndedBody { at: it.at.into(), by: it.by, reason: it.reason }),
        created_at: member.created_at.into(),
    }
}

fn shown(member: Member, caller: &Caller) -> Response {
    one(member.version, &body(member, caller))
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
            Refused::Above => Self::new(
                ProblemCode::AuthorityExceeded,
                "this member holds permissions that you do not hold",
            ),
            Refused::Exceeds(missing) => exceeds(&missing),
            Refused::UnknownRole(role) => invalid(&format!("unknown role '{}'", role.escape_debug())),
            Refused::Roles => invalid("roles must be 1 to 20 different roles"),
            Refused::PrimaryRole => invalid("primary_role must be one of the roles"),
            Refused::DisplayName => invalid("display_name must have 1 to 100 printable characters"),
            Refused::Reason => invalid("reason must have at most 500 printable characters"),
            Refused::LastOwner => ProblemCode::LastOwner.into(),
            Refused::AlreadyMember => Self::new(ProblemCode::Conflict, "already a member"),
            Refused::Whom(why) => invalid(why),
            Refused::Disabled => Self::new(
                ProblemCode::Conflict,
                "the organization has disabled this membership; ask its administrators to remove it",
            ),
            Refused::Removed => {
                Self::new(ProblemCode::Conflict, "the member was removed; invite or add them again")
            }
        }
    }
}

pub(super) fn id(text: &str) -> Result<MembershipId, Problem> {
    text.parse().map_err(|_| ProblemCode::NotFound.into())
}

async fn index(
    Shared(app): Shared<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    let filter = Filter {
        state: listing.query.parsed("state")?,
        role: listing.query.get("role").map(str::to_owned),
        created_after: listing.query.time("created_after"),
    };
    let after = listing.after_id::<MembershipId>()?.zip(listing.after_time());
    let after = after.map(|(id, created_at)| Position { created_at, id });
    let limit = u32::try_from(listing.rows()).unwrap_or(u32::MAX);
    let members = list(&app.store, caller.organization()?.id, &filter, after, limit).await?;
    let key = |member: &Member| (member.created_at, member.id.to_string());
    Ok(listing.page(members, key, |member| body(member, &caller)))
}

async fn create(
    Shared(app): Shared<Arc<App>>,
    Extension(caller): Extension<Caller>,
    context: RequestContext,
    Json(new): Json<NewBody>,
) -> Result<Response, Problem> {
    let who = match (new.account_id, new.client_id) {
        (Some(account), None) if is_platform(&caller) => Who::Account(account),
        (Some(_), None) => {
            return Err(Problem::new(
                ProblemCode::Forbidden,
                "only the platform adds people; invite them instead",
            ));
        }
        (None, Some(client_id)) => Who::Client(client_id),
        (None, None) | (Some(_), Some(_)) => {
            return Err(Problem::new(ProblemCode::FieldInvalid, "send either account_id or client_id"));
        }
    };
    let name = new.display_name.as_deref();
    let member = Box::pin(add(&app, &context, &caller, &who, &new.role, name)).await?;
    let location = format!("/v1/organizations/{}/members/{}", member.organization.id, member.id);
    Ok(created(&location, Some(member.version), &body(member, &caller)))
}

pub(super) async fn member_of(app: &App, caller: &Caller, text: &str) -> Result<Member, Problem> {
    let found = find(&app.store, caller.organization()?.id, Whom::Id(id(text)?)).await?;
    found.ok_or_else(|| ProblemCode::NotFound.into())
}

async fn show(
    Shared(app): Shared<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, member)): Path<(String, String)>,
) -> Result<Response, Problem> {
    Ok(shown(member_of(&app, &caller, &member).await?, &caller))
}

async fn update(
    Shared(app): Shared<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, member)): Path<(String, String)>,
    context: RequestContext,
    Seen(seen): Seen,
    query: Query,
    patch: Patch<ChangeBody>,
) -> Result<Response, Problem> {
    let now = member_of(&app, &caller, &member).await?;
    let current = ChangeBody {
        display_name: now.display_name,
        roles: now.roles,
        primary_role: Some(now.primary_role.clone()),
    };
    let asked = patch.apply(&current)?;
    let gone =
        asked.primary_role.as_deref() == Some(&now.primary_role) && !asked.roles.contains(&now.primary_role);
    let wanted = Wanted {
        display_name: Some(asked.display_name),
        roles: Some(asked.roles),
        primary_role: asked.primary_role.filter(|_| !gone),
    };
    if query.flag("dry_run") {
        let impact = Box::pin(dry_run(&app, &context, &caller, now.id, seen, &wanted)).await?;
        return Ok(impact_answer(&impact, true));
    }
    Ok(shown(Box::pin(change(&app, &context, &caller, now.id, seen, &wanted)).await?, &caller))
}

async fn remove(
    Shared(app): Shared<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, member)): Path<(String, String)>,
    context: RequestContext,
    Seen(seen): Seen,
) -> Result<Response, Problem> {
    let ended = end(&app, &context, &caller, id(&member)?, Some(seen), End::Removed, None);
    Box::pin(ended).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn disable(
    Shared(app): Shared<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, member)): Path<(String, String)>,
    context: RequestContext,
    Json(asked): Json<DisableBody>,
) -> Result<Response, Problem> {
    let reason = asked.reason.as_deref();
    let ended = end(&app, &context, &caller, id(&member)?, None, End::Disabled, reason);
    Ok(shown(Box::pin(ended).await?, &caller))
}

async fn reenable(
    Shared(app): Shared<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, member)): Path<(String, String)>,
    context: RequestContext,
) -> Result<Response, Problem> {
    Ok(shown(Box::pin(enable(&app, &context, &caller, id(&member)?)).await?, &caller))
}
