//! An account is disabled and enabled, for whoever has the platform's word.
//!
//! Disabling ends everything it opened or allowed, in one transaction: sessions, grants, personal keys, and whatever
//! was issued to it as anybody's member. It may leave an organization without an owner who can act: a thief who took
//! the last owner's account must not be safe there. Enabling revives nothing.

use porteiro_protocol::id::AccountId;
use serde_json::json;

use super::super::super::members::{self, cut};
use crate::{
    App, accounts,
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    endings::{self, Why},
    http::RequestContext,
    security_log::{self, EventKind},
    sessions::{self, Ended},
    store::{StoreError, Tx},
};

/// `false` when it was not active. The reason stays with the platform; organizations learn only that it happened.
pub async fn disable(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    reason: &str,
) -> Result<bool, StoreError> {
    accounts::lock(tx, account).await?;
    if !accounts::set_active(tx, account, false).await? {
        return Ok(false);
    }
    // Memberships before grants, as whoever ends a membership takes them.
    let memberships = members::cut_account(tx, account).await?;
    let ended = sessions::end_others(tx, account, None, Ended::AccountDisabled).await?;
    // What outlived its session, too, and whatever they do as others.
    let why = (Ended::AccountDisabled, Why::AccountDisabled);
    endings::everything_ended(app, tx, context, account, &ended, why).await?;
    for (organization, member) in memberships {
        let actor = Actor { kind: ActorKind::Platform, id: "platform".into(), act: None };
        let why = Why::AccountDisabled;
        let event =
            audit_trail::Event::done(TrailKind::MemberDisabled, actor.clone(), Target::new("member", member))
                .because(Some(why.as_str().to_owned()));
        audit_trail::record(app, tx, context, organization, &event).await?;
        cut::end_borrowed(app, tx, context, organization, member, &actor, why).await?;
    }
    let payload = json!({"reason": reason});
    let kind = EventKind::AccountDisabled;
    security_log::record(app, tx, context, security_log::Event { kind, subject: account.uuid(), payload })
        .await?;
    Ok(true)
}

/// `false` when it was not disabled. Whoever it belongs to signs in anew; what they had allowed stays over.
pub async fn enable(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
) -> Result<bool, StoreError> {
    accounts::lock(tx, account).await?;
    if !accounts::set_active(tx, account, true).await? {
        return Ok(false);
    }
    // Once more: what was issued by a node that had not yet seen it disabled.
    for (organization, member) in members::cut_account(tx, account).await? {
        let actor = Actor { kind: ActorKind::Platform, id: "platform".into(), act: None };
        let event = audit_trail::Event::done(TrailKind::MemberEnabled, actor, Target::new("member", member));
        audit_trail::record(app, tx, context, organization, &event).await?;
    }
    let kind = EventKind::AccountEnabled;
    security_log::record(
        app,
        tx,
        context,
        security_log::Event { kind, subject: account.uuid(), payload: json!({}) },
    )
    .await?;
    Ok(true)
}
