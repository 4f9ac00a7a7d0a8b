//! Roles of members that groups give.

use porteiro_protocol::id::{Id, MembershipId, OrganizationId};
use uuid::Uuid;

use super::super::Followed;
use crate::store::{Decode, StoreError, Tx};

/// Gives these members the roles of their groups and takes those that no group gives any more; returns whose roles
/// changed. The caller holds the organization's lock. `NOT IN` is a hash table whatever number of members the planner
/// expects; a join would be quadratic where it expects few.
pub async fn reconcile(
    tx: &Tx,
    organization: OrganizationId,
    members: &[MembershipId],
) -> Result<Vec<Followed>, StoreError> {
    let organization = organization.uuid();
    let ids: Vec<Uuid> = members.iter().copied().map(Id::uuid).collect();
    let rows = tx
        .query(
            "WITH wanted AS (
                 SELECT DISTINCT m.membership_id, m.created_at, g.role_key
                 FROM unnest($2::uuid[]) asked (id)
                     JOIN membership m ON m.organization_id = $1 AND m.membership_id = asked.id
                     JOIN organization_group_member gm ON gm.organization_id = $1 AND gm.membership_id = asked.id
                     JOIN organization_group g ON g.organization_id = $1 AND g.group_id = gm.group_id
                 WHERE m.state <> 'removed' AND g.role_key IS NOT NULL
             ), lost AS (
                 DELETE FROM membership_role mr USING unnest($2::uuid[]) asked (id)
                 WHERE mr.organization_id = $1 AND mr.membership_id = asked.id AND mr.by_group
                   AND (mr.membership_id, mr.role_key) NOT IN (SELECT membership_id, role_key FROM wanted)
                 RETURNING mr.membership_id
             ), got AS (
                 INSERT INTO membership_role (organization_id, role_key, created_at, membership_id, by_group)
                 SELECT $1, role_key, created_at, membership_id, true FROM wanted
                 ON CONFLICT DO NOTHING RETURNING membership_id
             )
             SELECT membership_id FROM lost UNION SELECT membership_id FROM got",
            &[&organization, &ids],
        )
        .await?;
    let read = |row| Ok(Decode::keyed::<Uuid>("membership_role", "membership_id", row)?.1);
    let changed = rows.iter().map(read).collect::<Result<Vec<Uuid>, StoreError>>()?;
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    // Nobody is without a role.
    tx.execute(
        "INSERT INTO membership_role (organization_id, role_key, created_at, membership_id)
         SELECT m.organization_id, 'member', m.created_at, m.membership_id
         FROM unnest($2::uuid[]) asked (id) JOIN membership m ON m.organization_id = $1 AND m.membership_id = asked.id
         WHERE m.state <> 'removed' AND NOT EXISTS (SELECT 1 FROM membership_role mr
             WHERE mr.organization_id = $1 AND mr.membership_id = m.membership_id)",
        &[&organization, &changed],
    )
    .await?;
    let rows = tx
        .query(
            "UPDATE membership m SET version = m.version + 1, modified_at = now(),
                 primary_role = CASE WHEN m.primary_role = ANY(worn.roles) THEN m.primary_role ELSE worn.roles[1] END
             FROM (SELECT mr.membership_id, array_agg(mr.role_key ORDER BY mr.by_group, mr.role_key) AS roles
                   FROM unnest($2::uuid[]) asked (id)
                       JOIN membership_role mr ON mr.organization_id = $1 AND mr.membership_id = asked.id
                   GROUP BY mr.membership_id) worn
             WHERE m.organization_id = $1 AND m.membership_id = worn.membership_id
             RETURNING m.membership_id, m.account_id, worn.roles",
            &[&organization, &changed],
        )
        .await?;
    let read = |row| {
        let (row, member) = Decode::keyed::<Uuid>("membership", "membership_id", row)?;
        let account = row.get::<Option<Uuid>>("account_id")?.map(Into::into);
        Ok(Followed { member: member.into(), account, roles: row.get("roles")? })
    };
    rows.iter().map(read).collect()
}
