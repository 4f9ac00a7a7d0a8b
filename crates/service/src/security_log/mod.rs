//! The security log: events, written in the transaction in which they happen and never changed.
//!
//! Append-only by code (there is no other statement), by privilege and by trigger. Network address and device are in a
//! table of their own, so that a person can be erased and the entry stays. There is what the platform notes about a
//! person, too. Those of an administrator are not kept in entries about others, unless these say by whom they are
//! (docs/decisions/0134).

pub mod events;
mod store;

use porteiro_protocol::{entropy::Entropy, id::Id, time::OffsetDateTime};
use serde_json::{Value, json};
use uuid::Uuid;

pub use events::EventKind;
pub use store::{Entry, recent};

use crate::{
    App,
    http::RequestContext,
    store::{Store, StoreError, Tx},
};

/// Where a request came from, for the log and the list of sessions.
#[derive(Debug)]
pub struct Origin<'a> {
    pub request_id: Uuid,
    pub address: std::net::IpAddr,
    pub user_agent: &'a str,
    /// The person whose address it is, if that is not the subject.
    pub acting: Option<Uuid>,
}

impl<'a> From<&'a RequestContext> for Origin<'a> {
    fn from(context: &'a RequestContext) -> Self {
        Self {
            request_id: context.request_id.uuid(),
            address: context.address,
            user_agent: &context.user_agent,
            acting: context.acting.map(|acting| acting.0),
        }
    }
}

/// An entry to write.
#[derive(Debug)]
pub struct Event {
    pub kind: EventKind,
    /// The account it is about; nil if none is known.
    pub subject: Uuid,
    /// Never contains a secret or an address: this part is kept permanently.
    pub payload: Value,
}

impl Origin<'static> {
    /// A command on the machine itself.
    const fn console() -> Self {
        Self {
            request_id: Uuid::nil(),
            address: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
            user_agent: "command line",
            acting: None,
        }
    }
}

impl Origin<'static> {
    /// The service itself: a job without a request.
    const fn service() -> Self {
        Self { user_agent: "service", ..Self::console() }
    }
}

/// For actions of the service itself, without a request.
pub async fn record_unasked(
    tx: &Tx,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    event: Event,
) -> Result<(), StoreError> {
    store::append(tx, Id::<Entry>::ordered(now, entropy), &event, &Origin::service(), None).await
}

/// For actions on the command line, without a request.
pub async fn record_at_console(
    tx: &Tx,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    event: Event,
) -> Result<(), StoreError> {
    store::append(tx, Id::<Entry>::ordered(now, entropy), &event, &Origin::console(), None).await
}

/// Records that a command which changes something is about to run, whether or not it succeeds.
pub async fn command_at_console(
    store: &Store,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    command: &str,
    target: Option<&str>,
) -> Result<(), StoreError> {
    store
        .run_tx("audit.command", |tx| async move {
            let mut payload = json!({"command": command});
            if let Some(target) = target {
                payload["target"] = json!(target);
            }
            let event = Event { kind: EventKind::ConsoleCommand, subject: Uuid::nil(), payload };
            record_at_console(&tx, now, entropy, event).await
        })
        .await
}

pub async fn record(app: &App, tx: &Tx, context: &RequestContext, event: Event) -> Result<(), StoreError> {
    let entry_id = Id::<Entry>::ordered(app.clock.now(), &*app.entropy);
    store::append(tx, entry_id, &event, &context.into(), None).await
}

/// With a text that the platform wrote about the subject. It is erased with the person.
pub async fn record_noted(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    event: Event,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    let entry_id = Id::<Entry>::ordered(app.clock.now(), &*app.entropy);
    store::append(tx, entry_id, &event, &context.into(), reason).await
}

/// Several entries in two statements, whatever their number.
pub async fn record_all(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    events: Vec<Event>,
) -> Result<(), StoreError> {
    record_all_from(app, tx, &context.into(), events).await
}

/// The same for a request that has ended.
pub async fn record_all_from(
    app: &App,
    tx: &Tx,
    origin: &Origin<'_>,
    events: Vec<Event>,
) -> Result<(), StoreError> {
    let name = |event| (Id::<Entry>::ordered(app.clock.now(), &*app.entropy), event);
    let events: Vec<_> = events.into_iter().map(name).collect();
    if events.is_empty() {
        return Ok(());
    }
    store::append_all(tx, &events, origin).await
}
