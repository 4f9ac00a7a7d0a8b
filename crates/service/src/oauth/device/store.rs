use porteiro_protocol::{authorization_request::RawRequest, id::AccountId, time::OffsetDateTime};
use uuid::Uuid;

use super::{AskedFrom, INTERVAL, SECONDS, State};
use crate::{
    oauth::grants::GrantId,
    store::{Decode, RowError, Store, StoreError, Tx},
};

pub(super) struct New<'a> {
    pub id: Uuid,
    pub client_id: &'a str,
    pub hash: &'a [u8; 32],
    pub request: &'a RawRequest,
    pub from: &'a AskedFrom,
}

/// `false` where another pending request has that code.
pub(super) async fn insert(store: &Store, new: &New<'_>) -> Result<bool, StoreError> {
    let json = |error: serde_json::Error| StoreError::Inconsistent(error.to_string());
    let request = serde_json::to_value(new.request).map_err(json)?;
    let from = serde_json::to_value(new.from).map_err(json)?;
    let rows = store
        .write(
            "device.insert",
            "INSERT INTO device_request (request_id, client_id, secret_hash, request, asked_from, interval_seconds,
                    expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))
             ON CONFLICT (request_id) DO NOTHING RETURNING 1 AS made",
            &[
                &new.id,
                &new.client_id,
                &new.hash.as_slice(),
                &request,
                &from,
                &INTERVAL,
                &f64::from(SECONDS),
            ],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// The result of a poll.
#[derive(Debug)]
pub(super) struct Polled {
    pub state: State,
    pub expired: bool,
    pub too_soon: bool,
    pub interval_seconds: i32,
    /// The account and the id of the grant.
    pub granted: Option<(Uuid, Uuid)>,
}

/// Records the poll, and whether it came too soon (RFC 8628 §3.5: the interval then grows by five seconds, to at most
/// a minute, which is less than an approval is kept). Half a second is tolerated for network jitter.
pub(super) async fn poll(
    store: &Store,
    id: Uuid,
    client_id: &str,
    hash: &[u8; 32],
) -> Result<Option<Polled>, StoreError> {
    let rows = store
        .write(
            "device.poll",
            "WITH was AS (
                 SELECT request_id, coalesce(polled_at + make_interval(secs => interval_seconds - 0.5) > now(), false)
                            AS too_soon
                 FROM device_request WHERE request_id = $1 AND client_id = $2 AND secret_hash = $3 FOR UPDATE
             )
             UPDATE device_request d SET polled_at = now(),
                 interval_seconds = CASE WHEN too_soon THEN least(d.interval_seconds + 5, 60)
                                         ELSE d.interval_seconds END
             FROM was WHERE d.request_id = was.request_id
             RETURNING d.state, d.account_id, d.grant_id, d.interval_seconds, d.expires_at <= now() AS expired,
                       too_soon",
            &[&id, &client_id, &hash.as_slice()],
        )
        .await?;
    let read = |row| {
        let row = Decode::new("device_request", id, row);
        let (account, grant) = (row.get::<Option<Uuid>>("account_id")?, row.get::<Option<Uuid>>("grant_id")?);
        Ok::<_, RowError>(Polled {
            state: row.parsed("state")?,
            expired: row.get("expired")?,
            too_soon: row.get("too_soon")?,
            interval_seconds: row.get("interval_seconds")?,
            granted: account.zip(grant),
        })
    };
    Ok(rows.first().map(read).transpose()?)
}

/// A pending request that this person may decide.
#[derive(Debug)]
pub(super) struct Found {
    pub request: RawRequest,
    pub from: AskedFrom,
    pub created_at: OffsetDateTime,
}

pub(super) async fn find(store: &Store, id: Uuid, account: Uuid) -> Result<Option<Found>, StoreError> {
    let rows = store
        .read(
            "device.find",
            "SELECT request, asked_from, created_at FROM device_request
             WHERE request_id = $1 AND state = 'pending' AND expires_at > now()
               AND (account_id IS NULL OR account_id = $2)",
            &[&id, &account],
        )
        .await?;
    let read = |row| {
        let row = Decode::new("device_request", id, row);
        Ok::<_, RowError>(Found {
            request: row.json("request")?,
            from: row.json("asked_from")?,
            created_at: row.get("created_at")?,
        })
    };
    Ok(rows.first().map(read).transpose()?)
}

/// Only this person may decide the request from now on.
pub(super) async fn claim(tx: &Tx, id: Uuid, account: AccountId) -> Result<bool, StoreError> {
    let claimed = tx
        .execute(
            "UPDATE device_request SET account_id = $2
             WHERE request_id = $1 AND state = 'pending' AND expires_at > now()
               AND (account_id IS NULL OR account_id = $2)",
            &[&id, &account.uuid()],
        )
        .await?;
    Ok(claimed == 1)
}

/// The flow continues with another person: any person may look the request up again.
pub(super) async fn release(tx: &Tx, id: Uuid, account: AccountId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE device_request SET account_id = NULL
         WHERE request_id = $1 AND account_id = $2 AND state = 'pending'",
        &[&id, &account.uuid()],
    )
    .await
    .map(|_| ())
}

/// Approval. `false` where it came too late.
pub(super) async fn approve(
    tx: &Tx,
    id: Uuid,
    account: AccountId,
    grant: GrantId,
) -> Result<bool, StoreError> {
    let approved = tx
        .execute(
            "UPDATE device_request SET state = 'approved', grant_id = $3
             WHERE request_id = $1 AND account_id = $2 AND state = 'pending' AND expires_at > now()",
            &[&id, &account.uuid(), &grant.uuid()],
        )
        .await?;
    Ok(approved == 1)
}

/// Denial, unless another person claimed the request. `false` where it was not pending.
pub(super) async fn deny(tx: &Tx, id: Uuid, account: AccountId) -> Result<bool, StoreError> {
    let denied = tx
        .execute(
            "UPDATE device_request SET state = 'denied', account_id = $2
             WHERE request_id = $1 AND state = 'pending' AND (account_id IS NULL OR account_id = $2)",
            &[&id, &account.uuid()],
        )
        .await?;
    Ok(denied == 1)
}

/// The grant that the same person approved, and its client.
pub(super) async fn approved(
    tx: &Tx,
    id: Uuid,
    account: AccountId,
) -> Result<Option<(Uuid, String)>, StoreError> {
    let rows = tx
        .query(
            "SELECT grant_id, client_id FROM device_request
             WHERE request_id = $1 AND account_id = $2 AND state = 'approved'",
            &[&id, &account.uuid()],
        )
        .await?;
    let read = |row| {
        let row = Decode::new("device_request", id, row);
        Ok::<_, RowError>((row.get("grant_id")?, row.get("client_id")?))
    };
    Ok(rows.first().map(read).transpose()?)
}

/// The earlier decision of this person, if any.
pub(super) async fn outcome(tx: &Tx, id: Uuid, account: AccountId) -> Result<Option<State>, StoreError> {
    let rows = tx
        .query(
            "SELECT state FROM device_request WHERE request_id = $1 AND account_id = $2 AND state <> 'pending'",
            &[&id, &account.uuid()],
        )
        .await?;
    let read = |row| Decode::new("device_request", id, row).parsed("state");
    Ok(rows.first().map(read).transpose()?)
}

/// Deletes expired requests.
pub async fn sweep(store: &Store) -> Result<u64, StoreError> {
    store
        .sweep(
            "device.sweep",
            "DELETE FROM device_request WHERE request_id IN (
                 SELECT request_id FROM device_request WHERE expires_at < now() - interval '10 minutes' LIMIT $1)
             RETURNING 1 AS swept",
        )
        .await
}
