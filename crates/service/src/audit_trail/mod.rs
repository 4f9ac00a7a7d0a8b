//! The audit trail of an organization: what happened there, the actor, and the reason.
//!
//! Entries are written in the transaction of the change. They are append-only by code, privilege and trigger, numbered
//! without gaps, and each contains the hash of the previous one. Network address and device are stored outside the
//! chain, so that a person can be erased and the chain stays valid. `docs/audit-trail.md` explains how to verify it.

mod decide;
pub mod events;
mod store;

use porteiro_protocol::{actor::ActorChain, entropy::Entropy, id::OrganizationId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

pub use decide::{AuditEvent, at};
pub use events::TrailKind;
pub use store::{Entry, Filter, Found, Range, page};

use crate::{
    App,
    http::RequestContext,
    store::{Reader, StoreError, Tx},
};

/// The actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Actor {
    pub kind: ActorKind,
    pub id: String,
    /// The platform administrator, where they impersonate the member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<ActorChain>,
}

crate::store::text_enum! {
    ActorKind { Member = "member", Client = "client", ApiKey = "api_key", Platform = "platform", System = "system" }
}

/// The object of the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Target {
    pub kind: String,
    pub id: String,
}

impl Actor {
    /// The service itself, for instance when time expires.
    pub fn system() -> Self {
        Self { kind: ActorKind::System, id: "porteiro".into(), act: None }
    }

    /// The platform, where an organization does not learn which administrator it was.
    pub fn platform() -> Self {
        Self { kind: ActorKind::Platform, id: "platform".into(), act: None }
    }

    /// Whether the entry names whose address and device stand beside it. Nobody could erase them otherwise.
    fn is_named(&self) -> bool {
        *self != Self::platform()
    }
}

impl Target {
    #[expect(clippy::needless_pass_by_value, reason = "ids and texts alike, owned or not")]
    pub fn new(kind: &str, id: impl ToString) -> Self {
        Self { kind: kind.to_owned(), id: id.to_string() }
    }
}

crate::store::text_enum! {
    Outcome { Done = "done", Refused = "refused" }
}

/// An entry to write.
#[derive(Debug, Clone)]
pub struct Event {
    pub kind: TrailKind,
    pub actor: Actor,
    pub target: Target,
    pub outcome: Outcome,
    pub reason: Option<String>,
    /// `{"before", "after"}`; never contains a secret or an address.
    pub changes: Option<Value>,
    /// Outside the chain, so that it can be erased.
    pub directory_subject: Option<String>,
}

impl Event {
    pub const fn done(kind: TrailKind, actor: Actor, target: Target) -> Self {
        Self {
            kind,
            actor,
            target,
            outcome: Outcome::Done,
            reason: None,
            changes: None,
            directory_subject: None,
        }
    }

    #[must_use]
    pub fn because(mut self, reason: Option<String>) -> Self {
        self.reason = reason;
        self
    }

    #[must_use]
    pub fn changing(mut self, before: Value, after: Value) -> Self {
        let both = [("before".to_owned(), before), ("after".to_owned(), after)];
        self.changes = Some(Value::Object(both.into_iter().collect()));
        self
    }
}

/// Appends to the organization's trail. Concurrent calls wait: the chain has one end.
pub async fn record(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    organization: OrganizationId,
    event: &Event,
) -> Result<(), StoreError> {
    store::append(tx, organization, app.entropy.bytes(), event, Some(&context.into())).await
}

/// The same without a request: by a job or a command.
pub async fn record_unasked(
    entropy: &dyn Entropy,
    tx: &Tx,
    organization: OrganizationId,
    event: &Event,
) -> Result<(), StoreError> {
    store::append(tx, organization, entropy.bytes(), event, None).await
}

/// The newest matching entries, before the given position.
pub async fn newest(
    reader: &impl Reader,
    organization: OrganizationId,
    filter: &Filter,
    before: Option<Uuid>,
    most: i64,
) -> Result<Vec<Found>, StoreError> {
    store::page(reader, organization, filter, Range::Newest(before), most).await
}
