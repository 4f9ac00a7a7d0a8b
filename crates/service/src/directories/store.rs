use porteiro_protocol::id::{ConnectionId, DirectoryIdentityId, MembershipId, OrganizationId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Identity;
use crate::store::{Decode, Reader, RowError, StoreError, Tx};

impl TryFrom<&Row> for Identity {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (identity, id) = Decode::keyed::<Uuid>("directory_identity", "identity_id", row)?;
        Ok(Self {
            id: id.into(),
            organization: identity.get::<Uuid>("organization_id")?.into(),
            connection: identity.get::<Uuid>("connection_id")?.into(),
            membership: identity.get::<Uuid>("membership_id")?.into(),
            account: identity.get::<Uuid>("account_id")?.into(),
            state: identity.parsed("state")?,
            display_name: identity.get("display_name")?,
        })
    }
}

/// Identities of enabled connections, with their members. `WHERE` continues.
const IDENTITIES: &str =
    "SELECT i.identity_id, i.organization_id, i.connection_id, i.membership_id, m.account_id,
        m.state, m.display_name
     FROM directory_identity i
     JOIN organization_connection c USING (organization_id, connection_id)
     JOIN membership m USING (organization_id, membership_id)
     WHERE c.enabled AND m.account_id IS NOT NULL AND i.organization_id = $1";

/// The identity of a subject, if a member has it.
pub async fn find(
    reader: &impl Reader,
    organization: OrganizationId,
    connection: ConnectionId,
    subject: &str,
) -> Result<Option<Identity>, StoreError> {
    let sql = format!("{IDENTITIES} AND i.connection_id = $2 AND i.subject = $3");
    let rows =
        reader.rows("directories.find", &sql, &[&organization.uuid(), &connection.uuid(), &subject]).await?;
    rows.first().map(Identity::try_from).transpose().map_err(Into::into)
}

/// The identity that a proof names, while it counts: its connection is enabled, and a member has it.
pub async fn standing(
    reader: &impl Reader,
    organization: OrganizationId,
    id: DirectoryIdentityId,
) -> Result<Option<Identity>, StoreError> {
    let sql = format!("{IDENTITIES} AND i.identity_id = $2");
    let rows = reader.rows("directories.standing", &sql, &[&organization.uuid(), &id.uuid()]).await?;
    rows.first().map(Identity::try_from).transpose().map_err(Into::into)
}

/// Unlinks all identities of a member.
pub async fn unlink(tx: &Tx, organization: OrganizationId, member: MembershipId) -> Result<u64, StoreError> {
    tx.execute(
        "DELETE FROM directory_identity WHERE organization_id = $1 AND membership_id = $2",
        &[&organization.uuid(), &member.uuid()],
    )
    .await
}

/// `false` if the identity is somebody's already.
pub(super) async fn link(
    tx: &Tx,
    organization: OrganizationId,
    id: DirectoryIdentityId,
    connection: ConnectionId,
    subject: &str,
    membership: MembershipId,
) -> Result<bool, StoreError> {
    let linked = tx
        .execute(
            "INSERT INTO directory_identity (organization_id, identity_id, connection_id, subject, membership_id)
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            &[&organization.uuid(), &id.uuid(), &connection.uuid(), &subject, &membership.uuid()],
        )
        .await?;
    Ok(linked == 1)
}
