use porteiro_protocol::{id::OrganizationId, permission::Permission};
use tokio_postgres::Row;

use super::Role;
use crate::store::{Decode, Reader, RowError, StoreError};

impl TryFrom<&Row> for Role {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (role, key) = Decode::keyed::<String>("role", "role_key", row)?;
        let permissions: Vec<String> = role.get("permissions")?;
        let parse = |text: &String| Permission::parse(text).map_err(|error| role.wrong("permissions", error));
        Ok(Self {
            key,
            name: role.get("name")?,
            permissions: permissions.iter().map(parse).collect::<Result<_, _>>()?,
            version: role.get("version")?,
            created_at: role.get("created_at")?,
        })
    }
}

/// All custom roles of the organization, by key. They are few (`management/roles` limits them).
pub async fn list(reader: &impl Reader, organization: OrganizationId) -> Result<Vec<Role>, StoreError> {
    let rows = reader
        .rows(
            "roles.list",
            "SELECT role_key, name, permissions, version, created_at FROM role
             WHERE organization_id = $1 ORDER BY role_key",
            &[&organization.uuid()],
        )
        .await?;
    rows.iter().map(Role::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

pub async fn find(
    reader: &impl Reader,
    organization: OrganizationId,
    key: &str,
) -> Result<Option<Role>, StoreError> {
    let rows = reader
        .rows(
            "roles.find",
            "SELECT role_key, name, permissions, version, created_at FROM role
             WHERE organization_id = $1 AND role_key = $2",
            &[&organization.uuid(), &key],
        )
        .await?;
    rows.first().map(Role::try_from).transpose().map_err(Into::into)
}
