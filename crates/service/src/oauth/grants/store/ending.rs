//! What ends grants. Whoever ends what a grant hangs on calls one of these in the same transaction.

use porteiro_protocol::id::{AccountId, CredentialId, SessionId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::{GrantId, Why};
use crate::store::{Decode, StoreError, Tx};

/// A grant that just ended.
#[derive(Debug)]
pub struct Revoked {
    pub grant: GrantId,
    pub client_id: String,
}

fn revoked(rows: &[Row]) -> Result<Vec<Revoked>, StoreError> {
    let read = |row| {
        let (grant, id) = Decode::keyed::<Uuid>("oauth_grant", "grant_id", row)?;
        Ok(Revoked { grant: id.into(), client_id: grant.get("client_id")? })
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
            "UPDATE oauth_grant SET revoked_at = now(), revoke_reason = $4
             WHERE grant_id = $1 AND account_id = $2 AND client_id = $3 AND revoked_at IS NULL
             RETURNING grant_id, client_id",
            &[&grant, &account, &client_id, &why.as_str()],
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
        .query(
            "UPDATE oauth_grant SET revoked_at = now(), revoke_reason = $3
             WHERE account_id = $1 AND client_id = $2 AND revoked_at IS NULL
             RETURNING grant_id, client_id",
            &[&account.uuid(), &client_id, &why.as_str()],
        )
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
            "UPDATE oauth_grant SET revoked_at = now(), revoke_reason = $4
             WHERE account_id = $1 AND terms->'credentials' ? $2 AND session_id IS DISTINCT FROM $3
               AND revoked_at IS NULL
             RETURNING grant_id, client_id",
            &[
                &account.uuid(),
                &credential.to_string(),
                &keep.map(porteiro_protocol::id::Id::uuid),
                &why.as_str(),
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
            "UPDATE oauth_grant SET revoked_at = now(), revoke_reason = $4
             WHERE account_id = $1 AND session_id = $2 AND (NOT offline OR $3) AND revoked_at IS NULL
             RETURNING grant_id, client_id",
            &[&account.uuid(), &session.uuid(), &offline_too, &why.as_str()],
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
    let rows = tx
        .query(
            "UPDATE oauth_grant SET revoked_at = now(), revoke_reason = $2
             WHERE account_id = $1 AND revoked_at IS NULL RETURNING grant_id, client_id",
            &[&account.uuid(), &why.as_str()],
        )
        .await?;
    revoked(&rows)
}
