//! The cut: a membership ends, and with it, in the same transaction, everything that hung on it.
//!
//! 1. The row says since when nothing of before counts (`grants_from`): tokens without a grant and keys die by that.
//! 2. Its grants are revoked, what was consented to is forgotten, and their clients are told.
//! 3. Its personal keys are revoked, and whoever acts as this member stops.
//! 4. The organization's trail says so, and the person's own log.
//!
//! Nothing of it is undone by enabling or coming back: that begins from nothing.

use porteiro_protocol::id::{MembershipId, OrganizationId};
use serde_json::json;

use super::store::{self, End};
use crate::{
    App, api_keys,
    audit::{self, EventKind},
    http::RequestContext,
    members::Member,
    oauth::{
        authorization,
        grants::{Ending, Revoked, Why},
        logout::{self, Gone},
    },
    store::{StoreError, Tx},
    trail::{self, Actor, Target, TrailKind},
};

/// Ends a membership for whoever may. The caller holds the organization's lock. `false` when it had ended before.
pub async fn cut(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    member: &Member,
    actor: &Actor,
    end: End,
    reason: Option<&str>,
) -> Result<bool, StoreError> {
    let organization = member.organization.id;
    let by = format!("{}:{}", actor.kind.as_str(), actor.id);
    if !store::end(tx, organization, member.id, end, &by, reason).await? {
        return Ok(false);
    }
    let (kind, log) = match end {
        End::Disabled => (TrailKind::MemberDisabled, EventKind::MembershipDisabled),
        End::Removed => (TrailKind::MemberRemoved, EventKind::MembershipRemoved),
    };
    let event = trail::Event::done(kind, actor.clone(), Target::new("member", member.id))
        .because(reason.map(str::to_owned))
        .changing(json!({"state": member.state, "roles": member.roles}), json!({"state": end.state()}));
    trail::record(app, tx, context, organization, &event).await?;
    end_grants(app, tx, context, member, None, actor, Why::MembershipEnded).await?;
    end_borrowed(app, tx, context, organization, member.id, actor, Why::MembershipEnded).await?;
    if let Some(account) = member.account {
        let payload = json!({"organization_id": organization, "membership_id": member.id});
        audit::record(app, tx, context, audit::Event { kind: log, subject: account.uuid(), payload }).await?;
    }
    Ok(true)
}

/// What a member allowed clients here ends: one of them, or all.
pub async fn end_grants(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    member: &Member,
    client_id: Option<&str>,
    actor: &Actor,
    why: Why,
) -> Result<Gone, StoreError> {
    let organization = member.organization.id;
    // A client's own tokens have no grant; they end by the row.
    let Some(account) = member.account else { return Ok(Gone { revoked: Vec::new(), more: false }) };
    authorization::forget_in_organization(tx, account, organization, client_id).await?;
    let all = Ending::of_account(account, why);
    let ending = Ending { membership: Some(member.id), client_id, tells: true, ..all };
    let gone = logout::end_grants(app, tx, context, &ending).await?;
    let mut targets: Vec<Target> =
        clients(&gone.revoked).into_iter().map(|client| Target::new("client", client)).collect();
    // Which other clients there are is not known before all grants were looked at.
    targets.extend(gone.more.then(|| Target::new("member", member.id)));
    for target in targets {
        let event = trail::Event::done(TrailKind::GrantRevoked, actor.clone(), target)
            .because(Some(why.as_str().to_owned()))
            .changing(json!({"member": member.id}), json!(null));
        trail::record(app, tx, context, organization, &event).await?;
    }
    Ok(gone)
}

fn clients(revoked: &[Revoked]) -> std::collections::BTreeSet<&str> {
    revoked.iter().map(|one| one.client_id.as_str()).collect()
}

/// What lives on a member's authority ends: personal keys, and whoever acts as them.
pub async fn end_borrowed(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    organization: OrganizationId,
    member: MembershipId,
    actor: &Actor,
    why: Why,
) -> Result<(), StoreError> {
    let ended =
        |kind, target| trail::Event::done(kind, actor.clone(), target).because(Some(why.as_str().to_owned()));
    for key in api_keys::revoke_of_membership(tx, organization, member, why.as_str()).await? {
        let event = ended(TrailKind::ApiKeyRevoked, Target::new("api_key", key));
        trail::record(app, tx, context, organization, &event).await?;
    }
    for (_, operator) in store::end_impersonations(tx, organization, member).await? {
        let event = ended(TrailKind::ImpersonationEnded, Target::new("member", member))
            .changing(json!({"acted": operator}), json!(null));
        trail::record(app, tx, context, organization, &event).await?;
    }
    Ok(())
}
