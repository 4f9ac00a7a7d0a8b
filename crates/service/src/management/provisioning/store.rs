use porteiro_protocol::id::OrganizationId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{Entry, PLACES, Refused};
use crate::store::{Decode, Reader, RowError, Store, StoreError};

/// Counts a repetition, or takes the place of the oldest entry.
pub async fn record(store: &Store, refused: &Refused) -> Result<(), StoreError> {
    let (organization, fingerprint) = (refused.organization.uuid(), refused.fingerprint());
    let status = i16::try_from(refused.status).unwrap_or(i16::MAX);
    let repeated = store
        .write(
            "provisioning.repeat",
            "UPDATE provisioning_refusal SET times = times + 1, last_at = clock_timestamp(), request_id = $3
             WHERE organization_id = $1 AND fingerprint = $2 RETURNING place",
            &[&organization, &fingerprint.as_slice(), &refused.request_id.uuid()],
        )
        .await?;
    if !repeated.is_empty() {
        return Ok(());
    }
    // The head's row is locked by the statement, so two requests never take one place.
    store
        .write(
            "provisioning.record",
            "WITH head AS (
                 INSERT INTO provisioning_head AS h (organization_id, number) VALUES ($1, 1)
                 ON CONFLICT (organization_id) DO UPDATE SET number = h.number + 1 RETURNING number
             )
             INSERT INTO provisioning_refusal AS p (organization_id, place, number, fingerprint, actor, method, resource,
                 status, scim_type, detail, request_id)
             SELECT $1, (number % $2)::integer, number, $3, $4, $5, $6, $7, $8, $9, $10 FROM head
             WHERE NOT EXISTS (SELECT 1 FROM provisioning_refusal o WHERE o.organization_id = $1 AND o.fingerprint = $3)
             ON CONFLICT (organization_id, place) DO UPDATE SET number = excluded.number,
                 fingerprint = excluded.fingerprint, actor = excluded.actor, method = excluded.method,
                 resource = excluded.resource, status = excluded.status, scim_type = excluded.scim_type,
                 detail = excluded.detail, request_id = excluded.request_id, times = 1,
                 first_at = excluded.first_at, last_at = excluded.last_at
             RETURNING place",
            &[
                &organization,
                &PLACES,
                &fingerprint.as_slice(),
                &refused.actor,
                &refused.method,
                &refused.resource,
                &status,
                &refused.scim_type,
                &refused.detail,
                &refused.request_id.uuid(),
            ],
        )
        .await
        .map(|_| ())
}

impl TryFrom<&Row> for Entry {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (row, number) = Decode::keyed::<i64>("provisioning_refusal", "number", row)?;
        Ok(Self {
            number,
            actor: row.get("actor")?,
            method: row.get("method")?,
            resource: row.get("resource")?,
            status: row.get("status")?,
            scim_type: row.get("scim_type")?,
            detail: row.get("detail")?,
            times: row.get("times")?,
            request_id: row.get::<Uuid>("request_id")?.into(),
            first_at: row.get("first_at")?,
            last_at: row.get("last_at")?,
        })
    }
}

/// The newest entries, before the given one.
pub(super) async fn newest(
    reader: &impl Reader,
    organization: OrganizationId,
    before: Option<i64>,
    most: i64,
) -> Result<Vec<Entry>, StoreError> {
    let rows = reader
        .rows(
            "provisioning.newest",
            "SELECT number, actor, method, resource, status, scim_type, detail, times, request_id, first_at, last_at
             FROM provisioning_refusal WHERE organization_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3",
            &[&organization.uuid(), &before.unwrap_or(i64::MAX), &most],
        )
        .await?;
    rows.iter().map(Entry::try_from).collect::<Result<_, _>>().map_err(Into::into)
}
