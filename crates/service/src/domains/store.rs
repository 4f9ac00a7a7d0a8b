//! Domains by organization, and which of them are verified.

use porteiro_protocol::{
    id::{DomainId, OrganizationId},
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{Domain, MOST};
use crate::store::{Decode, Reader, RowError, StoreError, Tx};

impl TryFrom<&Row> for Domain {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (domain, id) = Decode::keyed::<Uuid>("organization_domain", "domain_id", row)?;
        Ok(Self {
            organization: domain.get::<Uuid>("organization_id")?.into(),
            id: id.into(),
            name: domain.get("name")?,
            state: domain.parsed("state")?,
            value: domain.get("value")?,
            verified_at: domain.get("verified_at")?,
            checked_at: domain.get("checked_at")?,
            failing_since: domain.get("failing_since")?,
            created_at: domain.get("created_at")?,
        })
    }
}

fn all(rows: &[Row]) -> Result<Vec<Domain>, StoreError> {
    rows.iter().map(Domain::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

fn one(rows: &[Row]) -> Result<Option<Domain>, StoreError> {
    rows.first().map(Domain::try_from).transpose().map_err(Into::into)
}

/// Whether the organization's directory may vouch for addresses at this domain. `name` is in the form of
/// [`super::decide::normalize`].
pub async fn is_verified(
    reader: &impl Reader,
    organization: OrganizationId,
    name: &str,
) -> Result<bool, StoreError> {
    let rows = reader
        .rows(
            "domains.is_verified",
            "SELECT 1 FROM organization_domain WHERE organization_id = $1 AND name = $2 AND state = 'verified'",
            &[&organization.uuid(), &name],
        )
        .await?;
    Ok(!rows.is_empty())
}

pub async fn find(
    reader: &impl Reader,
    organization: OrganizationId,
    id: DomainId,
) -> Result<Option<Domain>, StoreError> {
    let rows = reader
        .rows(
            "domains.find",
            "SELECT * FROM organization_domain WHERE organization_id = $1 AND domain_id = $2",
            &[&organization.uuid(), &id.uuid()],
        )
        .await?;
    one(&rows)
}

/// The oldest first, after a position in that order.
pub async fn list(
    reader: &impl Reader,
    organization: OrganizationId,
    after: Option<(OffsetDateTime, Uuid)>,
    limit: i64,
) -> Result<Vec<Domain>, StoreError> {
    let (at, id) = after.unzip();
    let rows = reader
        .rows(
            "domains.list",
            "SELECT * FROM organization_domain WHERE organization_id = $1
               AND ($2::timestamptz IS NULL OR (created_at, domain_id) > ($2, $3))
             ORDER BY created_at, domain_id LIMIT $4",
            &[&organization.uuid(), &at, &id, &limit],
        )
        .await?;
    all(&rows)
}

/// Whether there is no room for another one.
pub async fn are_many(tx: &Tx, organization: OrganizationId) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT count(*) >= $2 AS full FROM organization_domain WHERE organization_id = $1",
            &[&organization.uuid(), &MOST],
        )
        .await?;
    let full = rows.first().map(|row| Decode::new("organization_domain", organization, row).get("full"));
    Ok(full.transpose()?.unwrap_or_default())
}

/// A new one, pending.
#[derive(Debug)]
pub struct Claim<'a> {
    pub organization: OrganizationId,
    pub id: DomainId,
    pub name: &'a str,
    pub value: &'a str,
}

/// `None` where the organization has this name already. The caller holds the organization's lock.
pub async fn insert(tx: &Tx, claim: &Claim<'_>) -> Result<Option<Domain>, StoreError> {
    let rows = tx
        .query(
            "INSERT INTO organization_domain (organization_id, domain_id, name, value, state)
             VALUES ($1, $2, $3, $4, 'pending') ON CONFLICT DO NOTHING RETURNING *",
            &[&claim.organization.uuid(), &claim.id.uuid(), &claim.name, &claim.value],
        )
        .await?;
    one(&rows)
}

/// `None` where another organization has verified the name. Of two that verify it at once, one succeeds.
pub async fn verify(
    tx: &Tx,
    organization: OrganizationId,
    id: DomainId,
) -> Result<Option<Domain>, StoreError> {
    let rows = tx
        .query(
            "WITH held AS (
                 INSERT INTO verified_domain (name, organization_id)
                 SELECT name, organization_id FROM organization_domain
                 WHERE organization_id = $1 AND domain_id = $2
                 ON CONFLICT (name) DO UPDATE SET organization_id = EXCLUDED.organization_id
                 WHERE verified_domain.organization_id = EXCLUDED.organization_id
                 RETURNING name)
             UPDATE organization_domain d
             SET state = 'verified', checked_at = now(), failing_since = NULL,
                 verified_at = CASE d.state WHEN 'verified' THEN d.verified_at ELSE now() END
             FROM held WHERE d.organization_id = $1 AND d.domain_id = $2 RETURNING d.*",
            &[&organization.uuid(), &id.uuid()],
        )
        .await?;
    one(&rows)
}

/// The organizations for which this name lapsed before.
pub async fn lapsed_elsewhere(
    tx: &Tx,
    name: &str,
    organization: OrganizationId,
) -> Result<Vec<Domain>, StoreError> {
    let rows = tx
        .query(
            "SELECT * FROM organization_domain WHERE name = $1 AND state = 'lapsed' AND organization_id <> $2
             ORDER BY organization_id LIMIT 100",
            &[&name, &organization.uuid()],
        )
        .await?;
    all(&rows)
}

/// The row that was deleted.
pub async fn delete(
    tx: &Tx,
    organization: OrganizationId,
    id: DomainId,
) -> Result<Option<Domain>, StoreError> {
    let rows = tx
        .query(
            "WITH gone AS (
                 DELETE FROM organization_domain WHERE organization_id = $1 AND domain_id = $2 RETURNING *
             ), freed AS (
                 DELETE FROM verified_domain v USING gone g
                 WHERE v.name = g.name AND v.organization_id = g.organization_id)
             SELECT * FROM gone",
            &[&organization.uuid(), &id.uuid()],
        )
        .await?;
    one(&rows)
}

/// Verified domains that were not looked up today. Each is taken by one node.
pub(super) async fn due(tx: &Tx, limit: i64) -> Result<Vec<Domain>, StoreError> {
    let rows = tx
        .query(
            "UPDATE organization_domain d SET checked_at = now() FROM (
                 SELECT organization_id, domain_id FROM organization_domain
                 WHERE state = 'verified' AND checked_at < now() - interval '1 day'
                 ORDER BY checked_at LIMIT $1 FOR UPDATE SKIP LOCKED) due
             WHERE d.organization_id = due.organization_id AND d.domain_id = due.domain_id RETURNING d.*",
            &[&limit],
        )
        .await?;
    all(&rows)
}

/// Notes whether the record was seen.
pub(super) async fn note(tx: &Tx, domain: &Domain, present: bool) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE organization_domain SET failing_since = CASE WHEN $3 THEN NULL ELSE coalesce(failing_since, now()) END
         WHERE organization_id = $1 AND domain_id = $2 AND state = 'verified'
           AND (failing_since IS NULL) IS DISTINCT FROM $3",
        &[&domain.organization.uuid(), &domain.id.uuid(), &present],
    )
    .await?;
    Ok(())
}

/// Ends a verification whose record has been missing for seven days.
pub(super) async fn lapse(tx: &Tx, domain: &Domain) -> Result<bool, StoreError> {
    let ended = tx
        .execute(
            "WITH lapsed AS (
                 UPDATE organization_domain SET state = 'lapsed'
                 WHERE organization_id = $1 AND domain_id = $2 AND state = 'verified'
                   AND failing_since <= now() - interval '7 days' RETURNING organization_id, name)
             DELETE FROM verified_domain v USING lapsed l
             WHERE v.name = l.name AND v.organization_id = l.organization_id",
            &[&domain.organization.uuid(), &domain.id.uuid()],
        )
        .await?;
    Ok(ended > 0)
}
