//! Users: memberships that the organization's directory provisions.

use porteiro_protocol::{
    id::{Id, MembershipId},
    scim::{
        ErrorKind,
        patch::operations,
        resource::{Resource, normal},
        schema::USERS,
    },
};
use serde_json::{Value, json};

use super::{
    Call, PERMISSION, Seen,
    decide::{UserForm, Wanted},
    not_found,
    represent::{self, Projection},
    store::{self, User},
};
use crate::{
    audit_trail::{self, Target, TrailKind},
    groups,
    http::ScimError,
    management::{
        members::{End, cut, lock, may_end},
        standing,
    },
    members::Member,
    store::{Tx, TxError},
};

/// The role of a member whom a directory provisions. Groups give others.
const ROLE: &str = "member";
/// Why a membership ended, as the audit trail says.
const DEACTIVATED: &str = "deactivated by the directory";
const DELETED: &str = "deleted by the directory";

type Outcome<T> = Result<T, TxError<ScimError>>;

fn object(body: &Value) -> Result<&Resource, ScimError> {
    let wrong = || {
        let text = "the body must be a JSON object";
        ScimError::of(http::StatusCode::BAD_REQUEST, ErrorKind::InvalidSyntax, text)
    };
    body.as_object().ok_or_else(wrong)
}

pub(super) async fn create(call: &Call, body: &Value) -> Result<User, ScimError> {
    let form = UserForm::read(normal(&USERS, object(body)?)?)?;
    let id: MembershipId = Id::random(&*call.app.entropy);
    let form = &form;
    let made = call.app.store.try_tx_in_turn(call.caller.turn(), "scim.create_user", |tx| async move {
        standing::enter(&tx, &call.caller, PERMISSION).await?;
        unique(call, &tx, None, form).await?;
        let actor = &call.caller.actor;
        let by = format!("{}:{}", actor.kind.as_str(), actor.id);
        store::insert(&tx, call.organization, id, form, ROLE, &by).await?;
        let target = Target::new("member", id);
        let event = audit_trail::Event::done(TrailKind::MemberProvisioned, actor.clone(), target)
            .changing(json!(null), json!({"role": ROLE, "active": form.active}));
        audit_trail::record(&call.app, &tx, &call.context, call.organization, &event).await?;
        found(call, &tx, id).await
    });
    Ok(made.await?)
}

async fn found(call: &Call, tx: &Tx, id: MembershipId) -> Outcome<User> {
    Ok(store::find(tx, call.organization, id).await?.ok_or_else(not_found)?)
}

/// No two living users have the same name or the same key of the directory. The answer names the other one.
async fn unique(call: &Call, tx: &Tx, own: Option<MembershipId>, form: &UserForm) -> Outcome<()> {
    let taken = |attribute: &str, other: MembershipId| {
        let text = format!("another user of the organization has this {attribute}: {other}");
        ScimError::of(http::StatusCode::CONFLICT, ErrorKind::Uniqueness, text)
    };
    let other = |user: Option<User>| user.map(|user| user.id).filter(|id| Some(*id) != own);
    if let Some(id) = other(store::by_user_name(tx, call.organization, &form.key()).await?) {
        return Err(taken("userName", id).into());
    }
    if let Some(external_id) = &form.external_id
        && let Some(id) = other(store::by_external_id(tx, call.organization, external_id).await?)
    {
        return Err(taken("externalId", id).into());
    }
    Ok(())
}

pub(super) async fn find(call: &Call, id: MembershipId) -> Result<User, ScimError> {
    store::find(&call.app.store, call.organization, id).await?.ok_or_else(not_found)
}

pub(super) async fn replace(
    call: &Call,
    id: MembershipId,
    seen: &Seen,
    body: &Value,
) -> Result<User, ScimError> {
    let whole = normal(&USERS, object(body)?)?;
    Box::pin(change(call, id, seen, Wanted::Whole(&whole))).await
}

pub(super) async fn patch(
    call: &Call,
    id: MembershipId,
    seen: &Seen,
    body: &Value,
) -> Result<User, ScimError> {
    let operations = operations(&USERS, body)?;
    Box::pin(change(call, id, seen, Wanted::Patch(&operations))).await
}

/// What changes nothing is answered without a transaction.
async fn change(call: &Call, id: MembershipId, seen: &Seen, wanted: Wanted<'_>) -> Result<User, ScimError> {
    let now = find(call, id).await?;
    seen.admits(now.version)?;
    if wanted.user(&now.form)? == now.form {
        return Ok(now);
    }
    let changed = call.app.store.try_tx_in_turn(call.caller.turn(), "scim.change_user", |tx| async move {
        standing::enter(&tx, &call.caller, PERMISSION).await?;
        let member = lock(&tx, call.organization, id).await?.ok_or_else(not_found)?;
        let now = found(call, &tx, id).await?;
        seen.admits(now.version)?;
        let form = wanted.user(&now.form)?;
        apply(call, &tx, &member, &now.form, &form).await?;
        found(call, &tx, id).await
    });
    Ok(changed.await?)
}

async fn apply(call: &Call, tx: &Tx, member: &Member, now: &UserForm, form: &UserForm) -> Outcome<()> {
    let (app, context, actor) = (&call.app, &call.context, &call.caller.actor);
    let attributes = now.changes(form);
    if !attributes.is_empty() {
        unique(call, tx, Some(member.id), form).await?;
        store::update(tx, call.organization, member.id, form).await?;
        let target = Target::new("member", member.id);
        let event = audit_trail::Event::done(TrailKind::MemberChanged, actor.clone(), target)
            .changing(json!(null), json!({"attributes": attributes}));
        audit_trail::record(app, tx, context, call.organization, &event).await?;
    }
    match (now.active, form.active) {
        (true, false) => {
            may_end(tx, member).await?;
            cut::cut(app, tx, context, member, actor, End::Disabled, Some(DEACTIVATED)).await?;
        }
        (false, true) => {
            cut::restore(app, tx, context, member, actor, None).await?;
        }
        (true, true) | (false, false) => {}
    }
    Ok(())
}

/// The same cut; the id is never used again, and a user of the same name is another subject.
pub(super) async fn delete(call: &Call, id: MembershipId, seen: &Seen) -> Result<(), ScimError> {
    let deleted = call.app.store.try_tx_in_turn(call.caller.turn(), "scim.delete_user", |tx| async move {
        standing::enter(&tx, &call.caller, PERMISSION).await?;
        let member = lock(&tx, call.organization, id).await?.ok_or_else(not_found)?;
        let now = found(call, &tx, id).await?;
        seen.admits(now.version)?;
        may_end(&tx, &member).await?;
        store::mark_groups(&tx, call.organization, id).await?;
        let actor = &call.caller.actor;
        cut::cut(&call.app, &tx, &call.context, &member, actor, End::Removed, Some(DELETED)).await?;
        store::bury(&tx, call.organization, id).await?;
        Ok(())
    });
    deleted.await.map_err(|error: TxError<ScimError>| error.into())
}

/// Users as the directory sees them; their groups are read only if they are shown.
pub(super) async fn shown(
    call: &Call,
    users: &[User],
    projection: &Projection,
) -> Result<Vec<Value>, ScimError> {
    let ids: Vec<MembershipId> = users.iter().map(|user| user.id).collect();
    let belongings = if projection.shows("groups") && !ids.is_empty() {
        groups::of_members(&call.app.store, call.organization, &ids).await?
    } else {
        Vec::new()
    };
    let base = call.base();
    let show = |user| Value::Object(projection.apply(represent::user(&base, user, &belongings)));
    Ok(users.iter().map(show).collect())
}
