use uuid::Uuid;

use super::{SECONDS, Stored};
use crate::store::{Decode, Store, StoreError, Tx};

pub(super) async fn insert(
    store: &Store,
    id: Uuid,
    client_id: &str,
    hash: &[u8; 32],
    stored: &Stored,
) -> Result<(), StoreError> {
    let request =
        serde_json::to_value(stored).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    store
        .write(
            "pushed_authorization.insert",
            "INSERT INTO pushed_request (request_id, client_id, secret_hash, request, expires_at)
             VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5))",
            &[&id, &client_id, &hash.as_slice(), &request, &f64::from(SECONDS)],
        )
        .await
        .map(|_| ())
}

pub(super) async fn find(
    store: &Store,
    id: Uuid,
    client_id: &str,
    hash: &[u8; 32],
) -> Result<Option<Stored>, StoreError> {
    let rows = store
        .read(
            "pushed_authorization.find",
            "SELECT request FROM pushed_request
             WHERE request_id = $1 AND client_id = $2 AND secret_hash = $3 AND expires_at > now()
               AND used_at IS NULL",
            &[&id, &client_id, &hash.as_slice()],
        )
        .await?;
    let read = |row| Decode::new("pushed_request", id, row).json("request");
    Ok(rows.first().map(read).transpose()?)
}

/// Uses it up, once. How long the person took to get here does not matter.
pub async fn consume(tx: &Tx, id: Uuid, client_id: &str) -> Result<bool, StoreError> {
    let used = tx
        .execute(
            "UPDATE pushed_request SET used_at = now()
             WHERE request_id = $1 AND client_id = $2 AND used_at IS NULL",
            &[&id, &client_id],
        )
        .await?;
    Ok(used == 1)
}
