//! Ends a membership and, in the same transaction, everything that depends on it.
//!
//! 1. `grants_from` in the row invalidates everything issued earlier: keys, and tokens without a grant.
//! 2. Its grants are revoked, its consents are deleted, and their clients are notified.
//! 3. Its personal keys are revoked, and impersonations of this member end.
//! 4. What the organization's directories vouch for is removed from the person's sessions; a removed member's identities
//!    there are unlinked.
//! 5. Pending invitations of the organization to the person's addresses are revoked: they were sent to a member who has
//!    ended since.
//! 6. The organization's audit trail and the person's security log record it.
//!
//! Enabling or adding the member again restores none of it.

use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};
use serde_json::json;

use super::store::{self, Enabled, End, Undo};
use crate::{
    App,
    audit_trail::{self, Actor, Target, TrailKind},
    directories,
    endings::{self, Cause, Gone, Membership, Why},
    http::RequestContext,
    invitations,
    members::Member,
    security_log::{self, EventKind},
    sessions,
    store::{StoreError, Tx},
};

/// Ends a membership. The caller has checked the authority and holds the organization's lock. `false` if it had ended
/// before.
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
        End::Disabled | End::Deactivated => (TrailKind::MemberDisabled, EventKind::MembershipDisabled),
        End::Removed => (TrailKind::MemberRemoved, EventKind::MembershipRemoved),
    };
    let event = audit_trail::Event::done(kind, actor.clone(), Target::new("member", member.id))
        .because(reason.map(str::to_owned))
        .changing(json!({"state": member.state, "roles": member.roles}), json!({"state": end.state()}));
    audit_trail::record(app, tx, context, organization, &event).await?;
    end_grants(app, tx, context, member, None, actor, Why::MembershipEnded).await?;
    end_dependents(app, tx, context, organization, member.id, actor, Why::MembershipEnded).await?;
    match end {
        // A member who is added again has to link their identity again.
        End::Removed => directories::unlink(tx, organization, member.id).await?,
        End::Disabled | End::Deactivated => 0,
    };
    if let Some(account) = member.account {
        withdraw_invitations(app, tx, context, member, account, actor).await?;
        let ended = sessions::forget_directory(tx, account, organization).await?;
        endings::sessions_ended(app, tx, context, account, &ended, sessions::Ended::MembershipEnded).await?;
        let payload = json!({"organization_id": organization, "membership_id": member.id});
        security_log::record(
            app,
            tx,
            context,
            security_log::Event { kind: log, subject: account.uuid(), payload },
        )
        .await?;
    }
    Ok(true)
}

async fn withdraw_invitations(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    member: &Member,
    account: AccountId,
    actor: &Actor,
) -> Result<(), StoreError> {
    let organization = member.organization.id;
    for id in invitations::withdraw(app, tx, organization, account).await? {
        let target = Target::new("invitation", id);
        let event = audit_trail::Event::done(TrailKind::InvitationRevoked, actor.clone(), target);
        audit_trail::record(app, tx, context, organization, &event).await?;
    }
    Ok(())
}

/// Enables a disabled member. What ended then stays ended. The caller has checked the authority and holds the
/// organization's lock.
pub async fn restore(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    member: &Member,
    actor: &Actor,
    reason: Option<&str>,
    undo: Undo,
) -> Result<Enabled, StoreError> {
    let organization = member.organization.id;
    let enabled = store::enable(tx, organization, member.id, undo).await?;
    let target = Target::new("member", member.id);
    let event = match enabled {
        Enabled::No => return Ok(enabled),
        Enabled::Yes => audit_trail::Event::done(TrailKind::MemberEnabled, actor.clone(), target),
        Enabled::DeactivatedStill => {
            audit_trail::Event::done(TrailKind::MemberChanged, actor.clone(), target)
                .changing(json!({"disabled_by_directory": false}), json!({"disabled_by_directory": true}))
        }
    };
    audit_trail::record(app, tx, context, organization, &event.because(reason.map(str::to_owned))).await?;
    if let (Some(account), Enabled::Yes) = (member.account, enabled) {
        let payload = json!({"organization_id": organization, "membership_id": member.id});
        let kind = EventKind::MembershipEnabled;
        security_log::record(
            app,
            tx,
            context,
            security_log::Event { kind, subject: account.uuid(), payload },
        )
        .await?;
    }
    Ok(enabled)
}

/// Ends the grants a member gave to one client in this organization, or to all clients.
pub async fn end_grants(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    member: &Member,
    client_id: Option<&str>,
    actor: &Actor,
    why: Why,
) -> Result<Gone, StoreError> {
    // A client's own tokens have no grant; they end by `grants_from`.
    let Some(account) = member.account else { return Ok(Gone::default()) };
    let member = Membership { organization: member.organization.id, id: member.id, actor, why };
    endings::end(app, tx, context, Cause::MemberGrants { member, account, client_id }).await
}

/// Ends what depends on a member's authority: personal keys, and impersonations of the member.
pub async fn end_dependents(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    organization: OrganizationId,
    member: MembershipId,
    actor: &Actor,
    why: Why,
) -> Result<(), StoreError> {
    let member = Membership { organization, id: member, actor, why };
    endings::end(app, tx, context, Cause::Membership(member)).await.map(|_| ())
}
