use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use porteiro_protocol::id::{AccountId, CredentialId, MembershipId, OrganizationId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Filter, by_address, count_sessions, end_sessions, list, recovery, set_enabled};
use crate::{
    App,
    accounts::{self, Account, AccountState},
    api::{Listing, Operation, Parameter, Time},
    credentials::{self, CredentialKind, CredentialState},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
    members, platform,
};

const READ: Access = Access::Platform("platform.accounts:read");
const WRITE: Access = Access::Platform(super::WRITE);

pub fn routes() -> Vec<Route> {
    let list = Operation::new("accounts.list", "List accounts, oldest first")
        .query(&[
            Parameter::choice("state", &["active", "disabled", "deleted"], "Only accounts in this state."),
            Parameter::time("created_after", "Only accounts created after this time."),
            Parameter::text("email", "Only the account with exactly this mail address."),
        ])
        .lists::<Shown>();
    let show = Operation::new("accounts.get", "Get an account").gives::<Whole>();
    let disable =
        Operation::new("accounts.disable", "Disable an account and end all its sessions and grants")
            .takes::<Reason>()
            .refuses(&[ProblemCode::FieldInvalid, ProblemCode::Conflict]);
    let enable = Operation::new("accounts.enable", "Enable an account; ended sessions and grants stay ended")
        .refuses(&[ProblemCode::Conflict]);
    let end = Operation::new("accounts.end_sessions", "End all sessions of an account")
        .gives::<EndedSessions>()
        .refuses(&[ProblemCode::Conflict]);
    let recover = Operation::new(
        "accounts.start_recovery",
        "Start the recovery of an account: its owner is told by mail, and can complete it after 72 hours",
    )
    .takes::<RecoveryReason>()
    .gives::<StartedRecovery>()
    .refuses(&[ProblemCode::FieldInvalid, ProblemCode::Conflict, ProblemCode::SlowDown]);
    vec![
        Route::post("/v1/platform/accounts/{account}/start-recovery", WRITE, recovery_started)
            .operation(recover),
        Route::get("/v1/platform/accounts", READ, all).operation(list),
        Route::get("/v1/platform/accounts/{account}", READ, one).operation(show),
        Route::post("/v1/platform/accounts/{account}/disable", WRITE, disabled).operation(disable),
        Route::post("/v1/platform/accounts/{account}/enable", WRITE, enabled).operation(enable),
        Route::post("/v1/platform/accounts/{account}/end-sessions", WRITE, sessions_ended).operation(end),
    ]
}

/// An account.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Account")]
struct Shown {
    id: AccountId,
    state: AccountState,
    display_name: String,
    locale: String,
    created_at: Time,
    platform_administrator: bool,
    recovery_hold_until: Option<Time>,
    /// When the account is deleted, if its owner asked for it and has not kept it since.
    deletion_at: Option<Time>,
}

impl From<Account> for Shown {
    fn from(account: Account) -> Self {
        Self {
            id: account.id,
            state: account.state,
            display_name: account.display_name,
            locale: account.locale,
            created_at: account.created_at.into(),
            platform_administrator: account.platform_administrator,
            recovery_hold_until: account.recovery_hold_until.map(Into::into),
            deletion_at: account.deletion_at.map(Into::into),
        }
    }
}

/// An account with its credentials and permissions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountDetails")]
struct Whole {
    #[serde(flatten)]
    account: Shown,
    /// The platform permissions of the account.
    permissions: Vec<String>,
    credentials: Vec<OneCredential>,
    organizations: Vec<Belongs>,
    sessions: i64,
}

/// A credential, without its contents and its label.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountCredential")]
struct OneCredential {
    id: CredentialId,
    kind: CredentialKind,
    state: CredentialState,
    created_at: Time,
    last_used_at: Option<Time>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountMembership")]
struct Belongs {
    organization: OrganizationId,
    member: MembershipId,
    state: members::State,
    role: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DisableAccount")]
struct Reason {
    reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "StartRecovery")]
struct RecoveryReason {
    /// For the security log.
    reason: String,
}

/// A recovery that the platform started.
#[derive(Debug, Serialize, JsonSchema)]
struct StartedRecovery {
    /// When the owner can complete it.
    recovery_hold_until: Time,
}

#[derive(Debug, Serialize, JsonSchema)]
struct EndedSessions {
    ended: usize,
}

async fn all(State(app): State<Arc<App>>, listing: Listing) -> Result<Response, Problem> {
    let mut filter = Filter {
        state: listing.query.parsed("state")?,
        created_after: listing.query.time("created_after"),
        only: None,
    };
    if let Some(address) = listing.query.get("email") {
        filter.only = by_address(&app, address).await?;
        if filter.only.is_none() {
            return Ok(listing.page(Vec::<Account>::new(), key, Shown::from));
        }
    }
    let after = listing.after_time().zip(listing.after_id()?);
    let rows = list(&app, &filter, after, listing.rows()).await?;
    Ok(listing.page(rows, key, Shown::from))
}

fn key(account: &Account) -> (porteiro_protocol::time::OffsetDateTime, String) {
    (account.created_at, account.id.to_string())
}

async fn one(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<axum::Json<Whole>, Problem> {
    let id = named(&id)?;
    let account = accounts::find(&app.store, id).await?.ok_or(ProblemCode::NotFound)?;
    let held = platform::held(&app.store, id).await?;
    let credentials = credentials::find_all(&app.store, id).await?;
    let memberships = members::of_account(&app.store, id).await?;
    Ok(axum::Json(Whole {
        account: account.into(),
        permissions: held.named().map(ToString::to_string).collect(),
        credentials: credentials
            .into_iter()
            .map(|credential| OneCredential {
                id: credential.id,
                kind: credential.kind,
                state: credential.state,
                created_at: credential.created_at.into(),
                last_used_at: credential.last_used_at.map(Into::into),
            })
            .collect(),
        organizations: memberships
            .into_iter()
            .map(|member| Belongs {
                organization: member.organization.id,
                member: member.id,
                state: member.state,
                role: member.primary_role,
            })
            .collect(),
        sessions: count_sessions(&app, id).await?,
    }))
}

fn named(id: &str) -> Result<AccountId, Problem> {
    id.parse().map_err(|_| ProblemCode::NotFound.into())
}

async fn disabled(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    context: RequestContext,
    Json(body): Json<Reason>,
) -> Result<Response, Problem> {
    let reason = stated(&body.reason)?;
    set_enabled(&app, &context, &caller, named(&id)?, Some(reason)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn stated(reason: &str) -> Result<&str, Problem> {
    let reason = reason.trim();
    if !(1..=500).contains(&reason.chars().count()) {
        return Err(Problem::new(ProblemCode::FieldInvalid, "reason must have 1 to 500 characters"));
    }
    Ok(reason)
}

async fn recovery_started(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    context: RequestContext,
    Json(body): Json<RecoveryReason>,
) -> Result<axum::Json<StartedRecovery>, Problem> {
    let reason = stated(&body.reason)?;
    let until = Box::pin(recovery::start(&app, &context, &caller, named(&id)?, reason)).await?;
    Ok(axum::Json(StartedRecovery { recovery_hold_until: until.into() }))
}

async fn enabled(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    context: RequestContext,
) -> Result<Response, Problem> {
    set_enabled(&app, &context, &caller, named(&id)?, None).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn sessions_ended(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    context: RequestContext,
) -> Result<axum::Json<EndedSessions>, Problem> {
    let ended = end_sessions(&app, &context, &caller, named(&id)?).await?;
    Ok(axum::Json(EndedSessions { ended }))
}
