//! Ends impersonations for other reasons than their expiry or the administrator's request.

use porteiro_protocol::{entropy::Entropy, id::AccountId};
use serde_json::json;

use super::{store, store::Impersonation, target};
use crate::{
    App,
    audit_trail::{self, Actor, TrailKind},
    endings::{Cause, Dependent, Gone, Membership},
    http::RequestContext,
    oauth::grants::{self, Why},
    store::{StoreError, Tx},
};

pub const DEPENDENT: Dependent = Dependent {
    name: "impersonations",
    end: |app, tx, context, cause| {
        Box::pin(async move { end(app, tx, context, cause).await.map(|()| Gone::default()) })
    },
};

async fn end(app: &App, tx: &Tx, context: &RequestContext, cause: Cause<'_>) -> Result<(), StoreError> {
    let (actor, client_id, why) = match cause {
        Cause::Sessions { account, why, .. } | Cause::Account { account, why } => (account, None, why),
        Cause::Credential { account, .. } => (account, None, Why::CredentialChanged),
        Cause::Consent { account, client_id } => (account, Some(client_id), Why::Owner),
        Cause::Grant { account, client_id, why } => (account, Some(client_id), why),
        Cause::Membership(member) => return end_of_member(app, tx, context, member).await,
        // The platform administrator's own memberships do not matter: the permission is the platform's.
        Cause::Directory(_) | Cause::MemberGrants { .. } | Cause::Client { .. } => return Ok(()),
    };
    end_of_actor(app, tx, context, actor, client_id, why).await
}

/// Impersonations of a member end with the membership.
async fn end_of_member(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    member: Membership<'_>,
) -> Result<(), StoreError> {
    for operator in store::end_of_member(tx, member.organization, member.id).await? {
        let kind = TrailKind::ImpersonationEnded;
        let event = audit_trail::Event::done(kind, member.actor.clone(), target(member.id))
            .because(Some(member.why.as_str().to_owned()))
            .changing(json!({"acted": operator}), json!(null));
        audit_trail::record(app, tx, context, member.organization, &event).await?;
    }
    Ok(())
}

/// Impersonations end with the administrator's session, grant or account. `client_id`: only those by that client.
pub async fn end_of_actor(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    actor: AccountId,
    client_id: Option<&str>,
    why: Why,
) -> Result<(), StoreError> {
    let because = if matches!(why, Why::AccountDisabled) {
        "the account of the platform administrator was disabled"
    } else {
        "the session or grant of the platform administrator ended"
    };
    for one in end_all(tx, actor, client_id).await? {
        audit_trail::record(app, tx, context, one.organization, &ended(&one, because)).await?;
    }
    Ok(())
}

/// The same for an administrator who lost the permission, on the command line.
pub async fn end_of_actor_at_console(
    tx: &Tx,
    entropy: &dyn Entropy,
    actor: AccountId,
) -> Result<(), StoreError> {
    for one in end_all(tx, actor, None).await? {
        let event = ended(&one, "the platform administrator lost the permission");
        audit_trail::record_unasked(entropy, tx, one.organization, &event).await?;
    }
    Ok(())
}

async fn end_all(
    tx: &Tx,
    actor: AccountId,
    client_id: Option<&str>,
) -> Result<Vec<Impersonation>, StoreError> {
    let mut ended = store::end_of_actor(tx, actor, client_id).await?;
    ended.sort_by_key(|one| (one.organization, one.id));
    for one in &ended {
        grants::revoke_acting(tx, one.grant, one.account).await?;
    }
    Ok(ended)
}

pub(super) fn ended(one: &Impersonation, because: &str) -> audit_trail::Event {
    audit_trail::Event::done(TrailKind::ImpersonationEnded, Actor::system(), target(one.membership))
        .because(Some(because.to_owned()))
}
