//! Groups in the database.

mod members;
mod roles;

use porteiro_protocol::{
    id::{GroupId, MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

pub use members::{among, change_members, differs, members, of_member, of_members, unknown_member};
pub use roles::reconcile;

use super::Group;
use crate::store::{Decode, Reader, RowError, StoreError, Tx};

/// All columns of groups. `WHERE` follows.
const GROUPS: &str =
    "SELECT g.group_id, g.display_name, g.external_id, g.role_key, g.size, g.version, g.created_at, g.modified_at
     FROM organization_group g";

impl TryFrom<&Row> for Group {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (group, id) = Decode::keyed::<Uuid>("organization_group", "group_id", row)?;
        Ok(Self {
            id: id.into(),
            display_name: group.get("display_name")?,
            external_id: group.get("external_id")?,
            role: group.get("role_key")?,
            size: group.get("size")?,
            version: group.get("version")?,
            created_at: group.get("created_at")?,
            modified_at: group.get("modified_at")?,
        })
    }
}

fn groups(rows: &[Row]) -> Result<Vec<Group>, StoreError> {
    rows.iter().map(Group::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

pub async fn find(
    reader: &impl Reader,
    organization: OrganizationId,
    id: GroupId,
) -> Result<Option<Group>, StoreError> {
    let sql = format!("{GROUPS} WHERE g.organization_id = $1 AND g.group_id = $2");
    let rows = reader.rows("groups.find", &sql, &[&organization.uuid(), &id.uuid()]).await?;
    Ok(groups(&rows)?.pop())
}

/// Locked until the transaction ends.
pub async fn lock(tx: &Tx, organization: OrganizationId, id: GroupId) -> Result<Option<Group>, StoreError> {
    tx.query(
        "SELECT 1 FROM organization_group WHERE organization_id = $1 AND group_id = $2 FOR UPDATE",
        &[&organization.uuid(), &id.uuid()],
    )
    .await?;
    find(tx, organization, id).await
}

/// By its name in lower case.
pub async fn find_named(
    reader: &impl Reader,
    organization: OrganizationId,
    key: &str,
) -> Result<Option<Group>, StoreError> {
    let sql = format!("{GROUPS} WHERE g.organization_id = $1 AND g.display_name_key = $2");
    let rows = reader.rows("groups.find_named", &sql, &[&organization.uuid(), &key]).await?;
    Ok(groups(&rows)?.pop())
}

/// By the directory's own key.
pub async fn find_external(
    reader: &impl Reader,
    organization: OrganizationId,
    external_id: &str,
) -> Result<Option<Group>, StoreError> {
    let sql = format!("{GROUPS} WHERE g.organization_id = $1 AND g.external_id = $2");
    let rows = reader.rows("groups.find_external", &sql, &[&organization.uuid(), &external_id]).await?;
    Ok(groups(&rows)?.pop())
}

/// The group after which a page starts.
pub type Position = (OffsetDateTime, GroupId);

/// At most `limit`, oldest first.
pub async fn list(
    reader: &impl Reader,
    organization: OrganizationId,
    after: Option<Position>,
    limit: i64,
) -> Result<Vec<Group>, StoreError> {
    let sql = format!(
        "{GROUPS} WHERE g.organization_id = $1 AND (g.created_at, g.group_id) > ($2, $3)
         ORDER BY g.created_at, g.group_id LIMIT $4"
    );
    let (at, id) = after.map_or((OffsetDateTime::UNIX_EPOCH, Uuid::nil()), |(at, id)| (at, id.uuid()));
    groups(&reader.rows("groups.list", &sql, &[&organization.uuid(), &at, &id, &limit]).await?)
}

/// The same by number.
pub async fn list_at(
    reader: &impl Reader,
    organization: OrganizationId,
    skip: i64,
    limit: i64,
) -> Result<Vec<Group>, StoreError> {
    let sql =
        format!("{GROUPS} WHERE g.organization_id = $1 ORDER BY g.created_at, g.group_id OFFSET $2 LIMIT $3");
    groups(&reader.rows("groups.list_at", &sql, &[&organization.uuid(), &skip, &limit]).await?)
}

pub async fn count(reader: &impl Reader, organization: OrganizationId) -> Result<i64, StoreError> {
    let sql = "SELECT count(*) AS number FROM organization_group WHERE organization_id = $1";
    let rows = reader.rows("groups.count", sql, &[&organization.uuid()]).await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("a count without a row".into()))?;
    Ok(Decode::new("organization_group", "count", row).get("number")?)
}

pub async fn insert(
    tx: &Tx,
    organization: OrganizationId,
    id: GroupId,
    (display_name, key): (&str, &str),
    external_id: Option<&str>,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO organization_group (organization_id, group_id, display_name, display_name_key, external_id)
         VALUES ($1, $2, $3, $4, $5)",
        &[&organization.uuid(), &id.uuid(), &display_name, &key, &external_id],
    )
    .await
    .map(|_| ())
}

pub async fn describe(
    tx: &Tx,
    organization: OrganizationId,
    id: GroupId,
    (display_name, key): (&str, &str),
    external_id: Option<&str>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE organization_group SET display_name = $3, display_name_key = $4, external_id = $5,
             version = version + 1, modified_at = clock_timestamp()
         WHERE organization_id = $1 AND group_id = $2",
        &[&organization.uuid(), &id.uuid(), &display_name, &key, &external_id],
    )
    .await
    .map(|_| ())
}

/// Sets the role that members have; [`reconcile`] follows.
pub async fn set_role(
    tx: &Tx,
    organization: OrganizationId,
    id: GroupId,
    role: Option<&str>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE organization_group SET role_key = $3, version = version + 1, modified_at = clock_timestamp()
         WHERE organization_id = $1 AND group_id = $2",
        &[&organization.uuid(), &id.uuid(), &role],
    )
    .await
    .map(|_| ())
}

/// The members who left with it.
pub async fn remove(
    tx: &Tx,
    organization: OrganizationId,
    id: GroupId,
) -> Result<Vec<MembershipId>, StoreError> {
    let rows = tx
        .query(
            "WITH gone AS (DELETE FROM organization_group WHERE organization_id = $1 AND group_id = $2)
             DELETE FROM organization_group_member WHERE organization_id = $1 AND group_id = $2
             RETURNING membership_id",
            &[&organization.uuid(), &id.uuid()],
        )
        .await?;
    let read = |row| Ok(Decode::keyed::<Uuid>("organization_group_member", "membership_id", row)?.1.into());
    rows.iter().map(read).collect()
}
