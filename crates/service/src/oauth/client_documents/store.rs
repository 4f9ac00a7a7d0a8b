use porteiro_protocol::client_metadata::{ClientIdUrl, ClientMetadata};

use super::super::registration::ReadDocument;
use crate::store::{Decode, Reader, StoreError, Tx};

/// What the row of a client says about its document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub is_disabled: bool,
    pub is_fresh: bool,
    /// For a day.
    pub is_overdue: bool,
}

pub(super) async fn find(reader: &impl Reader, url: &ClientIdUrl) -> Result<Option<Known>, StoreError> {
    let rows = reader
        .rows(
            "client_documents.find",
            "SELECT disabled_at IS NOT NULL AS is_disabled, coalesce(document_until > now(), true) AS is_fresh,
                 coalesce(document_until < now() - interval '1 day', false) AS is_overdue
             FROM client WHERE client_id = $1",
            &[&url.as_str()],
        )
        .await?;
    let read = |row| {
        let row = Decode::new("client", url.as_str(), row);
        Ok(Known {
            is_disabled: row.get("is_disabled")?,
            is_fresh: row.get("is_fresh")?,
            is_overdue: row.get("is_overdue")?,
        })
    };
    rows.first().map(read).transpose()
}

/// What was read before.
pub(super) struct Before {
    pub is_disabled: bool,
    pub metadata: ClientMetadata,
    pub digest: Vec<u8>,
}

/// Two nodes that read the same document at once write it one after the other.
pub(super) async fn lock(tx: &Tx, url: &ClientIdUrl) -> Result<Option<Before>, StoreError> {
    let rows = tx
        .query(
            "SELECT disabled_at IS NOT NULL AS is_disabled, metadata, coalesce(document_digest, '') AS digest
             FROM client WHERE client_id = $1 FOR UPDATE",
            &[&url.as_str()],
        )
        .await?;
    let read = |row| {
        let row = Decode::new("client", url.as_str(), row);
        Ok(Before {
            is_disabled: row.get("is_disabled")?,
            metadata: row.json("metadata")?,
            digest: row.get("digest")?,
        })
    };
    rows.first().map(read).transpose()
}

/// The document says the same as before.
pub(super) async fn renew(tx: &Tx, url: &ClientIdUrl, seconds: f64) -> Result<bool, StoreError> {
    let renewed = tx
        .execute(
            "UPDATE client SET document_until = now() + make_interval(secs => $2)
             WHERE client_id = $1 AND disabled_at IS NULL",
            &[&url.as_str(), &seconds],
        )
        .await?;
    Ok(renewed == 1)
}

/// The document says something else. If `ends`, the client is another one in all but name: what was granted to it ends,
/// and no administrator has verified it.
pub(super) async fn replace(
    tx: &Tx,
    url: &ClientIdUrl,
    metadata: &ClientMetadata,
    document: ReadDocument<'_>,
    ends: bool,
) -> Result<bool, StoreError> {
    let metadata =
        serde_json::to_value(metadata).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    let replaced = tx
        .execute(
            "UPDATE client SET metadata = $2, document_until = now() + make_interval(secs => $3),
                 trust = CASE WHEN $4 THEN 'unverified' ELSE trust END,
                 grants_from = CASE WHEN $4 THEN clock_timestamp() ELSE grants_from END,
                 document_digest = $5,
                 changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
             WHERE client_id = $1 AND disabled_at IS NULL",
            &[&url.as_str(), &metadata, &document.seconds, &ends, &document.digest.as_slice()],
        )
        .await?;
    Ok(replaced == 1)
}

/// Deletes up to `most` clients that are not used: a day after their document was first read if they never were, else
/// after 90 days, when no grant of theirs is valid any more. A client that an administrator disabled stays, so that its
/// document does not bring it back. Their ids.
pub(super) async fn delete_unused(tx: &Tx, most: i64) -> Result<Vec<String>, StoreError> {
    let rows = tx
        .query(
            "DELETE FROM client WHERE client_id IN (
                 SELECT client_id FROM client
                 WHERE document_until IS NOT NULL AND trust = 'unverified' AND disabled_at IS NULL
                   AND coalesce(last_used_at + interval '90 days', created_at + interval '1 day') < now()
                 ORDER BY client_id LIMIT $1 FOR UPDATE SKIP LOCKED)
             RETURNING client_id",
            &[&most],
        )
        .await?;
    rows.iter().map(|row| Ok(Decode::new("client", "<unused>", row).get("client_id")?)).collect()
}
