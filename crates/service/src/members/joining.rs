//! Adds members.

use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};
use serde_json::json;

use super::{NewMember, Source, store};
use crate::{
    App,
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    http::RequestContext,
    security_log::{self, EventKind},
    store::{StoreError, Tx},
};

/// Adds a member and records it. The caller has checked the authority. `None` if the person or client is already a
/// member.
pub async fn join(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    new: &NewMember<'_>,
    actor: &Actor,
) -> Result<Option<MembershipId>, StoreError> {
    let Some(id) = store::insert(tx, new).await? else { return Ok(None) };
    let joined = Joined {
        organization: new.organization,
        id,
        account: new.account,
        role: new.role,
        source: new.source,
    };
    record(app, tx, context, &joined, actor).await?;
    Ok(Some(id))
}

/// An account claims a membership that a directory provisioned. The caller holds the organization's lock. `false` if it is
/// not unclaimed any more, or the account has another one.
pub async fn claim(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    organization: OrganizationId,
    id: MembershipId,
    account: AccountId,
) -> Result<bool, StoreError> {
    let Some(role) = store::claim(tx, organization, id, account).await? else { return Ok(false) };
    let actor = Actor { kind: ActorKind::Member, id: id.to_string(), act: None };
    let joined = Joined { organization, id, account: Some(account), role: &role, source: Source::Scim };
    record(app, tx, context, &joined, &actor).await?;
    Ok(true)
}

struct Joined<'a> {
    organization: OrganizationId,
    id: MembershipId,
    account: Option<AccountId>,
    role: &'a str,
    source: Source,
}

async fn record(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    joined: &Joined<'_>,
    actor: &Actor,
) -> Result<(), StoreError> {
    let &Joined { organization, id, account, role, source } = joined;
    let after = json!({"role": role, "source": source});
    let event = audit_trail::Event::done(TrailKind::MemberJoined, actor.clone(), Target::new("member", id))
        .changing(json!(null), after);
    audit_trail::record(app, tx, context, organization, &event).await?;
    let Some(account) = account else { return Ok(()) };
    let payload = json!({"organization_id": organization, "membership_id": id, "role": role});
    let event = security_log::Event { kind: EventKind::MembershipJoined, subject: account.uuid(), payload };
    security_log::record(app, tx, context, event).await
}
