//! The identities that a member has, as the member and the organization's administrators see them; unlinking one.

use porteiro_protocol::{
    id::{AccountId, ConnectionId, DirectoryIdentityId, MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use serde_json::{Value, json};

use super::{ending, store};
use crate::{
    App,
    audit_trail::{self, Actor, Target, TrailKind},
    http::RequestContext,
    security_log::{self, EventKind},
    store::{StoreError, Tx},
};

/// An identity of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    pub id: DirectoryIdentityId,
    pub organization: OrganizationId,
    pub membership: MembershipId,
    pub account: AccountId,
    pub connection: ConnectionId,
    pub connection_name: String,
    pub issuer: String,
    pub subject: String,
    pub created_at: OffsetDateTime,
}

/// Unlinks an identity, and ends what rests on it. `false` if it is not linked any more.
pub async fn unlink_one(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    linked: &Linked,
    actor: &Actor,
) -> Result<bool, StoreError> {
    let (place, account) = (linked.organization, linked.account);
    if !store::delete(tx, place, linked.id, linked.membership).await? {
        return Ok(false);
    }
    ending::end_one(app, tx, context, place, (linked.id, account), None).await?;
    let before = json!({"connection_id": linked.connection, "identity_id": linked.id});
    let target = Target::new("member", linked.membership);
    let event = audit_trail::Event::done(TrailKind::ExternalIdentityRemoved, actor.clone(), target)
        .changing(before, Value::Null);
    audit_trail::record(app, tx, context, place, &event).await?;
    let payload = json!({"identity_id": linked.id, "issuer": linked.issuer, "organization": place});
    let kind = EventKind::ExternalIdentityRemoved;
    let event = security_log::Event { kind, subject: account.uuid(), payload };
    security_log::record(app, tx, context, event).await?;
    Ok(true)
}
