use porteiro_protocol::time::OffsetDateTime;

use crate::store::{Decode, Store, StoreError};

/// The database's time now, not at the start of a transaction.
pub(super) async fn clock(store: &Store) -> Result<OffsetDateTime, StoreError> {
    let rows = store.read("health.clock", "SELECT clock_timestamp() AS now", &[]).await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("no row for the time".into()))?;
    Ok(Decode::new("clock_timestamp", "now", row).get("now")?)
}
