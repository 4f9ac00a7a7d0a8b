//! Issuers whose assertions clients redeem.

use porteiro_protocol::{
    id::{AssertionIssuerId, OrganizationId},
    jose::Algorithm,
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::{AssertionIssuer, MOST};
use crate::store::{Decode, Reader, RowError, StoreError, Tx};

impl TryFrom<&Row> for AssertionIssuer {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (issuer, id) = Decode::keyed::<Uuid>("assertion_issuer", "issuer_id", row)?;
        let names: Vec<String> = issuer.get("algorithms")?;
        let algorithm = |name: &String| name.parse().map_err(|error| issuer.wrong("algorithms", error));
        Ok(Self {
            organization: issuer.get::<Uuid>("organization_id")?.into(),
            id: id.into(),
            issuer: issuer.get("issuer")?,
            tenant: issuer.get("tenant")?,
            client_id: issuer.get("client_id")?,
            algorithms: names.iter().map(algorithm).collect::<Result<_, _>>()?,
            believes_authentication: issuer.get("believes_authentication")?,
            created_at: issuer.get("created_at")?,
        })
    }
}

/// Those that name this issuer and client: in one organization, or in all.
pub async fn find(
    reader: &impl Reader,
    client_id: &str,
    issuer: &str,
    organization: Option<OrganizationId>,
) -> Result<Vec<AssertionIssuer>, StoreError> {
    let rows = reader
        .rows(
            "trusts.find_issuers",
            "SELECT * FROM assertion_issuer WHERE client_id = $1 AND issuer = $2
               AND ($3::uuid IS NULL OR organization_id = $3) LIMIT 100",
            &[&client_id, &issuer, &organization.map(OrganizationId::uuid)],
        )
        .await?;
    rows.iter().map(AssertionIssuer::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

/// The oldest first, after a position in that order.
pub async fn list(
    reader: &impl Reader,
    organization: OrganizationId,
    after: Option<(OffsetDateTime, Uuid)>,
    limit: i64,
) -> Result<Vec<AssertionIssuer>, StoreError> {
    let (at, id) = after.unzip();
    let rows = reader
        .rows(
            "trusts.list_issuers",
            "SELECT * FROM assertion_issuer WHERE organization_id = $1
               AND ($2::timestamptz IS NULL OR (created_at, issuer_id) > ($2, $3))
             ORDER BY created_at, issuer_id LIMIT $4",
            &[&organization.uuid(), &at, &id, &limit],
        )
        .await?;
    rows.iter().map(AssertionIssuer::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

/// `None` where the issuer is trusted for the client already. The caller holds the organization's lock.
pub async fn insert(tx: &Tx, new: &AssertionIssuer) -> Result<Option<AssertionIssuer>, StoreError> {
    let algorithms: Vec<&str> = new.algorithms.iter().copied().map(Algorithm::as_str).collect();
    let rows = tx
        .query(
            "INSERT INTO assertion_issuer (organization_id, issuer_id, issuer, tenant, client_id, algorithms,
                 believes_authentication)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING *",
            &[
                &new.organization.uuid(),
                &new.id.uuid(),
                &new.issuer,
                &new.tenant,
                &new.client_id,
                &algorithms,
                &new.believes_authentication,
            ],
        )
        .await?;
    rows.first().map(AssertionIssuer::try_from).transpose().map_err(Into::into)
}

/// Whether there is no room for another one.
pub async fn are_many(tx: &Tx, organization: OrganizationId) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT count(*) >= $2 AS full FROM assertion_issuer WHERE organization_id = $1",
            &[&organization.uuid(), &MOST],
        )
        .await?;
    let full = rows.first().map(|row| Decode::new("assertion_issuer", organization, row).get("full"));
    Ok(full.transpose()?.unwrap_or_default())
}

/// The row that was deleted. It waits for tokens that are being issued by it.
pub async fn delete(
    tx: &Tx,
    organization: OrganizationId,
    id: AssertionIssuerId,
) -> Result<Option<AssertionIssuer>, StoreError> {
    let rows = tx
        .query(
            "DELETE FROM assertion_issuer WHERE organization_id = $1 AND issuer_id = $2 RETURNING *",
            &[&organization.uuid(), &id.uuid()],
        )
        .await?;
    rows.first().map(AssertionIssuer::try_from).transpose().map_err(Into::into)
}
