//! Which member a subject of another server is. A link lets that server act as the member, so the caller must hold all
//! permissions of the member (docs/decisions/0045). Removing a link ends the tokens that were issued by it.

mod endpoint;

use porteiro_protocol::id::{ExternalIdentityId, Id, MembershipId, OrganizationId};
use serde_json::{Value, json};

pub use endpoint::routes;

use super::{Caller, change, standing};
use crate::{
    App,
    audit_trail::{self, Target, TrailKind},
    http::{Problem, ProblemCode, RequestContext, TxProblem, field_invalid},
    members::{self, Member, State, Whom},
    oauth::grants::{self, Asserted},
    security_log::{self, EventKind},
    store::{StoreError, Tx},
    trusts::{self, ExternalIdentity, decide, identities},
};

const WRITE: &str = "trusts:write";

/// What a request wants to link.
#[derive(Debug)]
struct Wanted {
    issuer: String,
    tenant: Option<String>,
    subject: String,
    membership: MembershipId,
}

impl Wanted {
    fn checked(&self, app: &App) -> Result<ExternalIdentity, TxProblem> {
        decide::check_issuer(&self.issuer, app.issuer()).map_err(field_invalid)?;
        decide::check_id("subject", &self.subject).map_err(field_invalid)?;
        if let Some(tenant) = &self.tenant {
            decide::check_id("tenant", tenant).map_err(field_invalid)?;
        }
        let now = app.clock.now();
        Ok(ExternalIdentity {
            id: Id::ordered(now, &*app.entropy),
            issuer: self.issuer.clone(),
            tenant: self.tenant.clone().unwrap_or_default(),
            subject: self.subject.clone(),
            membership: self.membership,
            created_at: now,
        })
    }
}

async fn link(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    wanted: &Wanted,
) -> Result<ExternalIdentity, Problem> {
    change(app, context, caller, "trusts.link", |tx| async move {
        let standing = standing::enter(&tx, caller, WRITE).await?;
        let place = standing.organization.id;
        let new = wanted.checked(app)?;
        let member = members::find(&tx, place, Whom::Id(new.membership)).await?;
        let member = member.filter(|member| member.account.is_some() && member.state != State::Removed);
        let member =
            member.ok_or_else(|| field_invalid("membership is not a person's in this organization"))?;
        if !standing.held.covers_all(member.authority()) {
            let text = "this member holds permissions that you do not hold";
            return Err(Problem::new(ProblemCode::AuthorityExceeded, text).into());
        }
        if identities::are_many(&tx, place).await? {
            let text = format!("an organization has at most {} external identities", trusts::MOST_IDENTITIES);
            return Err(Problem::new(ProblemCode::Quota, text).into());
        }
        let taken = || Problem::new(ProblemCode::Conflict, "the subject is linked to a member");
        let made = identities::insert(&tx, place, &new).await?.ok_or_else(taken)?;
        let kinds = (TrailKind::ExternalIdentityLinked, EventKind::ExternalIdentityLinked);
        record(app, &tx, context, caller, kinds, &member, &made, (Value::Null, said(&made))).await?;
        Ok(made)
    })
    .await
}

/// `false` where there is none of this id.
async fn unlink(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: ExternalIdentityId,
) -> Result<bool, Problem> {
    change(app, context, caller, "trusts.unlink", |tx| async move {
        let place = standing::enter(&tx, caller, WRITE).await?.organization.id;
        let Some(gone) = identities::delete(&tx, place, id).await? else { return Ok(false) };
        let Some(member) = members::find(&tx, place, Whom::Id(gone.membership)).await? else {
            return Ok(true);
        };
        let ended = end(&tx, place, &member, &gone).await?;
        let kinds = (TrailKind::ExternalIdentityRemoved, EventKind::ExternalIdentityRemoved);
        let changes = (said(&gone), json!({"grants_ended": ended}));
        record(app, &tx, context, caller, kinds, &member, &gone, changes).await?;
        Ok(true)
    })
    .await
}

async fn end(
    tx: &Tx,
    place: OrganizationId,
    member: &Member,
    gone: &ExternalIdentity,
) -> Result<u64, StoreError> {
    let Some(account) = member.account else { return Ok(0) };
    let (issuer, tenant) = (gone.issuer.as_str(), gone.tenant.as_str());
    let which = Asserted::For { account, membership: member.id, issuer, tenant };
    grants::revoke_asserted(tx, place, which).await
}

/// Without the subject, which may be an address.
fn said(identity: &ExternalIdentity) -> Value {
    json!({"issuer": identity.issuer, "tenant": identity.tenant, "membership": identity.membership})
}

#[expect(clippy::too_many_arguments, reason = "who changed what, from what to what")]
async fn record(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    (trail, log): (TrailKind, EventKind),
    member: &Member,
    identity: &ExternalIdentity,
    (before, after): (Value, Value),
) -> Result<(), StoreError> {
    if let Some(account) = member.account {
        let organization = member.organization.id;
        let payload =
            json!({"identity_id": identity.id, "issuer": identity.issuer, "organization": organization});
        let event = security_log::Event { kind: log, subject: account.uuid(), payload };
        security_log::record(app, tx, context, event).await?;
    }
    let target = Target::new("external_identity", identity.id);
    let event = caller.did(trail, target).changing(before, after);
    audit_trail::record(app, tx, context, member.organization.id, &event).await
}
