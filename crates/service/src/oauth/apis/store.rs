use porteiro_protocol::time::OffsetDateTime;
use tokio_postgres::Row;

use super::{Api, Apis};
use crate::store::{Decode, Reader, RowError, Store, StoreError, Tx};

impl TryFrom<&Row> for Api {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (api, identifier) = Decode::keyed::<String>("api", "identifier", row)?;
        Ok(Self {
            identifier,
            name: api.get("name")?,
            resources: api.get("resources")?,
            scopes: api.json("scopes")?,
            details: api.json("details")?,
            introspected_by: api.get("introspected_by")?,
            organizational: api.get("organizational")?,
            exchanges: api.json("exchanges")?,
            token_seconds: api.get("token_seconds")?,
            algorithm: api.parsed("algorithm")?,
        })
    }
}

pub async fn list(reader: &impl Reader) -> Result<Vec<Api>, StoreError> {
    Ok(list_dated(reader).await?.into_iter().map(|(api, _)| api).collect())
}

/// Every API, with their common version.
pub async fn all(reader: &impl Reader) -> Result<Apis, StoreError> {
    list_dated(reader).await.map(Apis::new)
}

/// Every API, each with the time of its last change.
pub async fn list_dated(reader: &impl Reader) -> Result<Vec<(Api, OffsetDateTime)>, StoreError> {
    let rows = reader
        .rows(
            "apis.list",
            "SELECT identifier, name, resources, scopes, details, introspected_by, organizational, exchanges, token_seconds,
                    algorithm, changed_at
             FROM api ORDER BY identifier",
            &[],
        )
        .await?;
    let dated = |row: &Row| -> Result<_, RowError> {
        let api = Api::try_from(row)?;
        let changed_at = Decode::new("api", &api.identifier, row).get("changed_at")?;
        Ok((api, changed_at))
    };
    rows.iter().map(|row| dated(row).map_err(StoreError::from)).collect()
}

const REGISTER: &str =
    "INSERT INTO api (identifier, name, scopes, token_seconds, algorithm, details, introspected_by,
            organizational, exchanges, resources)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (identifier) DO UPDATE SET name = excluded.name, scopes = excluded.scopes,
         details = excluded.details, introspected_by = excluded.introspected_by,
         organizational = excluded.organizational, exchanges = excluded.exchanges,
         resources = excluded.resources,
         token_seconds = excluded.token_seconds, algorithm = excluded.algorithm,
         changed_at = greatest(clock_timestamp(), api.changed_at + interval '1 microsecond')";

/// Registers an API or replaces its definition.
pub async fn register(store: &Store, api: &Api) -> Result<(), StoreError> {
    store.run_tx("apis.register", |tx| async move { register_in(&tx, api).await }).await
}

pub async fn register_in(tx: &Tx, api: &Api) -> Result<(), StoreError> {
    let inconsistent = |error: serde_json::Error| StoreError::Inconsistent(error.to_string());
    let scopes = serde_json::to_value(&api.scopes).map_err(inconsistent)?;
    let details = serde_json::to_value(&api.details).map_err(inconsistent)?;
    let exchanges = serde_json::to_value(&api.exchanges).map_err(inconsistent)?;
    tx.execute(
        REGISTER,
        &[
            &api.identifier,
            &api.name,
            &scopes,
            &api.token_seconds,
            &api.algorithm.as_str(),
            &details,
            &api.introspected_by,
            &api.organizational,
            &exchanges,
            &api.resources,
        ],
    )
    .await
    .map(|_| ())
}

/// Locks the API against concurrent changes; returns the time of its last change.
pub async fn lock(tx: &Tx, identifier: &str) -> Result<Option<OffsetDateTime>, StoreError> {
    let rows =
        tx.query("SELECT changed_at FROM api WHERE identifier = $1 FOR UPDATE", &[&identifier]).await?;
    let read = |row| Decode::new("api", identifier, row).get("changed_at");
    Ok(rows.first().map(read).transpose()?)
}

/// Removes an API. What was delegated for it ends, so that nobody who registers the identifier again inherits it.
pub async fn remove_in(tx: &Tx, identifier: &str) -> Result<bool, StoreError> {
    let removed = tx.execute("DELETE FROM api WHERE identifier = $1", &[&identifier]).await?;
    tx.execute(
        "UPDATE delegation SET revoked_at = now(), revoke_reason = 'api_removed'
         WHERE audience = $1 AND revoked_at IS NULL AND expires_at > now()",
        &[&identifier],
    )
    .await?;
    Ok(removed == 1)
}

pub async fn remove(store: &Store, identifier: &str) -> Result<bool, StoreError> {
    store.run_tx("apis.remove", |tx| async move { remove_in(&tx, identifier).await }).await
}
