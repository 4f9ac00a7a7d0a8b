//! Refusals that explain themselves. Whoever is refused authority learns the standard's error and a reference; whoever may
//! read the organization's trail learns from the reference which rule it was, what was asked, what was held, and what
//! would have passed.
//!
//! 1. Written before the answer, and never in its way: where it cannot be written there is no reference.
//! 2. Limited per subject. Beyond the limit there is neither row nor reference: nobody fills a table by being refused.
//! 3. The organization's trail gets an entry with the same reference, in the same transaction.
//! 4. Unknown, expired and somebody else's are the same 404.

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
    audit_trail::{self, Actor, Outcome, Target, TrailKind},
    http::RequestContext,
    limits::{self, Bucket, REFUSAL_SUBJECT},
    store::StoreError,
};

/// The refusal itself, for ids.
#[derive(Debug)]
pub enum Refused {}
pub type RefusalId = Id<Refused>;

/// How long a refusal can be asked about.
pub const DAYS: i32 = 30;

/// What is to be remembered of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Whose trail readers may ask about it; none: the platform's alone. Never one that the subject does not belong to,
    /// or strangers could write in its trail.
    pub organization: Option<OrganizationId>,
    pub client_id: Option<String>,
    /// Who was refused, as the trail names them; none where nobody is known yet.
    pub subject: Option<Actor>,
    pub rule: Rule,
    /// The permissions, scopes or API that were asked for.
    pub asked: Vec<String>,
    pub holder: Holder,
    /// In words: what would have passed.
    pub would_pass: String,
}

/// Whose authority was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A member's: what they hold is looked up, role by role.
    Member(OrganizationId, MembershipId),
    /// Something that was given by name: a key, an operator, a grant.
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

/// What is kept of it, beside who and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Explanation {
    asked: Vec<String>,
    held: Vec<HeldBy>,
    would_pass: String,
}

/// Writes a refusal down. `None` beyond the limit, or where it could not be written: the answer is the same without.
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

/// The same within a transaction, for steps that are limited already.
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
        kind: TrailKind::AuthorityRefused,
        actor,
        target: Target::new("refusal", id),
        outcome: Outcome::Refused,
        reason: Some(refusal.rule.as_str().to_owned()),
        changes: None,
    };
    audit_trail::record(app, tx, context, organization, &event).await
}

/// One that can be asked about still. `organization`: only one of its own.
pub async fn find(
    app: &App,
    reference: RefusalId,
    organization: Option<OrganizationId>,
) -> Result<Option<Found>, StoreError> {
    store::find(&app.store, reference, organization, DAYS).await
}
