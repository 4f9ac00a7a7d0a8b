use porteiro_protocol::id::OrganizationId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{Organization, Policy};
use crate::store::{Decode, Reader, RowError, StoreError, Tx, text_enum};

text_enum! {
    Status { Enabled = "enabled", Suspended = "suspended" }
}

/// The name of an organization in a request: its id or slug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name<'a> {
    Id(OrganizationId),
    Slug(&'a str),
}

impl<'a> Name<'a> {
    pub fn parse(text: &'a str) -> Self {
        text.parse().map_or(Self::Slug(text), Self::Id)
    }
}

impl TryFrom<&Row> for Organization {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (organization, id) = Decode::keyed::<Uuid>("organization", "organization_id", row)?;
        Ok(Self {
            id: id.into(),
            slug: organization.get("slug")?,
            name: organization.get("name")?,
            status: organization.parsed("status")?,
            policy: organization.json("policy")?,
            locale: organization.get("locale")?,
            authority_version: organization.get("authority_version")?,
            version: organization.get("version")?,
            created_at: organization.get("created_at")?,
        })
    }
}

pub async fn find(reader: &impl Reader, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
    let rows = reader
        .rows(
            "organizations.find",
            "SELECT organization_id, slug, name, status, policy, locale, authority_version, version, created_at
             FROM organization WHERE organization_id = $1",
            &[&id.uuid()],
        )
        .await?;
    rows.first().map(Organization::try_from).transpose().map_err(Into::into)
}

/// By id or slug; a former slug leads to it for a while.
pub async fn find_named(reader: &impl Reader, name: &Name<'_>) -> Result<Option<Organization>, StoreError> {
    let slug = match name {
        Name::Id(id) => return find(reader, *id).await,
        Name::Slug(slug) => *slug,
    };
    let rows = reader
        .rows(
            "organizations.find_named",
            "SELECT o.organization_id, o.slug, o.name, o.status, o.policy, o.locale, o.authority_version,
                    o.version, o.created_at
             FROM organization_slug s JOIN organization o USING (organization_id)
             WHERE s.slug = $1 AND (s.until IS NULL OR s.until > now())",
            &[&slug],
        )
        .await?;
    rows.first().map(Organization::try_from).transpose().map_err(Into::into)
}

/// Locks the organization for a change of authority, and returns its row.
pub async fn lock(tx: &Tx, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
    let rows = tx
        .query(
            "SELECT organization_id, slug, name, status, policy, locale, authority_version, version, created_at
             FROM organization WHERE organization_id = $1 FOR UPDATE",
            &[&id.uuid()],
        )
        .await?;
    rows.first().map(Organization::try_from).transpose().map_err(Into::into)
}

/// `false` if the slug is taken.
pub async fn insert(
    tx: &Tx,
    id: OrganizationId,
    slug: &str,
    name: &str,
    locale: &str,
) -> Result<bool, StoreError> {
    let claimed = tx
        .execute(
            "INSERT INTO organization_slug (slug, organization_id) VALUES ($1, $2)
             ON CONFLICT (slug) DO UPDATE SET organization_id = excluded.organization_id, until = NULL
             WHERE organization_slug.until < now()",
            &[&slug, &id.uuid()],
        )
        .await?;
    if claimed == 0 {
        return Ok(false);
    }
    let policy = serde_json::to_value(Policy::default())
        .map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    tx.execute(
        "INSERT INTO organization (organization_id, slug, name, locale, policy) VALUES ($1, $2, $3, $4, $5)",
        &[&id.uuid(), &slug, &name, &locale, &policy],
    )
    .await?;
    Ok(true)
}

/// The permissions there have changed: everything that was checked before is checked again.
pub async fn check_again(tx: &Tx, id: OrganizationId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE organization SET authority_version = authority_version + 1 WHERE organization_id = $1",
        &[&id.uuid()],
    )
    .await
    .map(|_| ())
}
