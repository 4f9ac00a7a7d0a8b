use porteiro_protocol::{secret::Hashed, time::OffsetDateTime};

use super::BootstrapKey;
use crate::store::{Decode, Store, StoreError, Tx};

/// Stores the key if there is none, or only an unused one that has expired.
pub(super) async fn arm(
    store: &Store,
    hash: &Hashed<BootstrapKey>,
    lifetime_seconds: u32,
) -> Result<Option<OffsetDateTime>, StoreError> {
    let rows = store
        .write(
            "bootstrap.arm",
            "INSERT INTO bootstrap (key_hash, expires_at) VALUES ($1, now() + make_interval(secs => $2))
             ON CONFLICT (singleton) DO UPDATE
                SET key_hash = excluded.key_hash, expires_at = excluded.expires_at
                WHERE bootstrap.used_at IS NULL AND bootstrap.expires_at <= now()
             RETURNING expires_at",
            &[&hash.as_bytes().as_slice(), &f64::from(lifetime_seconds)],
        )
        .await?;
    rows.first()
        .map(|row| Decode::new("bootstrap", "singleton", row).get("expires_at"))
        .transpose()
        .map_err(Into::into)
}

pub(super) async fn expiry_of_unspent(store: &Store) -> Result<Option<OffsetDateTime>, StoreError> {
    let rows =
        store.read("bootstrap.expiry", "SELECT expires_at FROM bootstrap WHERE used_at IS NULL", &[]).await?;
    rows.first()
        .map(|row| Decode::new("bootstrap", "singleton", row).get("expires_at"))
        .transpose()
        .map_err(Into::into)
}

/// Uses the key in the transaction that creates the administrator; `false` if it was not valid.
pub async fn spend(tx: &Tx, key_hash: &[u8]) -> Result<bool, StoreError> {
    let spent = tx
        .execute(
            "UPDATE bootstrap SET used_at = now()
             WHERE key_hash = $1 AND used_at IS NULL AND expires_at > now()",
            &[&key_hash],
        )
        .await?;
    Ok(spent == 1)
}

/// Whether this key could be used now. Only the hash of the right key finds it.
pub async fn is_good(store: &Store, key_hash: &[u8]) -> Result<bool, StoreError> {
    let rows = store
        .read(
            "bootstrap.is_good",
            "SELECT 1 FROM bootstrap WHERE key_hash = $1 AND used_at IS NULL AND expires_at > now()",
            &[&key_hash],
        )
        .await?;
    Ok(!rows.is_empty())
}
