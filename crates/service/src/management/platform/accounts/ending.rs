//! The platform disables and enables accounts.
//!
//! Disabling ends, in one transaction, everything the account opened or allowed: sessions, grants, personal keys, and
//! what was issued to it as a member of any organization. It may leave an organization without an active owner: an
//! attacker who took over the last owner's account must not be protected by that. Enabling restores nothing.

use porteiro_protocol::id::AccountId;
use serde_json::json;

use super::super::super::members::{self, cut};
use crate::{
    App, accounts,
    audit_trail::{self, Actor, Target, TrailKind},
    endings::{self, Why},
    http::RequestContext,
    security_log::{self, EventKind},
    sessions::{self, Ended},
    store::{StoreError, Tx},
};

/// `false` if it was not active. Only the platform sees the reason (`account.administered`); organizations see that the
/// account was disabled.
pub async fn disable(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    by: &str,
) -> Result<bool, StoreError> {
    accounts::lock(tx, account).await?;
    if !accounts::set_active(tx, account, false).await? {
        return Ok(false);
    }
    // Memberships are locked before grants, in the same order as when a membership ends.
    let memberships = members::invalidate_account(tx, account).await?;
    let ended = sessions::end_others(tx, account, None, Ended::AccountDisabled).await?;
    // Also ends grants that outlived their session, and impersonations by this account.
    let why = (Ended::AccountDisabled, Why::AccountDisabled);
    endings::everything_ended(app, tx, context, account, &ended, why).await?;
    for (organization, member) in memberships {
        let actor = Actor::platform();
        let why = Why::AccountDisabled;
        let event =
            audit_trail::Event::done(TrailKind::MemberDisabled, actor.clone(), Target::new("member", member))
                .because(Some(why.as_str().to_owned()));
        audit_trail::record(app, tx, context, organization, &event).await?;
        cut::end_dependents(app, tx, context, organization, member, &actor, why).await?;
    }
    let kind = EventKind::AccountDisabled;
    let event = security_log::Event { kind, subject: account.uuid(), payload: json!({"by": by}) };
    security_log::record(app, tx, context, event).await?;
    Ok(true)
}

/// `false` if it was not disabled. The person has to sign in again; former grants stay ended.
pub async fn enable(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    by: &str,
) -> Result<bool, StoreError> {
    accounts::lock(tx, account).await?;
    if !accounts::set_active(tx, account, true).await? {
        return Ok(false);
    }
    // Again, for what a node issued that had not yet seen the account disabled.
    for (organization, member) in members::invalidate_account(tx, account).await? {
        let actor = Actor::platform();
        let event = audit_trail::Event::done(TrailKind::MemberEnabled, actor, Target::new("member", member));
        audit_trail::record(app, tx, context, organization, &event).await?;
    }
    let kind = EventKind::AccountEnabled;
    security_log::record(
        app,
        tx,
        context,
        security_log::Event { kind, subject: account.uuid(), payload: json!({"by": by}) },
    )
    .await?;
    Ok(true)
}
