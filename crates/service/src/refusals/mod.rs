//! Refusals with an explanation. The client receives the standard's error and a reference. With the reference, a reader
//! of the organization's audit trail sees the rule, what was asked for, what was held, and what would have been
//! accepted.
//!
//! 1. A refusal is recorded before the response. If that fails, the response is the same without a reference.
//! 2. Limited by subject. Beyond the limit there is neither a row nor a reference, so that refused calls cannot fill
//!    the table.
//! 3. The organization's audit trail gets an entry with the same reference, in the same transaction.
//! 4. An unknown, an expired and another organization's reference give the same 404.

mod rules;
mod store;

use porteiro_protocol::{
    id::{Id, MembershipId, OrganizationId},
    permission::Held,
};
use serde::{Deserialize, Serialize};

pub use rules::Rule;
pub use store::Found;

use crate::{
    App,
    audit_trail::{self, Actor, ActorKind, Outcome, Target, TrailKind},
    http::RequestContext,
    limits::{self, Bucket, REFUSAL_SUBJECT},
    store::StoreError,
};

/// The type of refusal ids.
#[derive(Debug)]
pub enum Refused {}
pub type RefusalId = Id<Refused>;

/// How long a refusal can be read.
pub const DAYS: i32 = 30;

/// A refusal to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The organization whose readers may see it; `None`: only the platform. Never one that the subject is not a member
    /// of, or outsiders could write to its audit trail.
    pub organization: Option<OrganizationId>,
    pub client_id: Option<String>,
    /// Who was refused, as the audit trail names the actor; `None` if unknown.
    pub subject: Option<Actor>,
    pub rule: Rule,
    /// The permissions, scopes or API that were requested.
    pub asked: Vec<String>,
    pub holder: Holder,
    /// A sentence: what would have been accepted.
    pub would_pass: String,
}

impl Refusal {
    /// Of a client that acts for a member.
    pub fn of_member(
        client_id: String,
        member: (OrganizationId, MembershipId),
        rule: Rule,
        asked: &[String],
        would_pass: &str,
    ) -> Self {
        Self {
            organization: Some(member.0),
            client_id: Some(client_id),
            subject: Some(Actor { kind: ActorKind::Member, id: member.1.to_string(), act: None }),
            rule,
            asked: asked.to_vec(),
            holder: Holder::Member(member.0, member.1),
            would_pass: would_pass.into(),
        }
    }
}

/// The holder of the requested authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A member: the permissions are looked up by role.
    Member(OrganizationId, MembershipId),
    /// Permissions given by name: to a key, a platform administrator or a grant.
    Named {
        what: String,
        permissions: Vec<String>,
    },
    Nobody,
}

impl Holder {
    pub fn named(what: impl Into<String>, held: &Held) -> Self {
        let permissions = if held.is_everything() { vec!["everything".to_owned()] } else { Vec::new() };
        let named = held.named().map(ToString::to_string);
        Self::Named { what: what.into(), permissions: permissions.into_iter().chain(named).collect() }
    }
}

/// The permissions of one role or credential at that time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HeldBy {
    /// The key of the role, or the kind of credential.
    pub by: String,
    /// `everything` means every permission except the reserved ones.
    pub permissions: Vec<String>,
}

/// The stored explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Explanation {
    asked: Vec<String>,
    held: Vec<HeldBy>,
    would_pass: String,
}

/// Records a refusal. `None` beyond the limit, or if it could not be written: the response is then without a reference.
pub async fn record(app: &App, context: &RequestContext, refusal: &Refusal) -> Option<RefusalId> {
    let whom = match (&refusal.subject, &refusal.client_id) {
        (Some(subject), _) => format!("{}:{}", subject.kind.as_str(), subject.id).into_bytes(),
        (None, Some(client_id)) => format!("client:{client_id}").into_bytes(),
        (None, None) => limits::network(context.address),
    };
    let key = app.secrets.limit_key(REFUSAL_SUBJECT.name, &whom);
    match limits::take(&app.store, &[Bucket { rule: REFUSAL_SUBJECT, key }]).await {
        Ok(None) => {}
        Ok(Some(_)) | Err(_) => return None,
    }
    let id = RefusalId::ordered(app.clock.now(), &*app.entropy);
    let written = app
        .store
        .run_tx("refusals.record", |tx| async move { write(app, &tx, context, id, refusal).await })
        .await;
    written.ok().map(|()| id)
}

/// The same in a transaction, for steps that are already limited.
pub async fn record_within(
    app: &App,
    tx: &crate::store::Tx,
    context: &RequestContext,
    refusal: &Refusal,
) -> Result<RefusalId, StoreError> {
    let id = RefusalId::ordered(app.clock.now(), &*app.entropy);
    write(app, tx, context, id, refusal).await?;
    Ok(id)
}

async fn write(
    app: &App,
    tx: &crate::store::Tx,
    context: &RequestContext,
    id: RefusalId,
    refusal: &Refusal,
) -> Result<(), StoreError> {
    let held = match &refusal.holder {
        Holder::Member(organization, membership) => store::held_by(tx, *organization, *membership).await?,
        Holder::Named { what, permissions } => {
            vec![HeldBy { by: what.clone(), permissions: permissions.clone() }]
        }
        Holder::Nobody => Vec::new(),
    };
    let explanation =
        Explanation { asked: refusal.asked.clone(), held, would_pass: refusal.would_pass.clone() };
    store::insert(tx, id, refusal, &explanation, context.request_id.uuid()).await?;
    let Some(organization) = refusal.organization else { return Ok(()) };
    let actor = refusal.subject.clone().unwrap_or_else(Actor::system);
    let event = audit_trail::Event {
        outcome: Outcome::Refused,
        ..audit_trail::Event::done(TrailKind::AuthorityRefused, actor, Target::new("refusal", id))
    };
    let event = event.because(Some(refusal.rule.as_str().to_owned()));
    audit_trail::record(app, tx, context, organization, &event).await
}

/// A refusal that can still be read. `organization`: only one of this organization.
pub async fn find(
    app: &App,
    reference: RefusalId,
    organization: Option<OrganizationId>,
) -> Result<Option<Found>, StoreError> {
    store::find(&app.store, reference, organization, DAYS).await
}
