use uuid::Uuid;

use crate::store::{Store, StoreError};

/// Uses a proof up; `false` when it was used before, on whichever node.
pub(super) async fn use_proof(
    store: &Store,
    key: &[u8; 32],
    jti_hash: &[u8; 32],
    expiry: Uuid,
) -> Result<bool, StoreError> {
    let rows = store
        .write(
            "binding.use_proof",
            "INSERT INTO proof_seen (key_thumbprint, jti_hash, expiry) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING RETURNING expiry",
            &[&key.as_slice(), &jti_hash.as_slice(), &expiry],
        )
        .await?;
    Ok(!rows.is_empty())
}
