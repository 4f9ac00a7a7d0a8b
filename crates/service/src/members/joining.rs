//! Adds members.

use porteiro_protocol::id::MembershipId;
use serde_json::json;

use super::{NewMember, store};
use crate::{
    App,
    audit_trail::{self, Actor, Target, TrailKind},
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
    let after = json!({"role": new.role, "source": new.source});
    let event = audit_trail::Event::done(TrailKind::MemberJoined, actor.clone(), Target::new("member", id))
        .changing(json!(null), after);
    audit_trail::record(app, tx, context, new.organization, &event).await?;
    if let Some(account) = new.account {
        let payload = json!({"organization_id": new.organization, "membership_id": id, "role": new.role});
        let kind = EventKind::MembershipJoined;
        security_log::record(
            app,
            tx,
            context,
            security_log::Event { kind, subject: account.uuid(), payload },
        )
        .await?;
    }
    Ok(Some(id))
}
