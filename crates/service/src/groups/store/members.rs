//! Who is in which group.

use porteiro_protocol::id::{GroupId, Id, MembershipId, OrganizationId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{
    super::{Belonging, Group, MemberChange, MembersChanged},
    GROUPS, groups,
};
use crate::store::{Decode, Reader, StoreError, Tx};

/// Whether one of these ids is nobody's whom a directory provisioned.
pub async fn unknown_member(
    tx: &Tx,
    organization: OrganizationId,
    ids: &[Uuid],
) -> Result<Option<Uuid>, StoreError> {
    let rows = tx
        .query(
            "SELECT asked.id FROM unnest($2::uuid[]) asked (id)
             WHERE NOT EXISTS (SELECT 1 FROM membership m WHERE m.organization_id = $1
                 AND m.membership_id = asked.id AND m.state <> 'removed' AND m.user_name_key IS NOT NULL)
             LIMIT 1",
            &[&organization.uuid(), &ids],
        )
        .await?;
    rows.first().map(|row| Ok(Decode::new("membership", "asked", row).get("id")?)).transpose()
}

/// Changes the members of a group, whatever they are now. The group's version changes only if somebody came or left.
pub async fn change_members(
    tx: &Tx,
    organization: OrganizationId,
    id: GroupId,
    change: &MemberChange,
) -> Result<MembersChanged, StoreError> {
    let (add, remove): (Vec<Uuid>, Vec<Uuid>) =
        (change.add.iter().copied().collect(), change.remove.iter().copied().collect());
    // Who moves a few members does not read the whole group.
    let leaving = if change.only {
        "(gm.membership_id = ANY($4::uuid[])
          OR gm.membership_id NOT IN (SELECT a.id FROM unnest($3::uuid[]) a (id)))"
    } else {
        "gm.membership_id = ANY($4::uuid[])"
    };
    let sql = format!(
            "WITH gone AS (
                 DELETE FROM organization_group_member gm
                 WHERE gm.organization_id = $1 AND gm.group_id = $2 AND {leaving}
                 RETURNING gm.membership_id
             ), came AS (
                 INSERT INTO organization_group_member (organization_id, group_id, membership_id)
                 SELECT m.organization_id, $2, m.membership_id
                 FROM unnest($3::uuid[]) a (id) JOIN membership m ON m.organization_id = $1 AND m.membership_id = a.id
                 WHERE m.state <> 'removed' AND m.user_name_key IS NOT NULL
                 ON CONFLICT DO NOTHING RETURNING membership_id
             ), marked AS (
                 UPDATE organization_group SET version = version + 1, modified_at = clock_timestamp(),
                     size = size + (SELECT count(*) FROM came) - (SELECT count(*) FROM gone)
                 WHERE organization_id = $1 AND group_id = $2
                   AND (EXISTS (SELECT 1 FROM gone) OR EXISTS (SELECT 1 FROM came))
             )
             SELECT membership_id, true AS came FROM came UNION ALL SELECT membership_id, false FROM gone"
    );
    let rows = tx.query(&sql, &[&organization.uuid(), &id.uuid(), &add, &remove]).await?;
    let mut changed = MembersChanged::default();
    for row in &rows {
        let (row, member) = Decode::keyed::<Uuid>("organization_group_member", "membership_id", row)?;
        let list = if row.get("came")? { &mut changed.added } else { &mut changed.removed };
        list.push(member.into());
    }
    Ok(changed)
}

/// Whether the group's members are not yet as the change wants them. Each member that it names is looked up by the key;
/// `OFFSET 0` keeps the planner from reading the whole group instead.
pub async fn differs(
    reader: &impl Reader,
    organization: OrganizationId,
    group: &Group,
    change: &MemberChange,
) -> Result<bool, StoreError> {
    if change.is_nothing() {
        return Ok(false);
    }
    let (add, remove): (Vec<Uuid>, Vec<Uuid>) =
        (change.add.iter().copied().collect(), change.remove.iter().copied().collect());
    let rows = reader
        .rows(
            "groups.differs",
            "SELECT EXISTS (SELECT 1 FROM unnest($3::uuid[]) a (id) WHERE NOT EXISTS (
                     SELECT 1 FROM organization_group_member gm WHERE gm.organization_id = $1 AND gm.group_id = $2
                         AND gm.membership_id = a.id OFFSET 0))
                 OR EXISTS (SELECT 1 FROM unnest($4::uuid[]) r (id) WHERE EXISTS (
                     SELECT 1 FROM organization_group_member gm WHERE gm.organization_id = $1 AND gm.group_id = $2
                         AND gm.membership_id = r.id OFFSET 0)) AS differs",
            &[&organization.uuid(), &group.id.uuid(), &add, &remove],
        )
        .await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("a comparison without a row".into()))?;
    let others = change.only && usize::try_from(group.size).is_ok_and(|size| size != add.len());
    Ok(others || Decode::new("organization_group_member", group.id, row).get("differs")?)
}

fn belongings(rows: &[Row]) -> Result<Vec<Belonging>, StoreError> {
    let read = |row| {
        let (row, group) = Decode::keyed::<Uuid>("organization_group_member", "group_id", row)?;
        let member = row.get::<Uuid>("membership_id")?.into();
        Ok(Belonging { group: group.into(), member, display_name: row.get("display_name")? })
    };
    rows.iter().map(read).collect()
}

/// The members of these groups.
pub async fn members(
    reader: &impl Reader,
    organization: OrganizationId,
    groups: &[GroupId],
) -> Result<Vec<Belonging>, StoreError> {
    let ids: Vec<Uuid> = groups.iter().copied().map(Id::uuid).collect();
    let rows = reader
        .rows(
            "groups.members",
            "SELECT gm.group_id, gm.membership_id, m.display_name FROM organization_group_member gm
                 JOIN membership m ON m.organization_id = gm.organization_id AND m.membership_id = gm.membership_id
             WHERE gm.organization_id = $1 AND gm.group_id = ANY($2) ORDER BY gm.group_id, gm.membership_id",
            &[&organization.uuid(), &ids],
        )
        .await?;
    belongings(&rows)
}

/// The groups of these members, at most `most` of each.
pub async fn of_members(
    reader: &impl Reader,
    organization: OrganizationId,
    members: &[MembershipId],
    most: i64,
) -> Result<Vec<Belonging>, StoreError> {
    let ids: Vec<Uuid> = members.iter().copied().map(Id::uuid).collect();
    let rows = reader
        .rows(
            "groups.of_members",
            "SELECT gm.group_id, asked.id AS membership_id, g.display_name FROM unnest($2::uuid[]) asked (id)
                 CROSS JOIN LATERAL (SELECT f.group_id FROM organization_group_member f
                     WHERE f.organization_id = $1 AND f.membership_id = asked.id ORDER BY f.group_id LIMIT $3) gm
                 JOIN organization_group g ON g.organization_id = $1 AND g.group_id = gm.group_id
             ORDER BY asked.id, gm.group_id",
            &[&organization.uuid(), &ids, &most],
        )
        .await?;
    belongings(&rows)
}

/// All groups of a member, oldest first.
pub async fn of_member(
    reader: &impl Reader,
    organization: OrganizationId,
    member: MembershipId,
) -> Result<Vec<Group>, StoreError> {
    let sql = format!(
        "{GROUPS} JOIN organization_group_member gm ON gm.organization_id = $1 AND gm.group_id = g.group_id
         WHERE g.organization_id = $1 AND gm.membership_id = $2 ORDER BY g.created_at, g.group_id"
    );
    groups(&reader.rows("groups.of_member", &sql, &[&organization.uuid(), &member.uuid()]).await?)
}

/// Which of these members are in which of these groups.
pub async fn among(
    reader: &impl Reader,
    organization: OrganizationId,
    groups: &[GroupId],
    members: &[MembershipId],
) -> Result<Vec<Belonging>, StoreError> {
    let groups: Vec<Uuid> = groups.iter().copied().map(Id::uuid).collect();
    let members: Vec<Uuid> = members.iter().copied().map(Id::uuid).collect();
    let rows = reader
        .rows(
            "groups.among",
            "SELECT group_id, membership_id, '' AS display_name FROM organization_group_member
             WHERE organization_id = $1 AND group_id = ANY($2) AND membership_id = ANY($3)",
            &[&organization.uuid(), &groups, &members],
        )
        .await?;
    belongings(&rows)
}
