//! The security log: what happened, written in the transaction in which it happened, never changed.
//!
//! Append-only by code (there is no other statement), by privilege and by trigger. Who it was about by network address
//! and device stands in a table of its own, so that a person can be erased and the record stays.

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

/// Where a request came from, as far as the log and the list of sessions care.
#[derive(Debug)]
pub struct Origin<'a> {
    pub request_id: Uuid,
    pub address: std::net::IpAddr,
    pub user_agent: &'a str,
}

impl<'a> From<&'a RequestContext> for Origin<'a> {
    fn from(context: &'a RequestContext) -> Self {
        Self {
            request_id: context.request_id.uuid(),
            address: context.address,
            user_agent: &context.user_agent,
        }
    }
}

/// One entry to be written.
#[derive(Debug)]
pub struct Event {
    pub kind: EventKind,
    /// The account it is about; nil where nobody is known.
    pub subject: Uuid,
    /// Never a secret, never an address: this part is kept for good.
    pub payload: Value,
}

impl Origin<'static> {
    /// The machine itself: a command, run by whoever may run one there.
    const fn console() -> Self {
        Self {
            request_id: Uuid::nil(),
            address: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
            user_agent: "command line",
        }
    }
}

impl Origin<'static> {
    /// The service itself: a job that nobody asked for.
    const fn service() -> Self {
        Self { user_agent: "service", ..Self::console() }
    }
}

/// What the service does by itself, where there is no request either.
pub async fn record_unasked(
    tx: &Tx,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    event: Event,
) -> Result<(), StoreError> {
    store::append(tx, Id::<Entry>::ordered(now, entropy), &event, &Origin::service()).await
}

/// What was done on the command line, where there is no request.
pub async fn record_at_console(
    tx: &Tx,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    event: Event,
) -> Result<(), StoreError> {
    store::append(tx, Id::<Entry>::ordered(now, entropy), &event, &Origin::console()).await
}

/// That a command which changes something is about to run: whatever becomes of it, somebody tried.
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
    store::append(tx, entry_id, &event, &context.into()).await
}

/// Many at once, in two statements however many they are.
pub async fn record_all(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    events: Vec<Event>,
) -> Result<(), StoreError> {
    record_all_from(app, tx, &context.into(), events).await
}

/// The same for a request that is over.
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
