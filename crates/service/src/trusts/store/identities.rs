//! Which member a subject of another server is.

use porteiro_protocol::{
    id::{ExternalIdentityId, OrganizationId},
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::{ExternalIdentity, MOST_IDENTITIES};
use crate::store::{Decode, Reader, RowError, StoreError, Tx};

impl TryFrom<&Row> for ExternalIdentity {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (identity, id) = Decode::keyed::<Uuid>("external_identity", "identity_id", row)?;
        Ok(Self {
            id: id.into(),
            issuer: identity.get("issuer")?,
            tenant: identity.get("tenant")?,
            subject: identity.get("subject")?,
            membership: identity.get::<Uuid>("membership_id")?.into(),
            created_at: identity.get("created_at")?,
        })
    }
}

/// The identity of a subject, if it is linked. By issuer, tenant and subject alone.
pub async fn find(
    reader: &impl Reader,
    organization: OrganizationId,
    issuer: &str,
    tenant: Option<&str>,
    subject: &str,
) -> Result<Option<ExternalIdentity>, StoreError> {
    let rows = reader
        .rows(
            "trusts.find_identity",
            "SELECT * FROM external_identity
             WHERE organization_id = $1 AND issuer = $2 AND tenant = $3 AND subject = $4",
            &[&organization.uuid(), &issuer, &tenant.unwrap_or_default(), &subject],
        )
        .await?;
    rows.first().map(ExternalIdentity::try_from).transpose().map_err(Into::into)
}

/// The oldest first, after a position in that order.
pub async fn list(
    reader: &impl Reader,
    organization: OrganizationId,
    after: Option<(OffsetDateTime, Uuid)>,
    limit: i64,
) -> Result<Vec<ExternalIdentity>, StoreError> {
    let (at, id) = after.unzip();
    let rows = reader
        .rows(
            "trusts.list_identities",
            "SELECT * FROM external_identity WHERE organization_id = $1
               AND ($2::timestamptz IS NULL OR (created_at, identity_id) > ($2, $3))
             ORDER BY created_at, identity_id LIMIT $4",
            &[&organization.uuid(), &at, &id, &limit],
        )
        .await?;
    rows.iter().map(ExternalIdentity::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

/// `None` where the subject is another member already. A member who was removed is none. The caller holds the
/// organization's lock.
pub async fn insert(
    tx: &Tx,
    organization: OrganizationId,
    new: &ExternalIdentity,
) -> Result<Option<ExternalIdentity>, StoreError> {
    let rows = tx
        .query(
            "INSERT INTO external_identity AS e (organization_id, identity_id, issuer, tenant, subject, membership_id)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (organization_id, issuer, tenant, subject) DO UPDATE SET
                 identity_id = excluded.identity_id, membership_id = excluded.membership_id,
                 created_at = excluded.created_at
             WHERE EXISTS (SELECT 1 FROM membership m WHERE m.organization_id = e.organization_id
                             AND m.membership_id = e.membership_id AND m.state = 'removed')
             RETURNING *",
            &[
                &organization.uuid(),
                &new.id.uuid(),
                &new.issuer,
                &new.tenant,
                &new.subject,
                &new.membership.uuid(),
            ],
        )
        .await?;
    rows.first().map(ExternalIdentity::try_from).transpose().map_err(Into::into)
}

/// Whether there is no room for another one.
pub async fn are_many(tx: &Tx, organization: OrganizationId) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT count(*) >= $2 AS full FROM external_identity WHERE organization_id = $1",
            &[&organization.uuid(), &MOST_IDENTITIES],
        )
        .await?;
    let full = rows.first().map(|row| Decode::new("external_identity", organization, row).get("full"));
    Ok(full.transpose()?.unwrap_or_default())
}

/// The row that was deleted. It waits for tokens that are being issued by it.
pub async fn delete(
    tx: &Tx,
    organization: OrganizationId,
    id: ExternalIdentityId,
) -> Result<Option<ExternalIdentity>, StoreError> {
    let rows = tx
        .query(
            "DELETE FROM external_identity WHERE organization_id = $1 AND identity_id = $2 RETURNING *",
            &[&organization.uuid(), &id.uuid()],
        )
        .await?;
    rows.first().map(ExternalIdentity::try_from).transpose().map_err(Into::into)
}
