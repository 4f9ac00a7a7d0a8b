use porteiro_protocol::jose::{Algorithm, PublicJwk};
use tokio_postgres::Row;

use super::decide::Step;
use crate::store::{Decode, RowError, Store, StoreError, text_enum};

text_enum! {
    KeyState { Next = "next", Active = "active", Retiring = "retiring", Retired = "retired" }
}
text_enum! {
    /// Which mode created a key. Production refuses to start while a temporary key of `--dev` exists.
    Origin { Production = "production", Dev = "dev" }
}

/// A key as stored. Ages are by the database's clock.
#[derive(Debug, Clone)]
pub struct KeyRecord {
    pub algorithm: Algorithm,
    pub state: KeyState,
    pub origin: Origin,
    pub public: PublicJwk,
    pub sealed: Option<Vec<u8>>,
    pub age_seconds: i64,
    pub in_state_seconds: i64,
}

#[derive(Debug)]
pub(super) struct NewKey {
    pub public: PublicJwk,
    pub origin: Origin,
    pub sealed: Vec<u8>,
}

/// Binds an encrypted private key to its row.
pub(super) fn sealing_context(public: &PublicJwk) -> Vec<u8> {
    format!("signing_key|{}|{}", public.alg, public.kid).into_bytes()
}

const COLUMNS: &str = "kid, algorithm, state, origin, public_jwk, sealed,
    extract(epoch FROM now() - created_at)::bigint AS age_seconds,
    extract(epoch FROM now() - coalesce(retired_at, replaced_at, activated_at, created_at))::bigint
        AS in_state_seconds";

impl TryFrom<&Row> for KeyRecord {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (key, kid) = Decode::keyed::<String>("signing_key", "kid", row)?;
        let public: PublicJwk = key.json("public_jwk")?;
        let algorithm = key.parsed("algorithm")?;
        if public.kid != kid || public.alg != algorithm {
            return Err(key.wrong("public_jwk", "names another key or algorithm than its row"));
        }
        Ok(Self {
            algorithm,
            state: key.parsed("state")?,
            origin: key.parsed("origin")?,
            public,
            sealed: key.get("sealed")?,
            age_seconds: key.get("age_seconds")?,
            in_state_seconds: key.get("in_state_seconds")?,
        })
    }
}

/// Every key, including retired ones, oldest first.
pub async fn list(store: &Store) -> Result<Vec<KeyRecord>, StoreError> {
    rows(store).await?.into_iter().map(|row| row.map_err(StoreError::from)).collect()
}

/// The same, where an unreadable row must not hide the others.
pub(super) async fn rows(store: &Store) -> Result<Vec<Result<KeyRecord, RowError>>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM signing_key ORDER BY algorithm, created_at, kid");
    let rows = store.read("keys.list", &sql, &[]).await?;
    Ok(rows.iter().map(KeyRecord::try_from).collect())
}

/// Deletes a next key, which has not signed anything yet.
pub(super) async fn discard_next(store: &Store, kid: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM signing_key WHERE kid = $1 AND state = 'next' RETURNING kid";
    store.write("keys.discard_next", sql, &[&kid]).await.map(|_| ())
}

/// Adds a key if its ring has none in that state; returns whether it did.
pub(super) async fn insert(store: &Store, key: &NewKey, state: KeyState) -> Result<bool, StoreError> {
    let public =
        serde_json::to_value(&key.public).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    let rows = store
        .write(
            "keys.insert",
            "INSERT INTO signing_key (kid, algorithm, state, origin, public_jwk, sealed, activated_at)
             VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $3 = 'active' THEN now() END)
             ON CONFLICT DO NOTHING RETURNING kid",
            &[
                &key.public.kid,
                &key.public.alg.as_str(),
                &state.as_str(),
                &key.origin.as_str(),
                &public,
                &key.sealed,
            ],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// active → retiring, next → active, and a new next; each only from the state the decision saw.
pub(super) async fn rotate(store: &Store, step: &Step, new: &NewKey) -> Result<bool, StoreError> {
    let public =
        serde_json::to_value(&new.public).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    let public = &public;
    store
        .run_tx("keys.rotate", |tx| async move {
            let replaced = tx
                .execute(
                    "UPDATE signing_key SET state = 'retiring', replaced_at = now()
                     WHERE kid = $1 AND state = 'active'",
                    &[&step.active],
                )
                .await?;
            if replaced == 0 {
                return Ok(false);
            }
            let activated = tx
                .execute(
                    "UPDATE signing_key SET state = 'active', activated_at = now()
                     WHERE kid = $1 AND state = 'next'",
                    &[&step.next],
                )
                .await?;
            if activated == 0 {
                return Err(StoreError::Inconsistent(
                    "the next key left while its ring was being rotated".into(),
                ));
            }
            tx.execute(
                "INSERT INTO signing_key (kid, algorithm, state, origin, public_jwk, sealed)
                 VALUES ($1, $2, 'next', $3, $4, $5)",
                &[&new.public.kid, &new.public.alg.as_str(), &new.origin.as_str(), public, &new.sealed],
            )
            .await?;
            Ok(true)
        })
        .await
}

/// Erases the private key with the change of state, in one statement.
pub(super) async fn retire(store: &Store, kid: &str, after_seconds: u32) -> Result<bool, StoreError> {
    let rows = store
        .write(
            "keys.retire",
            "UPDATE signing_key SET state = 'retired', retired_at = now(), sealed = NULL
             WHERE kid = $1 AND state = 'retiring'
               AND replaced_at + make_interval(secs => $2) <= now()
             RETURNING kid",
            &[&kid, &f64::from(after_seconds)],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Deletes the keys of `--dev`, when a database moves from trial to production.
pub async fn erase_dev_keys(store: &Store) -> Result<u64, StoreError> {
    let rows = store
        .write("keys.erase_dev", "DELETE FROM signing_key WHERE origin = 'dev' RETURNING kid", &[])
        .await?;
    Ok(rows.len() as u64)
}
