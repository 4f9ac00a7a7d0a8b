//! Revokes grants that ended together, a bounded number at a time.

use std::sync::LazyLock;

use porteiro_protocol::id::{AccountId, SessionId};
use uuid::Uuid;

use super::{
    super::Why,
    ending::{EndingId, Owner, Revoked, revoked},
    living::meant,
};
use crate::store::{Decode, StoreError, Tx};

/// How many grants one batch reads, whether they end or not.
pub const BATCH: usize = 1_000;

/// One batch.
#[derive(Debug)]
pub struct Step {
    pub revoked: Vec<Revoked>,
    /// Those whose clients are notified.
    pub told: Vec<Revoked>,
    /// Where the next batch begins; `None`: all are done.
    pub reached: Option<Uuid>,
}

/// The stored context of an ending, for continuing it.
#[derive(Debug)]
pub struct Begun {
    pub why: Why,
    pub request_id: Uuid,
    pub address: std::net::IpAddr,
    pub user_agent: String,
}

/// Locks the ending until the transaction ends: two runners must not do the same batch. `None`: it is done.
pub async fn lock_ending(tx: &Tx, owner: Owner, id: EndingId) -> Result<Option<Begun>, StoreError> {
    let rows = tx
        .query(
            "SELECT reason, request_id, address, user_agent FROM grant_ending
             WHERE owner_id = $1 AND ending_id = $2 FOR UPDATE",
            &[&owner.uuid(), &id.uuid()],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let row = Decode::new("grant_ending", id, row);
    Ok(Some(Begun {
        why: row.parsed("reason")?,
        request_id: row.get("request_id")?,
        address: row.get("address")?,
        user_agent: row.get("user_agent")?,
    }))
}

/// The next batch in the order of ids, newest first, since those are in use. A batch reads a bounded number, even if
/// few of them end. Clients are notified of the end of a session even if its grant was revoked before.
fn looking(of_owner: &str) -> String {
    format!(
        "SELECT g.grant_id, g.account_id, g.client_id, g.session_id, coalesce(g.membership_id, g.account_id) AS subject,
                ({meant} AND (e.offline_too OR NOT g.offline) AND g.revoked_at IS NULL AND g.expires_at > now()) IS TRUE
                    AS ends,
                (e.tells AND {meant} AND g.generation > 0 AND g.expires_at > now()
                    AND (g.revoked_at IS NULL OR e.session_ids IS NOT NULL)) IS TRUE AS told
         FROM grant_ending e CROSS JOIN LATERAL (
             SELECT * FROM oauth_grant g WHERE {of_owner} AND uuid_send(g.grant_id) < uuid_send(e.reached)
             ORDER BY uuid_send(g.grant_id) DESC LIMIT {BATCH}) g
         WHERE e.owner_id = $1 AND e.ending_id = $2
         ORDER BY g.grant_id DESC",
        meant = meant!(),
    )
}

/// The planner assumes few grants per account, and would read and sort all of them: this makes it read in the order
/// of the index, up to the size of the batch.
const IN_ORDER: &str = "SET LOCAL enable_bitmapscan = off";

static OF_ACCOUNT: LazyLock<String> = LazyLock::new(|| looking("g.account_id = e.owner_id"));
static OF_CLIENT: LazyLock<String> =
    LazyLock::new(|| looking("g.organization_id = e.owner_id AND g.client_id = e.client_id"));

/// Revokes the next batch.
pub async fn step(tx: &Tx, owner: Owner, id: EndingId, why: Why) -> Result<Step, StoreError> {
    let sql = match owner {
        Owner::Account(_) => &OF_ACCOUNT,
        Owner::Organization(_) => &OF_CLIENT,
    };
    tx.batch(IN_ORDER).await?;
    let looked = tx.query(sql, &[&owner.uuid(), &id.uuid()]).await?;
    let (mut ending, mut told) = (Vec::new(), Vec::new());
    for row in &looked {
        let (grant, _) = Decode::keyed::<Uuid>("oauth_grant", "grant_id", row)?;
        if grant.get("ends")? {
            ending.push(revoked(row)?);
        }
        if grant.get("told")? {
            told.push(revoked(row)?);
        }
    }
    let full = looked.last().filter(|_| looked.len() == BATCH);
    let reached = full.map(revoked).transpose()?.map(|last| last.grant.uuid());
    Ok(Step { revoked: revoke(tx, &ending, why).await?, told, reached })
}

async fn revoke(tx: &Tx, ending: &[Revoked], why: Why) -> Result<Vec<Revoked>, StoreError> {
    if ending.is_empty() {
        return Ok(Vec::new());
    }
    let grants: Vec<Uuid> = ending.iter().map(|one| one.grant.uuid()).collect();
    let accounts: Vec<Uuid> = ending.iter().map(|one| one.account.uuid()).collect();
    let rows = tx
        .query(
            "UPDATE oauth_grant g SET revoked_at = now(), revoke_reason = $3
             FROM unnest($1::uuid[], $2::uuid[]) AS n (grant_id, account_id)
             WHERE g.grant_id = n.grant_id AND g.account_id = n.account_id AND g.revoked_at IS NULL
             RETURNING g.grant_id, g.account_id, g.client_id, g.session_id,
                       coalesce(g.membership_id, g.account_id) AS subject",
            &[&grants, &accounts, &why.as_str()],
        )
        .await?;
    rows.iter().map(|row| revoked(row).map_err(Into::into)).collect()
}

/// Stores where the next batch begins.
pub async fn reach(tx: &Tx, owner: Owner, id: EndingId, reached: Uuid) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE grant_ending SET reached = $3 WHERE owner_id = $1 AND ending_id = $2",
        &[&owner.uuid(), &id.uuid(), &reached],
    )
    .await
    .map(|_| ())
}

/// All of them are revoked in their own rows, so the ending is deleted.
pub async fn finish_ending(tx: &Tx, owner: Owner, id: EndingId) -> Result<(), StoreError> {
    for table in ["grant_ending_told", "grant_ending"] {
        let sql = format!("DELETE FROM {table} WHERE owner_id = $1 AND ending_id = $2");
        tx.execute(&sql, &[&owner.uuid(), &id.uuid()]).await?;
    }
    Ok(())
}

/// Stores which clients are notified; returns those that were not before.
pub async fn store_notified(
    tx: &Tx,
    owner: Owner,
    id: EndingId,
    told: &[Revoked],
) -> Result<Vec<(String, Uuid, SessionId)>, StoreError> {
    if told.is_empty() {
        return Ok(Vec::new());
    }
    let clients: Vec<&str> = told.iter().map(|one| one.client_id.as_str()).collect();
    let subjects: Vec<Uuid> = told.iter().map(|one| one.subject).collect();
    let sessions: Vec<Uuid> = told.iter().map(|one| one.session.uuid()).collect();
    let rows = tx
        .query(
            "INSERT INTO grant_ending_told (owner_id, ending_id, client_id, subject_id, session_id)
             SELECT DISTINCT $1::uuid, $2::uuid, t.* FROM unnest($3::text[], $4::uuid[], $5::uuid[]) t
             ON CONFLICT DO NOTHING RETURNING client_id, subject_id, session_id",
            &[&owner.uuid(), &id.uuid(), &clients, &subjects, &sessions],
        )
        .await?;
    let read = |row| {
        let row = Decode::new("grant_ending_told", id, row);
        Ok((row.get("client_id")?, row.get("subject_id")?, row.get::<Uuid>("session_id")?.into()))
    };
    rows.iter().map(read).collect()
}

/// Whether an account has had so many grants that one statement must not touch all of them.
pub async fn are_many(tx: &Tx, account: AccountId) -> Result<bool, StoreError> {
    tx.batch(IN_ORDER).await?;
    let sql = format!("SELECT 1 FROM oauth_grant WHERE account_id = $1 LIMIT {}", BATCH + 1);
    Ok(tx.query(&sql, &[&account.uuid()]).await?.len() > BATCH)
}
