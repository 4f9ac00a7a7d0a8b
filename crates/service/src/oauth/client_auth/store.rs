use porteiro_protocol::{id::ordered_floor, time::OffsetDateTime};

use crate::store::{Store, StoreError};

/// Stores the use of something that a client signed; `false` when it was used before, on any node.
pub async fn use_once(
    store: &Store,
    client_id: &str,
    jti_hash: &[u8; 32],
    expires_at: OffsetDateTime,
) -> Result<bool, StoreError> {
    let rows = store
        .write(
            "client_auth.use_once",
            "INSERT INTO assertion_seen (client_id, jti_hash, expiry) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING RETURNING client_id",
            &[&client_id, &jti_hash.as_slice(), &ordered_floor(expires_at)],
        )
        .await?;
    Ok(!rows.is_empty())
}
