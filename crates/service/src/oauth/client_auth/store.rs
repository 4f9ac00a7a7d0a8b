use uuid::Uuid;

use crate::store::{Store, StoreError};

/// Stores the use of an assertion; `false` when it was used before, on any node.
pub(super) async fn use_assertion(
    store: &Store,
    client_id: &str,
    jti_hash: &[u8; 32],
    expiry: Uuid,
) -> Result<bool, StoreError> {
    let rows = store
        .write(
            "client_auth.use_assertion",
            "INSERT INTO assertion_seen (client_id, jti_hash, expiry) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING RETURNING client_id",
            &[&client_id, &jti_hash.as_slice(), &expiry],
        )
        .await?;
    Ok(!rows.is_empty())
}
