//! What ends grants. Whoever ends what a grant hangs on calls one of these in the same transaction.

use porteiro_protocol::id::{AccountId, CredentialId, MembershipId, OrganizationId, SessionId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::{GrantId, Why};
use crate::store::{Decode, StoreError, Tx};

/// A grant that just ended.
#[derive(Debug)]
pub struct Revoked {
    pub grant: GrantId,
    pub account: AccountId,
    pub client_id: String,
    pub session: SessionId,
    /// As its client knew the person.
    pub subject: Uuid,
}

/// What [`Revoked`] is read from.
macro_rules! ending {
    ($condition:literal) => {
        concat!(
            "UPDATE oauth_grant SET revoked_at = now(), revoke_reason = $1 WHERE revoked_at IS NULL AND ",
            $condition,
            " RETURNING grant_id, account_id, client_id, session_id,
                coalesce(membership_id, account_id) AS subject"
        )
    };
}

fn revoked(rows: &[Row]) -> Result<Vec<Revoked>, StoreError> {
    let read = |row| {
        let (grant, id) = Decode::keyed::<Uuid>("oauth_grant", "grant_id", row)?;
        Ok(Revoked {
            grant: id.into(),
            account: grant.get::<Uuid>("account_id")?.into(),
            client_id: grant.get("client_id")?,
            session: grant.get::<Uuid>("session_id")?.into(),
            subject: grant.get("subject")?,
        })
    };
    rows.iter().map(read).collect()
}

/// One grant, by its client (RFC 7009). Unknown, foreign and already revoked look the same.
pub async fn revoke_one(
    tx: &Tx,
    grant: Uuid,
    account: Uuid,
    client_id: &str,
    why: Why,
) -> Result<Vec<Revoked>, StoreError> {
    let rows = tx
        .query(
            ending!("grant_id = $2 AND account_id = $3 AND client_id = $4"),
            &[&why.as_str(), &grant, &account, &client_id],
        )
        .await?;
    revoked(&rows)
}

/// Everything a person allowed one client.
pub async fn revoke_of_client(
    tx: &Tx,
    account: AccountId,
    client_id: &str,
    why: Why,
) -> Result<Vec<Revoked>, StoreError> {
    let rows = tx
        .query(ending!("account_id = $2 AND client_id = $3"), &[&why.as_str(), &account.uuid(), &client_id])
        .await?;
    revoked(&rows)
}

/// What was proved with a credential that is gone, except what was begun where its owner changed it.
pub async fn revoke_of_credential(
    tx: &Tx,
    account: AccountId,
    credential: CredentialId,
    keep: Option<SessionId>,
    why: Why,
) -> Result<Vec<Revoked>, StoreError> {
    let rows = tx
        .query(
            ending!("account_id = $2 AND terms->'credentials' ? $3 AND session_id IS DISTINCT FROM $4"),
            &[
                &why.as_str(),
                &account.uuid(),
                &credential.to_string(),
                &keep.map(porteiro_protocol::id::Id::uuid),
            ],
        )
        .await?;
    revoked(&rows)
}

/// What hangs on a session: what does not outlive it, or everything begun in it.
pub async fn revoke_of_session(
    tx: &Tx,
    account: AccountId,
    session: SessionId,
    offline_too: bool,
    why: Why,
) -> Result<Vec<Revoked>, StoreError> {
    let rows = tx
        .query(
            ending!("account_id = $2 AND session_id = $3 AND (NOT offline OR $4)"),
            &[&why.as_str(), &account.uuid(), &session.uuid(), &offline_too],
        )
        .await?;
    revoked(&rows)
}

/// Which clients have a part in a session, and whom each knows there: the person, or what they are in an organization.
pub async fn clients_of_session(
    tx: &Tx,
    account: AccountId,
    session: SessionId,
) -> Result<Vec<(String, Uuid)>, StoreError> {
    let rows = tx
        .query(
            "SELECT DISTINCT client_id, coalesce(membership_id, account_id) AS subject FROM oauth_grant
             WHERE account_id = $1 AND session_id = $2 AND generation > 0",
            &[&account.uuid(), &session.uuid()],
        )
        .await?;
    let read = |row| {
        let grant = Decode::new("oauth_grant", session, row);
        Ok((grant.get("client_id")?, grant.get("subject")?))
    };
    rows.iter().map(read).collect()
}

/// Everything a person allowed anybody.
pub async fn revoke_all(tx: &Tx, account: AccountId, why: Why) -> Result<Vec<Revoked>, StoreError> {
    let rows = tx.query(ending!("account_id = $2"), &[&why.as_str(), &account.uuid()]).await?;
    revoked(&rows)
}

/// What somebody allowed as a member of an organization: to one client, or to all.
pub async fn revoke_of_membership(
    tx: &Tx,
    account: AccountId,
    organization: OrganizationId,
    membership: MembershipId,
    client_id: Option<&str>,
    why: Why,
) -> Result<Vec<Revoked>, StoreError> {
    let rows = tx
        .query(
            ending!(
                "account_id = $2 AND organization_id = $3 AND membership_id = $4
                 AND ($5::text IS NULL OR client_id = $5)"
            ),
            &[&why.as_str(), &account.uuid(), &organization.uuid(), &membership.uuid(), &client_id],
        )
        .await?;
    revoked(&rows)
}

/// What the members of an organization allowed a client, so many at a time: again until none is left.
pub async fn revoke_of_client_in_organization(
    tx: &Tx,
    organization: OrganizationId,
    client_id: &str,
    most: i64,
    why: Why,
) -> Result<Vec<Revoked>, StoreError> {
    let rows = tx
        .query(
            ending!(
                "(grant_id, account_id) IN (
                     SELECT grant_id, account_id FROM oauth_grant
                     WHERE organization_id = $2 AND client_id = $3 AND revoked_at IS NULL LIMIT $4)"
            ),
            &[&why.as_str(), &organization.uuid(), &client_id, &most],
        )
        .await?;
    revoked(&rows)
}
