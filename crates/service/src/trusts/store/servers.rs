//! Authorization servers for which clients get assertions.

use porteiro_protocol::{
    id::{AuthorizationServerId, OrganizationId},
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::{AuthorizationServer, MOST};
use crate::store::{Decode, Reader, RowError, StoreError, Tx};

impl TryFrom<&Row> for AuthorizationServer {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (server, id) = Decode::keyed::<Uuid>("resource_authorization_server", "server_id", row)?;
        Ok(Self {
            id: id.into(),
            issuer: server.get("issuer")?,
            client_id: server.get("client_id")?,
            remote_client_id: server.get("remote_client_id")?,
            scope: server.parsed("scope")?,
            resources: server.get("resources")?,
            created_at: server.get("created_at")?,
        })
    }
}

/// The server of this issuer, as the organization registered it for a client.
pub async fn find(
    reader: &impl Reader,
    organization: OrganizationId,
    issuer: &str,
    client_id: &str,
) -> Result<Option<AuthorizationServer>, StoreError> {
    let rows = reader
        .rows(
            "trusts.find_server",
            "SELECT * FROM resource_authorization_server
             WHERE organization_id = $1 AND issuer = $2 AND client_id = $3",
            &[&organization.uuid(), &issuer, &client_id],
        )
        .await?;
    rows.first().map(AuthorizationServer::try_from).transpose().map_err(Into::into)
}

/// The oldest first, after a position in that order.
pub async fn list(
    reader: &impl Reader,
    organization: OrganizationId,
    after: Option<(OffsetDateTime, Uuid)>,
    limit: i64,
) -> Result<Vec<AuthorizationServer>, StoreError> {
    let (at, id) = after.unzip();
    let rows = reader
        .rows(
            "trusts.list_servers",
            "SELECT * FROM resource_authorization_server WHERE organization_id = $1
               AND ($2::timestamptz IS NULL OR (created_at, server_id) > ($2, $3))
             ORDER BY created_at, server_id LIMIT $4",
            &[&organization.uuid(), &at, &id, &limit],
        )
        .await?;
    rows.iter().map(AuthorizationServer::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

/// `None` where this server is registered for the client already. The caller holds the organization's lock.
pub async fn insert(
    tx: &Tx,
    organization: OrganizationId,
    new: &AuthorizationServer,
) -> Result<Option<AuthorizationServer>, StoreError> {
    let rows = tx
        .query(
            "INSERT INTO resource_authorization_server
                 (organization_id, server_id, issuer, client_id, remote_client_id, scope, resources)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING *",
            &[
                &organization.uuid(),
                &new.id.uuid(),
                &new.issuer,
                &new.client_id,
                &new.remote_client_id,
                &new.scope.to_string(),
                &new.resources,
            ],
        )
        .await?;
    rows.first().map(AuthorizationServer::try_from).transpose().map_err(Into::into)
}

/// Whether there is no room for another one.
pub async fn are_many(tx: &Tx, organization: OrganizationId) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT count(*) >= $2 AS full FROM resource_authorization_server WHERE organization_id = $1",
            &[&organization.uuid(), &MOST],
        )
        .await?;
    let full =
        rows.first().map(|row| Decode::new("resource_authorization_server", organization, row).get("full"));
    Ok(full.transpose()?.unwrap_or_default())
}

/// The row that was deleted.
pub async fn delete(
    tx: &Tx,
    organization: OrganizationId,
    id: AuthorizationServerId,
) -> Result<Option<AuthorizationServer>, StoreError> {
    let rows = tx
        .query(
            "DELETE FROM resource_authorization_server WHERE organization_id = $1 AND server_id = $2 RETURNING *",
            &[&organization.uuid(), &id.uuid()],
        )
        .await?;
    rows.first().map(AuthorizationServer::try_from).transpose().map_err(Into::into)
}
