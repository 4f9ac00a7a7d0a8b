//! Connections in the database: those of the deployment, and those of organizations ([`organizations`]).

pub mod organizations;

use porteiro_protocol::id::ConnectionId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{Connection, Definition, Owner};
use crate::store::{Decode, Reader, RowError, StoreError, Tx};

const COLUMNS: &str = "connection_id, name, issuer, client_id, client_authentication, client_secret, algorithm, enabled, version";

impl Connection {
    fn read(row: &Row, owner: Owner) -> Result<Self, RowError> {
        let (connection, id) = Decode::keyed::<Uuid>("connection", "connection_id", row)?;
        Ok(Self {
            id: id.into(),
            owner,
            name: connection.get("name")?,
            issuer: connection.get("issuer")?,
            client_id: connection.get("client_id")?,
            client_authentication: connection.parsed("client_authentication")?,
            sealed_secret: connection.get("client_secret")?,
            algorithm: connection.parsed("algorithm")?,
            enabled: connection.get("enabled")?,
            epoch: 0,
            version: connection.get("version")?,
        })
    }
}

/// All connections of the deployment, by name.
pub async fn list(reader: &impl Reader) -> Result<Vec<Connection>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM connection ORDER BY name, connection_id");
    let rows = reader.rows("connections.list", &sql, &[]).await?;
    let read = |row| Connection::read(row, Owner::Deployment).map_err(StoreError::from);
    rows.iter().map(read).collect()
}

pub async fn find(reader: &impl Reader, id: ConnectionId) -> Result<Option<Connection>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM connection WHERE connection_id = $1");
    let rows = reader.rows("connections.find", &sql, &[&id.uuid()]).await?;
    let read = |row| Connection::read(row, Owner::Deployment);
    rows.first().map(read).transpose().map_err(Into::into)
}

pub async fn insert(
    tx: &Tx,
    id: ConnectionId,
    definition: &Definition,
    sealed_secret: Option<&[u8]>,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO connection (connection_id, name, issuer, client_id, client_authentication, client_secret,
                algorithm, enabled)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            &id.uuid(),
            &definition.name,
            &definition.issuer,
            &definition.client_id,
            &definition.client_authentication.as_str(),
            &sealed_secret,
            &definition.algorithm.as_str(),
            &definition.enabled,
        ],
    )
    .await
    .map(|_| ())
}

/// Replaces everything but the issuer, in the version that the caller has seen. Without a new secret the old one stays,
/// where the method needs one. `false` if the version is another one.
pub async fn replace(
    tx: &Tx,
    id: ConnectionId,
    definition: &Definition,
    sealed_secret: Option<&[u8]>,
    seen: i64,
) -> Result<bool, StoreError> {
    let replaced = tx
        .execute(
            "UPDATE connection SET name = $2, client_id = $3, client_authentication = $4, algorithm = $6, enabled = $7,
                    client_secret = CASE WHEN $4 = 'private_key_jwt' THEN NULL ELSE coalesce($5, client_secret) END,
                    version = version + 1
             WHERE connection_id = $1 AND version = $8 AND issuer = $9",
            &[
                &id.uuid(),
                &definition.name,
                &definition.client_id,
                &definition.client_authentication.as_str(),
                &sealed_secret,
                &definition.algorithm.as_str(),
                &definition.enabled,
                &seen,
                &definition.issuer,
            ],
        )
        .await?;
    Ok(replaced == 1)
}
