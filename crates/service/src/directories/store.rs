use porteiro_protocol::id::{
    AccountId, ConnectionId, DirectoryIdentityId, MembershipId, OrganizationId, SessionId,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{Identity, Linked, Vouched};
use crate::store::{Decode, Reader, RowError, Store, StoreError, Tx};

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
            epoch: identity.get("epoch")?,
        })
    }
}

/// Identities of enabled connections, with their members. `WHERE` continues.
const IDENTITIES: &str =
    "SELECT i.identity_id, i.organization_id, i.connection_id, i.membership_id, m.account_id,
        m.state, m.display_name, c.epoch
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

/// The identity that a proof names, while it counts: its connection is in the epoch in which it vouched, and a member
/// has it.
pub async fn standing(
    reader: &impl Reader,
    organization: OrganizationId,
    id: DirectoryIdentityId,
    epoch: i64,
) -> Result<Option<Identity>, StoreError> {
    let sql = format!("{IDENTITIES} AND i.identity_id = $2 AND c.epoch = $3");
    let rows = reader.rows("directories.standing", &sql, &[&organization.uuid(), &id.uuid(), &epoch]).await?;
    rows.first().map(Identity::try_from).transpose().map_err(Into::into)
}

/// The organization whose connections addresses at a domain lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discovered {
    pub organization: OrganizationId,
    /// Everybody who types such an address is led there. Otherwise only a person who reads its mail is.
    pub publicly: bool,
}

/// The organization that has verified the domain, if people can sign in by its connections.
pub async fn discover(reader: &impl Reader, domain: &str) -> Result<Option<Discovered>, StoreError> {
    let rows = reader
        .rows(
            "directories.discover",
            "SELECT d.organization_id, coalesce(o.policy->>'discovery' = 'public', false) AS publicly
             FROM organization_domain d JOIN organization o USING (organization_id)
             WHERE d.name = $1 AND d.state = 'verified' AND o.status = 'enabled'
               AND EXISTS (SELECT 1 FROM organization_connection c
                           WHERE c.organization_id = d.organization_id AND c.enabled)",
            &[&domain],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let (row, id) = Decode::keyed::<Uuid>("organization_domain", "organization_id", row)?;
    Ok(Some(Discovered { organization: id.into(), publicly: row.get("publicly")? }))
}

/// The identities of a connection after one of them, in the order of their ids, with the account of the member.
pub(super) async fn after(
    tx: &Tx,
    organization: OrganizationId,
    connection: ConnectionId,
    last: Uuid,
    most: i64,
) -> Result<Vec<(DirectoryIdentityId, AccountId)>, StoreError> {
    let rows = tx
        .query(
            "SELECT i.identity_id, m.account_id FROM directory_identity i
             JOIN membership m USING (organization_id, membership_id)
             WHERE i.organization_id = $1 AND i.connection_id = $2 AND i.identity_id > $3
               AND m.account_id IS NOT NULL
             ORDER BY i.identity_id LIMIT $4",
            &[&organization.uuid(), &connection.uuid(), &last, &most],
        )
        .await?;
    rows.iter()
        .map(|row| {
            let (identity, id) = Decode::keyed::<Uuid>("directory_identity", "identity_id", row)?;
            Ok((id.into(), identity.get::<Uuid>("account_id")?.into()))
        })
        .collect()
}

impl TryFrom<&Row> for Linked {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (identity, id) = Decode::keyed::<Uuid>("directory_identity", "identity_id", row)?;
        Ok(Self {
            id: id.into(),
            organization: identity.get::<Uuid>("organization_id")?.into(),
            membership: identity.get::<Uuid>("membership_id")?.into(),
            account: identity.get::<Uuid>("account_id")?.into(),
            connection: identity.get::<Uuid>("connection_id")?.into(),
            connection_name: identity.get("name")?,
            issuer: identity.get("issuer")?,
            subject: identity.get("subject")?,
            created_at: identity.get("created_at")?,
        })
    }
}

/// `WHERE` continues.
const LINKED: &str =
    "SELECT i.identity_id, i.organization_id, i.membership_id, m.account_id, i.connection_id, c.name, c.issuer, i.subject,
        i.created_at
     FROM membership m
     JOIN directory_identity i USING (organization_id, membership_id)
     JOIN organization_connection c USING (organization_id, connection_id)
     WHERE m.account_id IS NOT NULL";

/// The identities of a member, the oldest first.
pub async fn list_of_member(
    reader: &impl Reader,
    organization: OrganizationId,
    member: MembershipId,
) -> Result<Vec<Linked>, StoreError> {
    let sql = format!(
        "{LINKED} AND m.organization_id = $1 AND m.membership_id = $2 ORDER BY i.created_at, i.identity_id"
    );
    let rows =
        reader.rows("directories.list_of_member", &sql, &[&organization.uuid(), &member.uuid()]).await?;
    rows.iter().map(|row| Linked::try_from(row).map_err(Into::into)).collect()
}

/// The identities of a person in all organizations, the oldest first.
pub async fn list_of_account(reader: &impl Reader, account: AccountId) -> Result<Vec<Linked>, StoreError> {
    let sql = format!("{LINKED} AND m.account_id = $1 ORDER BY i.created_at, i.identity_id");
    let rows = reader.rows("directories.list_of_account", &sql, &[&account.uuid()]).await?;
    rows.iter().map(|row| Linked::try_from(row).map_err(Into::into)).collect()
}

/// `false` if the member does not have it.
pub(super) async fn delete(
    tx: &Tx,
    organization: OrganizationId,
    id: DirectoryIdentityId,
    member: MembershipId,
) -> Result<bool, StoreError> {
    let deleted = tx
        .execute(
            "DELETE FROM directory_identity WHERE organization_id = $1 AND identity_id = $2 AND membership_id = $3",
            &[&organization.uuid(), &id.uuid(), &member.uuid()],
        )
        .await?;
    Ok(deleted == 1)
}

/// Remembers that a session rests on one of the directory.
pub(super) async fn remember(
    tx: &Tx,
    vouched: &Vouched,
    session: SessionId,
    sid_hash: &[u8; 32],
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO directory_session (organization_id, sid_hash, session_id, connection_id, identity_id, account_id)
         SELECT $1, $2, $3, connection_id, identity_id, $5 FROM directory_identity
         WHERE organization_id = $1 AND identity_id = $4
         ON CONFLICT DO NOTHING",
        &[
            &vouched.organization.uuid(),
            &sid_hash.as_slice(),
            &session.uuid(),
            &vouched.identity.uuid(),
            &vouched.account.uuid(),
        ],
    )
    .await
    .map(|_| ())
}

/// Of a subject.
const BY_SUBJECT: &str = "SELECT i.identity_id, m.account_id FROM directory_identity i
    JOIN membership m USING (organization_id, membership_id)
    WHERE i.organization_id = $1 AND i.connection_id = $2 AND i.subject = $3 AND m.account_id IS NOT NULL";
/// Of a session there, and of a subject if one is named.
const BY_SESSION: &str = "SELECT DISTINCT i.identity_id, m.account_id FROM directory_session s
    JOIN directory_identity i USING (organization_id, identity_id)
    JOIN membership m USING (organization_id, membership_id)
    WHERE s.organization_id = $1 AND s.connection_id = $2 AND s.sid_hash = $4
      AND ($3::text IS NULL OR i.subject = $3) AND m.account_id IS NOT NULL";

/// The identities of a subject, of a session there, or of both together. They are few.
pub(super) async fn signed_in(
    tx: &Tx,
    organization: OrganizationId,
    connection: ConnectionId,
    subject: Option<&str>,
    sid_hash: Option<&[u8; 32]>,
) -> Result<Vec<(DirectoryIdentityId, AccountId)>, StoreError> {
    let rows = match sid_hash {
        None => tx.query(BY_SUBJECT, &[&organization.uuid(), &connection.uuid(), &subject]).await?,
        Some(hash) => {
            let hash = hash.as_slice();
            tx.query(BY_SESSION, &[&organization.uuid(), &connection.uuid(), &subject, &hash]).await?
        }
    };
    rows.iter()
        .map(|row| {
            let (identity, id) = Decode::keyed::<Uuid>("directory_identity", "identity_id", row)?;
            Ok((id.into(), identity.get::<Uuid>("account_id")?.into()))
        })
        .collect()
}

/// Our sessions that began in a session there.
pub(super) async fn sessions_there(
    tx: &Tx,
    organization: OrganizationId,
    identity: DirectoryIdentityId,
    sid_hash: &[u8; 32],
) -> Result<Vec<SessionId>, StoreError> {
    let rows = tx
        .query(
            "SELECT session_id FROM directory_session
             WHERE organization_id = $1 AND sid_hash = $2 AND identity_id = $3",
            &[&organization.uuid(), &sid_hash.as_slice(), &identity.uuid()],
        )
        .await?;
    let read = |row| Ok(Decode::keyed::<Uuid>("directory_session", "session_id", row)?.1.into());
    rows.iter().map(read).collect()
}

/// Sessions last thirty days.
pub(super) async fn sweep(store: &Store) -> Result<u64, StoreError> {
    store
        .sweep(
            "directory_sessions.sweep",
            "DELETE FROM directory_session WHERE (organization_id, sid_hash, session_id) IN (
                 SELECT organization_id, sid_hash, session_id FROM directory_session
                 WHERE created_at < now() - interval '31 days' LIMIT $1)
             RETURNING 1 AS swept",
        )
        .await
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
