//! Groups of the organization's directory. Their members change by set operations: two requests at the same time lose
//! nothing of each other.

use std::collections::BTreeSet;

use porteiro_protocol::{
    id::{GroupId, Id, MembershipId},
    scim::{
        ErrorKind, Operation,
        patch::operations,
        resource::Resource,
        schema::{GROUPS, MOST_MEMBERS},
    },
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Call, PERMISSION, Seen, body_object,
    decide::{GroupForm, WholeGroup, member_ids, patch_group},
    not_found,
    represent::{self, Projection},
};
use crate::{
    audit_trail::{self, Target, TrailKind},
    groups::{self, Group, MemberChange, MembersChanged},
    http::ScimError,
    management::{groups::follow, standing},
    store::{Tx, TxError},
};

/// The largest number of groups of an organization.
const MOST_GROUPS: i64 = 20_000;
/// Up to so many members are named in the audit trail; of more, only the number.
const NAMED: usize = 20;

type Outcome<T> = Result<T, TxError<ScimError>>;

/// How a group is to change.
enum Wanted<'a> {
    /// PUT: the members only if it says anything about them.
    Whole {
        form: &'a GroupForm,
        sent: &'a Resource,
        members: Option<BTreeSet<Uuid>>,
    },
    Patch(&'a [Operation]),
}

impl Wanted<'_> {
    fn of(&self, now: &GroupForm) -> Result<(GroupForm, MemberChange), ScimError> {
        match self {
            Self::Patch(operations) => Ok(patch_group(now, operations)?),
            Self::Whole { form, sent, members } => {
                let mut form = (*form).clone();
                if !sent.contains_key("externalId") {
                    form.external_id.clone_from(&now.external_id);
                }
                let mut change = MemberChange::default();
                if let Some(members) = members {
                    change.replacing(members.clone());
                }
                Ok((form, change))
            }
        }
    }
}

fn form_of(group: &Group) -> GroupForm {
    GroupForm { display_name: group.display_name.clone(), external_id: group.external_id.clone() }
}

pub(super) async fn create(call: &Call, body: &Value) -> Result<Group, ScimError> {
    let whole = WholeGroup::read(body_object(body)?)?;
    let id: GroupId = Id::random(&*call.app.entropy);
    let (form, members) = (&whole.form, &whole.first_members()?);
    let made = call.app.store.try_tx_in_turn(call.caller.turn(), "scim.create_group", |tx| async move {
        standing::enter(&tx, &call.caller, PERMISSION).await?;
        unique(call, &tx, None, form).await?;
        if groups::count(&tx, call.organization).await? >= MOST_GROUPS {
            let text = format!("an organization has at most {MOST_GROUPS} groups");
            return Err(ScimError::new(http::StatusCode::FORBIDDEN, text).into());
        }
        let external_id = form.external_id.as_deref();
        groups::insert(&tx, call.organization, id, (&form.display_name, &form.key()), external_id).await?;
        let mut change = MemberChange::default();
        change.adding(members.clone());
        let changed = move_members(call, &tx, id, 0, &change).await?;
        let after = json!({"display_name": form.display_name, "members": changed.added.len()});
        record(call, &tx, TrailKind::GroupCreated, id, after).await?;
        found(call, &tx, id).await
    });
    Ok(made.await?)
}

async fn found(call: &Call, tx: &Tx, id: GroupId) -> Outcome<Group> {
    Ok(groups::find(tx, call.organization, id).await?.ok_or_else(not_found)?)
}

async fn record(call: &Call, tx: &Tx, kind: TrailKind, id: GroupId, after: Value) -> Outcome<()> {
    let event = audit_trail::Event::done(kind, call.caller.actor.clone(), Target::new("group", id))
        .changing(json!(null), after);
    Ok(audit_trail::record(&call.app, tx, &call.context, call.organization, &event).await?)
}

/// No two groups have the same name or the same key of the directory.
async fn unique(call: &Call, tx: &Tx, own: Option<GroupId>, form: &GroupForm) -> Outcome<()> {
    let taken = |attribute: &str, other: GroupId| {
        let text = format!("another group of the organization has this {attribute}: {other}");
        ScimError::of(http::StatusCode::CONFLICT, ErrorKind::Uniqueness, text)
    };
    let other = |group: Option<Group>| group.map(|group| group.id).filter(|id| Some(*id) != own);
    if let Some(id) = other(groups::find_named(tx, call.organization, &form.key()).await?) {
        return Err(taken("displayName", id).into());
    }
    if let Some(external_id) = &form.external_id
        && let Some(id) = other(groups::find_external(tx, call.organization, external_id).await?)
    {
        return Err(taken("externalId", id).into());
    }
    Ok(())
}

/// Changes who is in the group, and what roles that gives. `before`: how many were in it.
async fn move_members(
    call: &Call,
    tx: &Tx,
    id: GroupId,
    before: i64,
    change: &MemberChange,
) -> Outcome<MembersChanged> {
    if change.is_nothing() {
        return Ok(MembersChanged::default());
    }
    let added: Vec<Uuid> = change.add.iter().copied().collect();
    if let Some(unknown) = groups::unknown_member(tx, call.organization, &added).await? {
        let text = format!("members: the organization has no user {unknown}");
        return Err(ScimError::of(http::StatusCode::BAD_REQUEST, ErrorKind::InvalidValue, text).into());
    }
    let changed = groups::change_members(tx, call.organization, id, change).await?;
    let (added, removed) = (changed.added.len(), changed.removed.len());
    let now = i64::try_from(added).unwrap_or(i64::MAX).saturating_add(before);
    if now.saturating_sub(i64::try_from(removed).unwrap_or_default()) > MOST_MEMBERS && added > 0 {
        let text = format!("a group has at most {MOST_MEMBERS} members");
        return Err(ScimError::of(http::StatusCode::BAD_REQUEST, ErrorKind::InvalidValue, text).into());
    }
    follow(&call.app, tx, &call.context, call.organization, &changed.all()).await?;
    Ok(changed)
}

pub(super) async fn find(call: &Call, id: GroupId) -> Result<Group, ScimError> {
    groups::find(&call.app.store, call.organization, id).await?.ok_or_else(not_found)
}

pub(super) async fn replace(call: &Call, id: GroupId, seen: &Seen, body: &Value) -> Result<Group, ScimError> {
    let whole = WholeGroup::read(body_object(body)?)?;
    let members = whole.members.map(member_ids).transpose()?;
    let wanted = Wanted::Whole { form: &whole.form, sent: &whole.sent, members };
    Box::pin(change(call, id, seen, &wanted)).await
}

pub(super) async fn patch(call: &Call, id: GroupId, seen: &Seen, body: &Value) -> Result<Group, ScimError> {
    let operations = operations(&GROUPS, body)?;
    Box::pin(change(call, id, seen, &Wanted::Patch(&operations))).await
}

/// What changes nothing writes nothing: an unchanged name is seen at once, unchanged members by the statement.
async fn change(call: &Call, id: GroupId, seen: &Seen, wanted: &Wanted<'_>) -> Result<Group, ScimError> {
    let now = find(call, id).await?;
    seen.admits(now.version)?;
    let (form, members) = wanted.of(&form_of(&now))?;
    let store = &call.app.store;
    if form == form_of(&now) && !groups::differs(store, call.organization, &now, &members).await? {
        return Ok(now);
    }
    let changed = call.app.store.try_tx_in_turn(call.caller.turn(), "scim.change_group", |tx| async move {
        standing::enter(&tx, &call.caller, PERMISSION).await?;
        let now = groups::lock(&tx, call.organization, id).await?.ok_or_else(not_found)?;
        seen.admits(now.version)?;
        let before = form_of(&now);
        let (form, members) = wanted.of(&before)?;
        let renamed = form != before;
        if renamed {
            unique(call, &tx, Some(id), &form).await?;
            let external_id = form.external_id.as_deref();
            groups::describe(&tx, call.organization, id, (&form.display_name, &form.key()), external_id)
                .await?;
        }
        let moved = move_members(call, &tx, id, now.size, &members).await?;
        if renamed || moved != MembersChanged::default() {
            let after = json!({
                "display_name": renamed.then_some(&form.display_name),
                "added": named(&moved.added),
                "removed": named(&moved.removed),
            });
            record(call, &tx, TrailKind::GroupChanged, id, after).await?;
        }
        found(call, &tx, id).await
    });
    Ok(changed.await?)
}

fn named(members: &[MembershipId]) -> Value {
    if members.len() <= NAMED { json!(members) } else { json!(members.len()) }
}

pub(super) async fn delete(call: &Call, id: GroupId, seen: &Seen) -> Result<(), ScimError> {
    let deleted = call.app.store.try_tx_in_turn(call.caller.turn(), "scim.delete_group", |tx| async move {
        standing::enter(&tx, &call.caller, PERMISSION).await?;
        let now = groups::lock(&tx, call.organization, id).await?.ok_or_else(not_found)?;
        seen.admits(now.version)?;
        let members = groups::remove(&tx, call.organization, id).await?;
        follow(&call.app, &tx, &call.context, call.organization, &members).await?;
        let after = json!({"display_name": now.display_name, "members": members.len()});
        record(call, &tx, TrailKind::GroupRemoved, id, after).await
    });
    deleted.await.map_err(|error: TxError<ScimError>| error.into())
}

/// Groups as the directory sees them; their members are read only if they are shown.
pub(super) async fn shown(
    call: &Call,
    page: &[Group],
    projection: &Projection,
) -> Result<Vec<Value>, ScimError> {
    let ids: Vec<GroupId> = page.iter().map(|group| group.id).collect();
    let members = if projection.shows("members") && !ids.is_empty() {
        groups::members(&call.app.store, call.organization, &ids).await?
    } else {
        Vec::new()
    };
    let (base, members) = (call.base(), represent::by(&members, |one| one.group));
    let of = |group: &Group| members.get(&group.id).map_or(&[][..], Vec::as_slice);
    let show = |group| Value::Object(projection.apply(represent::group(&base, group, of(group))));
    Ok(page.iter().map(show).collect())
}
