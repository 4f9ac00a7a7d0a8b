use std::collections::BTreeSet;

use porteiro_protocol::{
    id::{MembershipId, OrganizationId},
    permission::Permission,
};
use uuid::Uuid;

use crate::store::{Decode, Reader, StoreError, Tx};

pub(super) async fn count(tx: &Tx, organization: OrganizationId) -> Result<i64, StoreError> {
    let rows = tx
        .query("SELECT count(*) AS number FROM role WHERE organization_id = $1", &[&organization.uuid()])
        .await?;
    let number = rows.first().map(|row| Decode::new("role", organization, row).get("number"));
    Ok(number.transpose()?.unwrap_or(0))
}

/// `false` if the key is taken.
pub(super) async fn insert(
    tx: &Tx,
    organization: OrganizationId,
    key: &str,
    name: &str,
    permissions: &BTreeSet<Permission>,
) -> Result<bool, StoreError> {
    let permissions: Vec<&str> = permissions.iter().map(Permission::as_str).collect();
    let made = tx
        .execute(
            "INSERT INTO role (organization_id, role_key, name, permissions) VALUES ($1, $2, $3, $4)
             ON CONFLICT DO NOTHING",
            &[&organization.uuid(), &key, &name, &permissions],
        )
        .await?;
    Ok(made == 1)
}

pub(super) async fn replace(
    tx: &Tx,
    organization: OrganizationId,
    key: &str,
    name: &str,
    permissions: &BTreeSet<Permission>,
) -> Result<(), StoreError> {
    let permissions: Vec<&str> = permissions.iter().map(Permission::as_str).collect();
    tx.execute(
        "UPDATE role SET name = $3, permissions = $4, version = version + 1
         WHERE organization_id = $1 AND role_key = $2",
        &[&organization.uuid(), &key, &name, &permissions],
    )
    .await
    .map(|_| ())
}

pub(super) async fn remove(tx: &Tx, organization: OrganizationId, key: &str) -> Result<(), StoreError> {
    tx.execute("DELETE FROM role WHERE organization_id = $1 AND role_key = $2", &[&organization.uuid(), &key])
        .await
        .map(|_| ())
}

/// Whether any member, active or not, has the role, a pending invitation offers it, or a group gives it.
pub(super) async fn is_in_use(tx: &Tx, organization: OrganizationId, key: &str) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT EXISTS (SELECT 1 FROM membership_role WHERE organization_id = $1 AND role_key = $2)
                 OR EXISTS (SELECT 1 FROM invitation WHERE organization_id = $1 AND role_key = $2
                            AND state = 'pending' AND expires_at > now())
                 OR EXISTS (SELECT 1 FROM organization_group WHERE organization_id = $1 AND role_key = $2) AS worn",
            &[&organization.uuid(), &key],
        )
        .await?;
    let worn = rows.first().map(|row| Decode::new("membership_role", key, row).get("worn"));
    Ok(worn.transpose()?.unwrap_or(false))
}

/// The sets of roles of active members with this role, each with the number of members. A set is written as its keys in
/// order, separated by spaces.
pub(super) async fn role_sets(
    reader: &impl Reader,
    organization: OrganizationId,
    key: &str,
) -> Result<Vec<(String, i64)>, StoreError> {
    let rows = reader
        .rows(
            "roles.role_sets",
            "SELECT worn.roles, count(*) AS number
             FROM membership_role mr
                 JOIN membership m ON m.organization_id = mr.organization_id AND m.membership_id = mr.membership_id
                 CROSS JOIN LATERAL (
                     SELECT string_agg(o.role_key, ' ' ORDER BY o.role_key) AS roles FROM membership_role o
                     WHERE o.organization_id = mr.organization_id AND o.membership_id = mr.membership_id) worn
             WHERE mr.organization_id = $1 AND mr.role_key = $2 AND m.state = 'active'
             GROUP BY worn.roles",
            &[&organization.uuid(), &key],
        )
        .await?;
    let read = |row| {
        let row = Decode::new("membership_role", key, row);
        Ok((row.get("roles")?, row.get("number")?))
    };
    rows.iter().map(read).collect()
}

/// A member, and its set of roles.
#[derive(Debug)]
pub(super) struct RoleMember {
    pub id: MembershipId,
    pub display_name: String,
    pub roles: String,
}

/// The first members with one of these sets.
pub(super) async fn members_with(
    reader: &impl Reader,
    organization: OrganizationId,
    key: &str,
    sets: &[String],
    most: i64,
) -> Result<Vec<RoleMember>, StoreError> {
    let rows = reader
        .rows(
            "roles.members_with",
            "SELECT m.membership_id, m.display_name, worn.roles
             FROM membership_role mr
                 JOIN membership m ON m.organization_id = mr.organization_id AND m.membership_id = mr.membership_id
                 CROSS JOIN LATERAL (
                     SELECT string_agg(o.role_key, ' ' ORDER BY o.role_key) AS roles FROM membership_role o
                     WHERE o.organization_id = mr.organization_id AND o.membership_id = mr.membership_id) worn
             WHERE mr.organization_id = $1 AND mr.role_key = $2 AND m.state = 'active' AND worn.roles = ANY($3)
             ORDER BY mr.created_at, mr.membership_id LIMIT $4",
            &[&organization.uuid(), &key, &sets, &most],
        )
        .await?;
    let read = |row| {
        let (member, id) = Decode::keyed::<Uuid>("membership", "membership_id", row)?;
        Ok(RoleMember {
            id: id.into(),
            display_name: member.get("display_name")?,
            roles: member.get("roles")?,
        })
    };
    rows.iter().map(read).collect()
}
