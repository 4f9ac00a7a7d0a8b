//! Commands for APIs (docs/decisions/0050): each change and its entry in the security log are one transaction.

use porteiro_protocol::{entropy::Entropy, time::OffsetDateTime};
use serde_json::json;
use uuid::Uuid;

use super::{
    Api,
    store::{register_in, remove_in},
};
use crate::{
    security_log::{self, Event, EventKind},
    store::{Store, StoreError},
};

fn event(kind: EventKind, identifier: &str) -> Event {
    Event { kind, subject: Uuid::nil(), payload: json!({"identifier": identifier, "by": "console"}) }
}

/// Registers an API or replaces its definition.
pub async fn register_at_console(
    store: &Store,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    api: &Api,
) -> Result<(), StoreError> {
    store
        .run_tx("apis.register_at_console", |tx| async move {
            register_in(&tx, api).await?;
            let event = event(EventKind::ApiChanged, &api.identifier);
            security_log::record_at_console(&tx, now, entropy, event).await
        })
        .await
}

/// `false` when there is no such API.
pub async fn remove_at_console(
    store: &Store,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    identifier: &str,
) -> Result<bool, StoreError> {
    store
        .run_tx("apis.remove_at_console", |tx| async move {
            if !remove_in(&tx, identifier).await? {
                return Ok(false);
            }
            let event = event(EventKind::ApiRemoved, identifier);
            security_log::record_at_console(&tx, now, entropy, event).await?;
            Ok(true)
        })
        .await
}
