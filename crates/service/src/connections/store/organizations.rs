//! Connections of organizations.

use porteiro_protocol::id::{ConnectionId, OrganizationId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{
    super::{Connection, Definition, Entry, MOST, Offered, Owner},
    COLUMNS,
};
use crate::store::{Decode, Reader, RowError, StoreError, Tx};

fn read(row: &Row) -> Result<Connection, RowError> {
    let (connection, organization) =
        Decode::keyed::<Uuid>("organization_connection", "organization_id", row)?;
    let entry = Entry {
        subject_claim: connection.get("subject_claim")?,
        jit_role: connection.get("jit_role")?,
        authoritative: connection.get("authoritative")?,
        match_provisioned: connection.get("match_provisioned")?,
    };
    let epoch = connection.get("epoch")?;
    Ok(Connection { epoch, ..Connection::read(row, Owner::Organization(organization.into(), entry))? })
}

const ENTRY: &str = "organization_id, subject_claim, jit_role, authoritative, match_provisioned, epoch";

/// All connections of an organization, by name. They are few.
pub async fn list(reader: &impl Reader, organization: OrganizationId) -> Result<Vec<Connection>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, {ENTRY} FROM organization_connection WHERE organization_id = $1
         ORDER BY name, connection_id"
    );
    let rows = reader.rows("connections.list_of_organization", &sql, &[&organization.uuid()]).await?;
    rows.iter().map(|row| read(row).map_err(StoreError::from)).collect()
}

pub async fn find(
    reader: &impl Reader,
    organization: OrganizationId,
    id: ConnectionId,
) -> Result<Option<Connection>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, {ENTRY} FROM organization_connection WHERE organization_id = $1 AND connection_id = $2"
    );
    let rows =
        reader.rows("connections.find_of_organization", &sql, &[&organization.uuid(), &id.uuid()]).await?;
    rows.first().map(read).transpose().map_err(Into::into)
}

/// The ways into an organization for somebody who is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ways {
    /// All methods, and its connections.
    Any,
    /// The connection that it requires (docs/decisions/0132).
    Connection,
    /// That, or the passkey of the one owner who may use it instead.
    ConnectionOrPasskey,
}

/// The connections by which members sign in; none while the organization is suspended. If it requires one, no other is
/// offered.
pub async fn offered(
    reader: &impl Reader,
    organization: OrganizationId,
) -> Result<(Ways, Vec<Offered>), StoreError> {
    let rows = reader
        .rows(
            "connections.offered_by_organization",
            "SELECT c.connection_id, c.name, o.policy->>'require_connection' IS NOT NULL AS required,
                    o.policy->>'break_glass' IS NOT NULL AS break_glass
             FROM organization_connection c JOIN organization o USING (organization_id)
             WHERE organization_id = $1 AND c.enabled AND o.status = 'enabled'
               AND coalesce(o.policy->>'require_connection', c.connection_id::text) = c.connection_id::text
             ORDER BY c.name, c.connection_id",
            &[&organization.uuid()],
        )
        .await?;
    let mut offered = Vec::new();
    let mut ways = Ways::Any;
    for row in &rows {
        let (row, id) = Decode::keyed::<Uuid>("organization_connection", "connection_id", row)?;
        offered.push(Offered { id: id.into(), name: row.get("name")? });
        ways = match (row.get("required")?, row.get("break_glass")?) {
            (false, _) => Ways::Any,
            (true, false) => Ways::Connection,
            (true, true) => Ways::ConnectionOrPasskey,
        };
    }
    Ok((ways, offered))
}

/// Whether another connection of the organization has this name. The caller holds the organization's lock.
pub async fn is_taken(
    tx: &Tx,
    organization: OrganizationId,
    name: &str,
    except: ConnectionId,
) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT 1 FROM organization_connection
             WHERE organization_id = $1 AND lower(name) = lower($2) AND connection_id <> $3",
            &[&organization.uuid(), &name, &except.uuid()],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// `false` if there is no room for another one. The caller holds the organization's lock.
pub async fn insert(
    tx: &Tx,
    organization: OrganizationId,
    id: ConnectionId,
    definition: &Definition,
    entry: &Entry,
    sealed_secret: Option<&[u8]>,
) -> Result<bool, StoreError> {
    let inserted = tx
        .execute(
            "INSERT INTO organization_connection (organization_id, connection_id, name, issuer, client_id,
                    client_authentication, client_secret, algorithm, enabled, subject_claim, jit_role, authoritative,
                    match_provisioned)
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13
             WHERE (SELECT count(*) FROM organization_connection WHERE organization_id = $1) < $14",
            &[
                &organization.uuid(),
                &id.uuid(),
                &definition.name,
                &definition.issuer,
                &definition.client_id,
                &definition.client_authentication.as_str(),
                &sealed_secret,
                &definition.algorithm.as_str(),
                &definition.enabled,
                &entry.subject_claim,
                &entry.jit_role,
                &entry.authoritative,
                &entry.match_provisioned,
                &MOST,
            ],
        )
        .await?;
    Ok(inserted == 1)
}

/// As [`super::replace`]. Disabling it ends its epoch.
pub async fn replace(
    tx: &Tx,
    organization: OrganizationId,
    id: ConnectionId,
    definition: &Definition,
    entry: &Entry,
    sealed_secret: Option<&[u8]>,
    seen: i64,
) -> Result<bool, StoreError> {
    let replaced = tx
        .execute(
            "UPDATE organization_connection SET name = $3, client_id = $4, client_authentication = $5, algorithm = $7,
                    client_secret = CASE WHEN $5 = 'private_key_jwt' THEN NULL ELSE coalesce($6, client_secret) END,
                    enabled = $8, epoch = epoch + (enabled AND NOT $8)::int, subject_claim = $9, jit_role = $10,
                    authoritative = $11, match_provisioned = $12, version = version + 1
             WHERE organization_id = $1 AND connection_id = $2 AND version = $13 AND issuer = $14",
            &[
                &organization.uuid(),
                &id.uuid(),
                &definition.name,
                &definition.client_id,
                &definition.client_authentication.as_str(),
                &sealed_secret,
                &definition.algorithm.as_str(),
                &definition.enabled,
                &entry.subject_claim,
                &entry.jit_role,
                &entry.authoritative,
                &entry.match_provisioned,
                &seen,
                &definition.issuer,
            ],
        )
        .await?;
    Ok(replaced == 1)
}

/// Deletes a connection with which no identity is linked; `false` if one is.
pub async fn delete(tx: &Tx, organization: OrganizationId, id: ConnectionId) -> Result<bool, StoreError> {
    let deleted = tx
        .execute(
            "DELETE FROM organization_connection c WHERE organization_id = $1 AND connection_id = $2
               AND NOT EXISTS (SELECT 1 FROM directory_identity i WHERE i.organization_id = c.organization_id
                               AND i.connection_id = c.connection_id)",
            &[&organization.uuid(), &id.uuid()],
        )
        .await?;
    Ok(deleted == 1)
}
