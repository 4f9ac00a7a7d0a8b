//! Users: memberships that the organization's directory provisions.

use porteiro_protocol::{
    id::{Id, MembershipId},
    scim::{
        ErrorKind,
        patch::operations,
        resource::normal,
        schema::{MOST_GROUPS_SHOWN, USERS},
    },
};
use serde_json::{Value, json};

use super::{
    Call, PERMISSION, Seen, body_object,
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
        members::{Enabled, End, Undo, cut, lock, may_end},
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
/// A directory does not undo what an administrator decided.
const DISABLED_BY_OTHERS: &str = "an administrator disabled this member, and only an administrator can enable it again; \
     until then, send active: false";
/// How many users a directory may create in an organization, deleted ones included: their ids are kept.
const MOST_USERS: i64 = 1_000_000;

type Outcome<T> = Result<T, TxError<ScimError>>;

pub(super) async fn create(call: &Call, body: &Value) -> Result<User, ScimError> {
    let form = UserForm::read(normal(&USERS, body_object(body)?)?)?;
    let id: MembershipId = Id::random(&*call.app.entropy);
    let form = &form;
    let made = call.app.store.try_tx_in_turn(call.caller.turn(), "scim.create_user", |tx| async move {
        standing::enter(&tx, &call.caller, PERMISSION).await?;
        unique(call, &tx, None, form).await?;
        let actor = &call.caller.actor;
        let by = format!("{}:{}", actor.kind.as_str(), actor.id);
        let made = store::insert(&tx, call.organization, id, form, (ROLE, &by), MOST_USERS).await?;
        let target = Target::new("member", id);
        let event = audit_trail::Event::done(TrailKind::MemberProvisioned, actor.clone(), target)
            .changing(json!(null), json!({"role": ROLE, "active": form.active}));
        let made = made.ok_or_else(too_many)?;
        audit_trail::record(&call.app, &tx, &call.context, call.organization, &event).await?;
        Ok(made)
    });
    Ok(made.await?)
}

fn too_many() -> ScimError {
    let text = format!("a directory creates at most {MOST_USERS} users in an organization");
    ScimError::new(http::StatusCode::FORBIDDEN, text)
}

async fn found(call: &Call, tx: &Tx, id: MembershipId) -> Outcome<User> {
    Ok(store::find(tx, call.organization, id).await?.ok_or_else(not_found)?)
}

/// No two living users have the same name or the same key of the directory. The answer names the other one.
async fn unique(call: &Call, tx: &Tx, own: Option<MembershipId>, form: &UserForm) -> Outcome<()> {
    let Some((other, has_name)) = store::taken(tx, call.organization, own, form).await? else {
        return Ok(());
    };
    let attribute = if has_name { "userName" } else { "externalId" };
    let text = format!("another user of the organization has this {attribute}: {other}");
    Err(ScimError::of(http::StatusCode::CONFLICT, ErrorKind::Uniqueness, text).into())
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
    let whole = normal(&USERS, body_object(body)?)?;
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
    let form = wanted.user(&now.form)?;
    if form == now.form && !deactivates_too(&wanted, &now)? {
        return Ok(now);
    }
    let (before, form, wanted) = (now.version, &form, &wanted);
    let changed = call.app.store.try_tx_in_turn(call.caller.turn(), "scim.change_user", |tx| async move {
        standing::enter(&tx, &call.caller, PERMISSION).await?;
        let member = lock(&tx, call.organization, id).await?.ok_or_else(not_found)?;
        let now = found(call, &tx, id).await?;
        seen.admits(now.version)?;
        // What was worked out before the lock holds, unless somebody was faster.
        if now.version == before {
            apply(call, &tx, &member, &now, form).await?;
        } else {
            apply(call, &tx, &member, &now, &wanted.user(&now.form)?).await?;
        }
        if deactivates_too(wanted, &now)? {
            store::deactivate_too(&tx, call.organization, id).await?;
        }
        found(call, &tx, id).await
    });
    Ok(changed.await?)
}

/// Whether the directory deactivates a member whom somebody else disabled before.
fn deactivates_too(wanted: &Wanted<'_>, now: &User) -> Result<bool, ScimError> {
    Ok(!now.form.active && !now.deactivated && wanted.deactivates(&now.form)?)
}

async fn apply(call: &Call, tx: &Tx, member: &Member, now: &User, form: &UserForm) -> Outcome<()> {
    let (app, context, actor) = (&call.app, &call.context, &call.caller.actor);
    let attributes = now.form.changes(form);
    if !attributes.is_empty() {
        unique(call, tx, Some(member.id), form).await?;
        store::update(tx, call.organization, member.id, form).await?;
        let target = Target::new("member", member.id);
        let event = audit_trail::Event::done(TrailKind::MemberChanged, actor.clone(), target)
            .changing(json!(null), json!({"attributes": attributes}));
        audit_trail::record(app, tx, context, call.organization, &event).await?;
    }
    match (now.form.active, form.active) {
        (true, false) => {
            may_end(tx, member).await?;
            cut::cut(app, tx, context, member, actor, End::Deactivated, Some(DEACTIVATED)).await?;
        }
        (false, true) => {
            let undo = Undo::OnlyTheDirectorys;
            if cut::restore(app, tx, context, member, actor, None, undo).await? == Enabled::No {
                return Err(ScimError::new(http::StatusCode::CONFLICT, DISABLED_BY_OTHERS).into());
            }
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
        let actor = &call.caller.actor;
        cut::cut(&call.app, &tx, &call.context, &member, actor, End::Removed, Some(DELETED)).await?;
        store::bury(&tx, call.organization, id).await?;
        Ok(())
    });
    deleted.await.map_err(|error: TxError<ScimError>| error.into())
}

/// A user who was just created, and so is in no group yet.
pub(super) fn shown_new(call: &Call, user: &User, projection: &Projection) -> Value {
    Value::Object(projection.apply(represent::user(&call.base(), user, &[])))
}

/// Users as the directory sees them; their groups are read only if they are shown.
pub(super) async fn shown(
    call: &Call,
    users: &[User],
    projection: &Projection,
) -> Result<Vec<Value>, ScimError> {
    let ids: Vec<MembershipId> = users.iter().map(|user| user.id).collect();
    let belongings = if projection.shows("groups") && !ids.is_empty() {
        groups::of_members(&call.app.store, call.organization, &ids, MOST_GROUPS_SHOWN).await?
    } else {
        Vec::new()
    };
    let (base, groups) = (call.base(), represent::by(&belongings, |one| one.member));
    let of = |user: &User| groups.get(&user.id).map_or(&[][..], Vec::as_slice);
    let show = |user| Value::Object(projection.apply(represent::user(&base, user, of(user))));
    Ok(users.iter().map(show).collect())
}
