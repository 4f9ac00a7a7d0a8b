use porteiro_protocol::{client_metadata::ClientMetadata, time::OffsetDateTime};
use tokio_postgres::Row;

use super::super::clients::{Client, OrganizationMode, Trust};
use crate::store::{Decode, Store, StoreError, Tx};

/// A registration to be stored.
pub(in crate::oauth) struct New<'a> {
    pub client_id: &'a str,
    pub trust: Trust,
    pub metadata: &'a ClientMetadata,
    pub secret_hash: Option<&'a [u8]>,
    pub registration_hash: Option<&'a [u8]>,
    /// The document in which it was found, if it was.
    pub document: Option<ReadDocument<'a>>,
}

/// A client's metadata document as it was read (docs/decisions/0091).
#[derive(Debug, Clone, Copy)]
pub(in crate::oauth) struct ReadDocument<'a> {
    /// Of what it says. Another one means that its publisher has changed it.
    pub digest: &'a [u8; 32],
    pub seconds: f64,
}

/// The number of unused clients from which each site may have only its share.
#[derive(Debug, Clone, Copy)]
pub(in crate::oauth) struct Crowd {
    pub from: i64,
    pub share: i64,
}

/// The number of unused clients, as far as they were counted, and the creation time of the new one.
pub(in crate::oauth) struct Made {
    pub unused: i64,
    pub created_at: OffsetDateTime,
}

fn json(metadata: &ClientMetadata) -> Result<serde_json::Value, StoreError> {
    serde_json::to_value(metadata).map_err(|error| StoreError::Inconsistent(error.to_string()))
}

/// Stores the client, unless there are too many unused ones and its site has its share. Concurrent registrations do
/// not see each other: the bound protects the table, and a few more do no harm.
pub(in crate::oauth) async fn insert(
    tx: &Tx,
    new: &New<'_>,
    registered_from: &[u8; 32],
    crowd: Crowd,
) -> Result<Option<Made>, StoreError> {
    let rows = tx
        .query(
            "WITH unused AS (
                 SELECT count(*) AS number FROM (
                     SELECT FROM client WHERE registered_from IS NOT NULL AND trust = 'unverified'
                         AND last_used_at IS NULL AND disabled_at IS NULL LIMIT $7) AS counted
             ), own AS (
                 SELECT count(*) AS number FROM (
                     SELECT FROM client WHERE registered_from = $6 AND trust = 'unverified'
                         AND last_used_at IS NULL AND disabled_at IS NULL LIMIT $8) AS counted
             )
             INSERT INTO client (client_id, trust, profile, metadata, secret_hash, registration_hash, registered_from,
                 document_until, document_digest)
             SELECT $1, $2, 'default', $3, $4, $5, $6, now() + make_interval(secs => $9), $10 FROM unused, own
             WHERE unused.number < $7 OR own.number < $8
             ON CONFLICT DO NOTHING
             RETURNING created_at, (SELECT number FROM unused) AS number",
            &[
                &new.client_id,
                &new.trust.as_str(),
                &json(new.metadata)?,
                &new.secret_hash,
                &new.registration_hash,
                &registered_from.as_slice(),
                &crowd.from,
                &crowd.share,
                &new.document.map(|document| document.seconds),
                &new.document.map(|document| document.digest.as_slice()),
            ],
        )
        .await?;
    let made = |row: &Row| {
        let row = Decode::new("client", new.client_id, row);
        Ok(Made { unused: row.get("number")?, created_at: row.get("created_at")? })
    };
    rows.first().map(made).transpose()
}

const CLIENTS: &str = "SELECT client_id, trust, profile, metadata, secret_hash, created_at, changed_at,
        grants_from, last_used_at, organization_mode, organization_id, registration_hash FROM client";

/// Locks a client, enabled or disabled, until the transaction ends.
pub async fn lock(tx: &Tx, client_id: &str) -> Result<Option<Client>, StoreError> {
    let rows = tx.query(&format!("{CLIENTS} WHERE client_id = $1 FOR UPDATE"), &[&client_id]).await?;
    rows.first().map(Client::try_from).transpose().map_err(Into::into)
}

/// Locks the client of `token_hash` until the transaction ends. An administrator may have changed it since it was read.
pub(super) async fn lock_held(
    tx: &Tx,
    client_id: &str,
    token_hash: &[u8],
) -> Result<Option<Client>, StoreError> {
    let sql = format!(
        "{CLIENTS} WHERE client_id = $1 AND registration_hash = $2 AND disabled_at IS NULL FOR UPDATE"
    );
    let rows = tx.query(&sql, &[&client_id, &token_hash]).await?;
    rows.first().map(Client::try_from).transpose().map_err(Into::into)
}

/// An enabled self-registered client, if its token has this hash. A missing client costs the same statement and
/// comparison.
pub(super) async fn held(
    store: &Store,
    client_id: &str,
    is_token: impl Fn(&[u8]) -> bool,
) -> Result<Option<Client>, StoreError> {
    let sql =
        format!("{CLIENTS} WHERE client_id = $1 AND disabled_at IS NULL AND registration_hash IS NOT NULL");
    let rows = store.read("registration.held", &sql, &[&client_id]).await?;
    let row = rows.first();
    let hash = match row {
        Some(row) => Decode::new("client", client_id, row).get::<Vec<u8>>("registration_hash")?,
        None => vec![0; 32],
    };
    match (is_token(&hash), row) {
        (true, Some(row)) => Ok(Some(Client::try_from(row)?)),
        (true | false, _) => Ok(None),
    }
}

/// Replaces the registration of `token_hash`; `false` when there is none. The grants of a client that is now
/// effectively another, or has less trust, end with it.
pub(super) async fn replace(
    tx: &Tx,
    token_hash: &[u8],
    new: &New<'_>,
    ends: bool,
) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "UPDATE client SET trust = $3, metadata = $4, secret_hash = $5, registration_hash = $6,
                 grants_from = CASE WHEN $7 THEN clock_timestamp() ELSE grants_from END,
                 changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
             WHERE client_id = $1 AND registration_hash = $2 AND disabled_at IS NULL
             RETURNING client_id",
            &[
                &new.client_id,
                &token_hash,
                &new.trust.as_str(),
                &json(new.metadata)?,
                &new.secret_hash,
                &new.registration_hash,
                &ends,
            ],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// A client after an administrator's change.
pub(super) struct Administered<'a> {
    pub trust: Trust,
    pub organization_mode: OrganizationMode,
    pub metadata: &'a ClientMetadata,
    pub keeps_secret: bool,
    /// Everything issued to it earlier becomes invalid.
    pub ends: bool,
}

pub(super) async fn administer(tx: &Tx, before: &Client, new: &Administered<'_>) -> Result<(), StoreError> {
    let changed = tx
        .execute(
            "UPDATE client SET trust = $3, organization_mode = $4, metadata = $5,
                 secret_hash = CASE WHEN $6 THEN secret_hash END,
                 grants_from = CASE WHEN $7 THEN clock_timestamp() ELSE grants_from END,
                 changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
             WHERE client_id = $1 AND changed_at = $2",
            &[
                &before.id,
                &before.changed_at,
                &new.trust.as_str(),
                &new.organization_mode.as_str(),
                &json(new.metadata)?,
                &new.keeps_secret,
                &new.ends,
            ],
        )
        .await?;
    once(changed, before)
}

pub(super) async fn set_secret(tx: &Tx, before: &Client, hash: &[u8]) -> Result<(), StoreError> {
    let changed = tx
        .execute(
            "UPDATE client SET secret_hash = $3,
                 changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
             WHERE client_id = $1 AND changed_at = $2",
            &[&before.id, &before.changed_at, &hash],
        )
        .await?;
    once(changed, before)
}

/// The row is locked, so no other transaction can have changed it.
fn once(changed: u64, client: &Client) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::Inconsistent(format!("client {} changed under its lock", client.id)))
}

/// Ends the client of `token_hash`; `false` when there is none.
pub(super) async fn end(tx: &Tx, client_id: &str, token_hash: &[u8]) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "UPDATE client SET disabled_at = now(), grants_from = clock_timestamp(), registration_hash = NULL, secret_hash = NULL,
                 changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
             WHERE client_id = $1 AND registration_hash = $2 AND disabled_at IS NULL
             RETURNING client_id",
            &[&client_id, &token_hash],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Ends up to `most` unused self-registered clients: a day after registration if they were never used, otherwise
/// after 90 days, when none of their grants can be valid. Returns their ids.
pub(super) async fn end_unused(tx: &Tx, most: i64) -> Result<Vec<String>, StoreError> {
    let rows = tx
        .query(
            "UPDATE client SET disabled_at = now(), grants_from = clock_timestamp(), registration_hash = NULL, secret_hash = NULL,
                 changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
             WHERE client_id IN (
                 SELECT client_id FROM client
                 WHERE registered_from IS NOT NULL AND trust = 'unverified' AND disabled_at IS NULL
                   AND document_until IS NULL
                   AND coalesce(last_used_at + interval '90 days', created_at + interval '1 day') < now()
                 ORDER BY client_id LIMIT $1 FOR UPDATE SKIP LOCKED)
             RETURNING client_id",
            &[&most],
        )
        .await?;
    rows.iter().map(|row| Ok(Decode::new("client", "<unused>", row).get("client_id")?)).collect()
}

/// Deletes ended self-registered clients: an hour later if they were never used, otherwise after 31 days, when all
/// their grants have expired. A client that an administrator disabled stays.
pub(super) async fn sweep(store: &Store) -> Result<u64, StoreError> {
    store
        .sweep(
            "registration.sweep",
            "DELETE FROM client WHERE client_id IN (
                 SELECT client_id FROM client
                 WHERE registered_from IS NOT NULL AND trust = 'unverified' AND registration_hash IS NULL
                   AND document_until IS NULL
                   AND disabled_at < now() - CASE WHEN last_used_at IS NULL THEN interval '1 hour'
                                                  ELSE interval '31 days' END
                 LIMIT $1)
             RETURNING 1 AS swept",
        )
        .await
}
