//! Changes of roles. Each is one transaction under the organization's lock: load, decide, apply, record.

use std::{collections::BTreeSet, sync::Arc};

use porteiro_protocol::{
    id::OrganizationId,
    permission::{Held, Permission},
};
use serde_json::json;

use super::{
    decide::{self, MOST_ROLES, Refused},
    impact::{self, Impact},
    store,
};
use crate::{
    App,
    audit_trail::{self, Target, TrailKind},
    http::{Problem, RequestContext, TxProblem},
    management::{
        self, Caller,
        standing::{self, Standing},
    },
    oauth::apis,
    organizations,
    permissions::built_in,
    roles::{self, Role, definitions, grantable},
    store::Tx,
};

const WRITE: &str = "roles:write";

type Outcome<T> = Result<T, TxProblem>;

/// The requested change of a role.
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
) -> Result<Role, Problem> {
    management::change(app, context, caller, "roles.create", |tx| async move {
        decide::key(key)?;
        let name = decide::name(name)?;
        let permissions = decide::permissions(permissions)?;
        let standing = standing::enter(&tx, caller, WRITE).await?;
        let known = grantable(&apis::list(&tx).await?);
        may_change(&standing, &BTreeSet::new(), &permissions, &known)?;
        let organization = standing.organization;
        if store::count(&tx, organization.id).await? >= MOST_ROLES {
            return Err(Refused::TooMany.into());
        }
        if !store::insert(&tx, organization.id, key, &name, &permissions).await? {
            return Err(Refused::Taken.into());
        }
        let after = json!({"name": name, "permissions": permissions});
        let event =
            audit_trail::Event::done(TrailKind::RoleCreated, caller.actor.clone(), Target::new("role", key))
                .because(caller.reason.clone())
                .changing(json!(null), after);
        audit_trail::record(app, &tx, context, organization.id, &event).await?;
        Ok(roles::find(&tx, organization.id, key).await?.ok_or(Refused::NotFound)?)
    })
    .await
}

/// The caller holds all permissions of the role, before and after, and may raise those who have it.
fn may_change(
    standing: &Standing,
    before: &BTreeSet<Permission>,
    after: &BTreeSet<Permission>,
    known: &[Permission],
) -> Outcome<()> {
    decide::may_change(&standing.held, before, after, known)?;
    Ok(standing.may_raise(&[before, after].map(|role| Held::of(role.iter().cloned())))?)
}

/// The custom role to change, in the version that the caller has seen.
async fn seen_role(tx: &Tx, organization: OrganizationId, key: &str, seen: i64) -> Outcome<Role> {
    if built_in(key).is_some() {
        return Err(Refused::BuiltIn.into());
    }
    let role = roles::find(tx, organization, key).await?.ok_or(Refused::NotFound)?;
    if role.version == seen { Ok(role) } else { Err(Refused::Stale.into()) }
}

pub async fn change(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    key: &str,
    seen: i64,
    wanted: &Wanted,
) -> Result<Role, Problem> {
    management::change(app, context, caller, "roles.change", |tx| async move {
        let standing = standing::enter(&tx, caller, WRITE).await?;
        let role = seen_role(&tx, standing.organization.id, key, seen).await?;
        apply(app, &tx, context, caller, &standing, &role, wanted).await
    })
    .await
}

/// A dry run: makes the change, reads its effect and rolls it back.
pub async fn dry_run_change(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    key: &str,
    seen: i64,
    wanted: &Wanted,
) -> Result<Impact, Problem> {
    management::change(app, context, caller, "roles.dry_run_change", |tx| async move {
        let standing = standing::enter(&tx, caller, WRITE).await?;
        let organization = standing.organization.id;
        let role = seen_role(&tx, organization, key, seen).await?;
        let before = definitions(&tx, organization).await?;
        let made = async {
            apply(app, &tx, context, caller, &standing, &role, wanted).await?;
            Ok::<_, TxProblem>(definitions(&tx, organization).await?)
        };
        let after = tx.tentatively(Box::pin(made)).await?;
        Ok(impact::of_role(&tx, organization, key, &before, &after).await?)
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
    let name = decide::name(wanted.name.as_deref().unwrap_or(&role.name))?;
    let before: BTreeSet<Permission> = role.permissions.iter().cloned().collect();
    let after = match &wanted.permissions {
        Some(texts) => decide::permissions(texts)?,
        None => before.clone(),
    };
    let known = grantable(&apis::list(tx).await?);
    may_change(standing, &before, &after, &known)?;
    if name == role.name && after == before {
        return Ok(role.clone());
    }
    store::replace(tx, organization, &role.key, &name, &after).await?;
    if after != before {
        organizations::check_again(tx, organization).await?;
    }
    let event = audit_trail::Event::done(
        TrailKind::RoleChanged,
        caller.actor.clone(),
        Target::new("role", &role.key),
    )
    .because(caller.reason.clone())
    .changing(json!({"name": role.name, "permissions": before}), json!({"name": name, "permissions": after}));
    audit_trail::record(app, tx, context, organization, &event).await?;
    Ok(roles::find(tx, organization, &role.key).await?.ok_or(Refused::NotFound)?)
}

pub async fn remove(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    key: &str,
    seen: i64,
) -> Result<(), Problem> {
    management::change(app, context, caller, "roles.remove", |tx| async move {
        let standing = standing::enter(&tx, caller, WRITE).await?;
        let role = seen_role(&tx, standing.organization.id, key, seen).await?;
        if store::is_in_use(&tx, standing.organization.id, key).await? {
            return Err(Refused::InUse.into());
        }
        take_out(app, &tx, context, caller, &standing, &role).await
    })
    .await
}

/// A dry run of a removal, and whether it is allowed: it is not while a member has the role.
pub async fn dry_run_removal(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    key: &str,
    seen: i64,
) -> Result<(bool, Impact), Problem> {
    management::change(app, context, caller, "roles.dry_run_removal", |tx| async move {
        let standing = standing::enter(&tx, caller, WRITE).await?;
        let organization = standing.organization.id;
        let role = seen_role(&tx, organization, key, seen).await?;
        let worn = store::is_in_use(&tx, organization, key).await?;
        let before = definitions(&tx, organization).await?;
        let made = async {
            take_out(app, &tx, context, caller, &standing, &role).await?;
            Ok::<_, TxProblem>(definitions(&tx, organization).await?)
        };
        let after = tx.tentatively(Box::pin(made)).await?;
        let impact = impact::of_role(&tx, organization, key, &before, &after).await?;
        Ok((!worn, impact))
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
    may_change(standing, &before, &BTreeSet::new(), &[])?;
    store::remove(tx, organization, &role.key).await?;
    let event = audit_trail::Event::done(
        TrailKind::RoleRemoved,
        caller.actor.clone(),
        Target::new("role", &role.key),
    )
    .because(caller.reason.clone())
    .changing(json!({"name": role.name, "permissions": before}), json!(null));
    audit_trail::record(app, tx, context, organization, &event).await?;
    Ok(())
}
