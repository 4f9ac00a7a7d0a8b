use uuid::Uuid;

use super::{SECONDS, Stored};
use crate::store::{Decode, Store, StoreError, Tx};

pub async fn insert(
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
            "INSERT INTO pushed_request (request_id, client_id, secret_hash, request, expires_at, kept_until)
             SELECT $1, $2, $3, $4, expiry, expiry FROM (SELECT now() + make_interval(secs => $5) AS expiry) AS e",
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

/// Keeps the row for the lifetime of the flow that it opened; completing the flow consumes it.
pub async fn keep(tx: &Tx, id: Uuid, seconds: f64) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE pushed_request SET kept_until = greatest(kept_until, now() + make_interval(secs => $2))
         WHERE request_id = $1",
        &[&id, &seconds],
    )
    .await
    .map(|_| ())
}

/// Consumes the request, once. The time since it was pushed does not matter.
pub async fn consume(tx: &Tx, id: Uuid, client_id: &str) -> Result<bool, StoreError> {
    let used = tx
        .execute(
            "DELETE FROM pushed_request WHERE request_id = $1 AND client_id = $2 AND used_at IS NULL",
            &[&id, &client_id],
        )
        .await?;
    Ok(used == 1)
}

/// Deletes expired requests, row by row and not by partition: a day is too long to keep requests of anonymous
/// callers.
pub async fn sweep(store: &Store) -> Result<u64, StoreError> {
    store
        .sweep(
            "pushed_authorization.sweep",
            "DELETE FROM pushed_request WHERE request_id IN (
                 SELECT request_id FROM pushed_request WHERE kept_until < now() LIMIT $1)
             RETURNING 1 AS swept",
        )
        .await
}
