//! Maps groups of the organization's directory to roles.
//!
//! 1. The directory says who is in a group; an administrator says which role that means. Equal names mean nothing.
//! 2. A group never gives the role of an owner, nor a role with reserved permissions (docs/decisions/0126).
//! 3. The administrator holds all permissions of the role, of the one before as well.
//! 4. Members' roles follow in the same transaction ([`follow`]), and their grants are checked again.

mod decide;
mod endpoint;

use std::sync::Arc;

use porteiro_protocol::id::{GroupId, MembershipId, OrganizationId};
use serde_json::json;

pub use endpoint::routes;

use super::standing;
use crate::{
    App,
    api::stale,
    audit_trail::{self, Target, TrailKind},
    groups::{self, Group},
    http::{Problem, ProblemCode, RequestContext},
    management::{self, Caller},
    oauth::grants,
    organizations, roles,
    security_log::{self, EventKind},
    store::{StoreError, Tx},
};

const WRITE: &str = "roles:write";
/// Up to so many members' grants are marked one by one; beyond, all grants of the organization are checked again.
const FEW: usize = 20;

/// Sets the role that the members of a group have; `None`: no role.
pub async fn map(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    id: GroupId,
    seen: i64,
    role: Option<&str>,
) -> Result<Group, Problem> {
    management::change(app, context, caller, "groups.map", |tx| async move {
        let standing = standing::enter(&tx, caller, WRITE).await?;
        let organization = standing.organization.id;
        let group = groups::lock(&tx, organization, id).await?.ok_or(ProblemCode::NotFound)?;
        if group.version != seen {
            return Err(stale().into());
        }
        if group.role.as_deref() == role {
            return Ok(group);
        }
        let definitions = roles::definitions(&tx, organization).await?;
        decide::may_map(&standing.held, &definitions, group.role.as_deref(), role)?;
        let both = [group.role.as_deref(), role].into_iter().flatten();
        standing.may_raise(both.filter_map(|role| definitions.get(role)))?;
        groups::set_role(&tx, organization, id, role).await?;
        let event =
            audit_trail::Event::done(TrailKind::GroupMapped, caller.actor.clone(), Target::new("group", id))
                .because(caller.reason.clone())
                .changing(json!({"role": group.role}), json!({"role": role}));
        audit_trail::record(app, &tx, context, organization, &event).await?;
        let members = groups::members(&tx, organization, &[id]).await?;
        let members: Vec<MembershipId> = members.iter().map(|one| one.member).collect();
        follow(app, &tx, context, organization, &members).await?;
        Ok(groups::find(&tx, organization, id).await?.ok_or(ProblemCode::NotFound)?)
    })
    .await
}

/// The roles of these members follow their groups. The caller holds the organization's lock.
pub async fn follow(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    organization: OrganizationId,
    members: &[MembershipId],
) -> Result<(), StoreError> {
    if members.is_empty() {
        return Ok(());
    }
    let followed = groups::reconcile(tx, organization, members).await?;
    let people = || followed.iter().filter_map(|one| one.account.map(|account| (one, account)));
    let mut again = people().count() > FEW;
    for (one, account) in people().take(FEW) {
        again = again || !grants::look_again(tx, account, organization, one.member).await?;
    }
    if again {
        organizations::check_again(tx, organization).await?;
    }
    let events = people().map(|(one, account)| security_log::Event {
        kind: EventKind::MembershipChanged,
        subject: account.uuid(),
        payload: json!({"organization_id": organization, "membership_id": one.member, "roles": one.roles}),
    });
    security_log::record_all(app, tx, context, events.collect()).await
}
