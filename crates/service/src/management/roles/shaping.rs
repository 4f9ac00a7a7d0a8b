//! What is done to roles. Each is one transaction under the organization's lock: load, decide, apply, write it down.

use std::{collections::BTreeSet, sync::Arc};

use porteiro_protocol::{id::OrganizationId, permission::Permission};
use serde_json::json;

use super::{
    decide::{self, MOST_ROLES, Refused},
    impact::{self, Impact},
    store,
};
use crate::{
    App,
    http::RequestContext,
    management::{
        Caller,
        standing::{self, Lost, Standing},
    },
    oauth::apis,
    organizations,
    permissions::built_in,
    roles::{self, Role, definitions, grantable},
    store::{StoreError, Tx},
    trail::{self, Target, TrailKind},
};

const WRITE: &str = "roles:write";

type Outcome<T> = Result<Result<T, Refused>, StoreError>;

/// Unwraps what was decided, or ends the work with why not; nothing was changed.
macro_rules! or_refused {
    ($decided:expr) => {
        match $decided {
            Ok(value) => value,
            Err(refused) => return Ok(Err(refused.into())),
        }
    };
}

impl From<Lost> for Refused {
    fn from(lost: Lost) -> Self {
        Self::Standing(lost)
    }
}

/// What of a role is to be different.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub name: Option<String>,
    pub permissions: Option<Vec<String>>,
}

pub async fn create(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    key: &str,
    name: &str,
    permissions: &[String],
) -> Outcome<Role> {
    app.store
        .run_tx_in_turn(caller.turn(), "roles.create", |tx| async move {
            or_refused!(decide::key(key));
            let name = or_refused!(decide::name(name));
            let permissions = or_refused!(decide::permissions(permissions));
            let Standing { organization, held } = or_refused!(standing::enter(&tx, caller, WRITE).await?);
            let known = grantable(&apis::list(&tx).await?);
            or_refused!(decide::may_shape(&held, &BTreeSet::new(), &permissions, &known));
            if store::count(&tx, organization.id).await? >= MOST_ROLES {
                return Ok(Err(Refused::TooMany));
            }
            if !store::insert(&tx, organization.id, key, &name, &permissions).await? {
                return Ok(Err(Refused::Taken));
            }
            let after = json!({"name": name, "permissions": permissions});
            let event =
                trail::Event::done(TrailKind::RoleCreated, caller.actor.clone(), Target::new("role", key))
                    .because(caller.reason.clone())
                    .changing(json!(null), after);
            trail::record(app, &tx, context, organization.id, &event).await?;
            Ok(roles::find(&tx, organization.id, key).await?.ok_or(Refused::NotFound))
        })
        .await
}

/// A role to be changed: one of the organization's own, as the caller has seen it.
async fn seen_role(tx: &Tx, organization: OrganizationId, key: &str, seen: i64) -> Outcome<Role> {
    if built_in(key).is_some() {
        return Ok(Err(Refused::BuiltIn));
    }
    let Some(role) = roles::find(tx, organization, key).await? else { return Ok(Err(Refused::NotFound)) };
    Ok(if role.version == seen { Ok(role) } else { Err(Refused::Stale) })
}

pub async fn change(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    key: &str,
    seen: i64,
    wanted: &Wanted,
) -> Outcome<Role> {
    app.store
        .run_tx_in_turn(caller.turn(), "roles.change", |tx| async move {
            let standing = or_refused!(standing::enter(&tx, caller, WRITE).await?);
            let role = or_refused!(seen_role(&tx, standing.organization.id, key, seen).await?);
            apply(app, &tx, context, caller, &standing, &role, wanted).await
        })
        .await
}

/// What a change would do: made, looked at, and taken back.
pub async fn rehearse_change(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    key: &str,
    seen: i64,
    wanted: &Wanted,
) -> Outcome<Impact> {
    app.store
        .run_tx_in_turn(caller.turn(), "roles.rehearse_change", |tx| async move {
            let standing = or_refused!(standing::enter(&tx, caller, WRITE).await?);
            let organization = standing.organization.id;
            let role = or_refused!(seen_role(&tx, organization, key, seen).await?);
            let before = definitions(&tx, organization).await?;
            let made = async {
                let changed = apply(app, &tx, context, caller, &standing, &role, wanted).await?;
                Ok(match changed {
                    Ok(_) => Ok(definitions(&tx, organization).await?),
                    Err(refused) => Err(refused),
                })
            };
            let after = or_refused!(tx.tentatively(Box::pin(made)).await?);
            impact::of_role(&tx, organization, key, &before, &after).await.map(Ok)
        })
        .await
}

async fn apply(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    standing: &Standing,
    role: &Role,
    wanted: &Wanted,
) -> Outcome<Role> {
    let organization = standing.organization.id;
    let name = or_refused!(decide::name(wanted.name.as_deref().unwrap_or(&role.name)));
    let before: BTreeSet<Permission> = role.permissions.iter().cloned().collect();
    let after = match &wanted.permissions {
        Some(texts) => or_refused!(decide::permissions(texts)),
        None => before.clone(),
    };
    let known = grantable(&apis::list(tx).await?);
    or_refused!(decide::may_shape(&standing.held, &before, &after, &known));
    if name == role.name && after == before {
        return Ok(Ok(role.clone()));
    }
    store::replace(tx, organization, &role.key, &name, &after).await?;
    if after != before {
        organizations::check_again(tx, organization).await?;
    }
    let event =
        trail::Event::done(TrailKind::RoleChanged, caller.actor.clone(), Target::new("role", &role.key))
            .because(caller.reason.clone())
            .changing(
                json!({"name": role.name, "permissions": before}),
                json!({"name": name, "permissions": after}),
            );
    trail::record(app, tx, context, organization, &event).await?;
    Ok(roles::find(tx, organization, &role.key).await?.ok_or(Refused::NotFound))
}

pub async fn remove(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    key: &str,
    seen: i64,
) -> Outcome<()> {
    app.store
        .run_tx_in_turn(caller.turn(), "roles.remove", |tx| async move {
            let standing = or_refused!(standing::enter(&tx, caller, WRITE).await?);
            let role = or_refused!(seen_role(&tx, standing.organization.id, key, seen).await?);
            if store::is_worn(&tx, standing.organization.id, key).await? {
                return Ok(Err(Refused::Worn));
            }
            take_out(app, &tx, context, caller, &standing, &role).await
        })
        .await
}

/// What its removal would do to those who wear it, if it were allowed: it is not while anybody does. Whether it is.
pub async fn rehearse_removal(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    key: &str,
    seen: i64,
) -> Outcome<(bool, Impact)> {
    app.store
        .run_tx_in_turn(caller.turn(), "roles.rehearse_removal", |tx| async move {
            let standing = or_refused!(standing::enter(&tx, caller, WRITE).await?);
            let organization = standing.organization.id;
            let role = or_refused!(seen_role(&tx, organization, key, seen).await?);
            let worn = store::is_worn(&tx, organization, key).await?;
            let before = definitions(&tx, organization).await?;
            let made = async {
                let removed = take_out(app, &tx, context, caller, &standing, &role).await?;
                Ok(match removed {
                    Ok(()) => Ok(definitions(&tx, organization).await?),
                    Err(refused) => Err(refused),
                })
            };
            let after = or_refused!(tx.tentatively(Box::pin(made)).await?);
            let impact = impact::of_role(&tx, organization, key, &before, &after).await?;
            Ok(Ok((!worn, impact)))
        })
        .await
}

async fn take_out(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    standing: &Standing,
    role: &Role,
) -> Outcome<()> {
    let organization = standing.organization.id;
    let before: BTreeSet<Permission> = role.permissions.iter().cloned().collect();
    or_refused!(decide::may_shape(&standing.held, &before, &BTreeSet::new(), &[]));
    store::remove(tx, organization, &role.key).await?;
    let event =
        trail::Event::done(TrailKind::RoleRemoved, caller.actor.clone(), Target::new("role", &role.key))
            .because(caller.reason.clone())
            .changing(json!({"name": role.name, "permissions": before}), json!(null));
    trail::record(app, tx, context, organization, &event).await?;
    Ok(Ok(()))
}
