//! Commands for clients (docs/decisions/0050): each change and its entry in the security log are one transaction.

use porteiro_protocol::{entropy::Entropy, time::OffsetDateTime};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CreateError, Created, Profile, Trust, new,
    store::{disable_in, insert_in, set_trust_in},
};
use crate::{
    security_log::{self, EventKind},
    store::{Store, StoreError, Tx},
};

async fn note(
    tx: &Tx,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    kind: EventKind,
    payload: Value,
) -> Result<(), StoreError> {
    security_log::record_at_console(
        tx,
        now,
        entropy,
        security_log::Event { kind, subject: Uuid::nil(), payload },
    )
    .await
}

/// Creates a client from its metadata (RFC 7591 §2).
pub async fn create_at_console(
    store: &Store,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    metadata: &Value,
    trust: Trust,
    profile: Profile,
) -> Result<Created, CreateError> {
    let made = new(entropy, metadata, profile)?;
    let row = made.row(trust, profile);
    let row = &row;
    store
        .run_tx("clients.create_at_console", |tx| async move {
            insert_in(&tx, row).await?;
            let payload = json!({"client_id": row.id, "by": "console"});
            note(&tx, now, entropy, EventKind::ClientCreated, payload).await
        })
        .await?;
    Ok(made.shown())
}

/// `false` when there is no such client.
pub async fn set_trust_at_console(
    store: &Store,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    client_id: &str,
    trust: Trust,
) -> Result<bool, StoreError> {
    store
        .run_tx("clients.trust_at_console", |tx| async move {
            let Some(before) = set_trust_in(&tx, client_id, trust).await? else { return Ok(false) };
            let payload = json!({
                "client_id": client_id, "by": "console", "before": {"trust": before}, "after": {"trust": trust},
            });
            note(&tx, now, entropy, EventKind::ClientAdministered, payload).await?;
            Ok(true)
        })
        .await
}

/// `false` when there is no such client.
pub async fn disable_at_console(
    store: &Store,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    client_id: &str,
) -> Result<bool, StoreError> {
    store
        .run_tx("clients.disable_at_console", |tx| async move {
            if !disable_in(&tx, client_id).await? {
                return Ok(false);
            }
            let payload = json!({
                "client_id": client_id, "by": "console", "before": {"enabled": true}, "after": {"enabled": false},
            });
            note(&tx, now, entropy, EventKind::ClientAdministered, payload).await?;
            Ok(true)
        })
        .await
}
