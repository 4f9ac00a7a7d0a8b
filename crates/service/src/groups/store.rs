use porteiro_protocol::{
    id::{GroupId, Id, MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{Belonging, Followed, Group, MemberChange, MembersChanged};
use crate::store::{Decode, Reader, RowError, StoreError, Tx};

/// All columns of groups. `WHERE` follows.
const GROUPS: &str =
    "SELECT g.group_id, g.display_name, g.external_id, g.role_key, g.version, g.created_at, g.modified_at,
        (SELECT count(*) FROM organization_group_member gm
         WHERE gm.organization_id = g.organization_id AND gm.group_id = g.group_id) AS size
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
    let rows = tx
        .query(
            "WITH gone AS (
                 DELETE FROM organization_group_member gm
                 WHERE gm.organization_id = $1 AND gm.group_id = $2
                   AND (EXISTS (SELECT 1 FROM unnest($4::uuid[]) r (id) WHERE r.id = gm.membership_id)
                        OR $5 AND NOT EXISTS (SELECT 1 FROM unnest($3::uuid[]) a (id) WHERE a.id = gm.membership_id))
                 RETURNING gm.membership_id
             ), came AS (
                 INSERT INTO organization_group_member (organization_id, group_id, membership_id)
                 SELECT m.organization_id, $2, m.membership_id
                 FROM unnest($3::uuid[]) a (id) JOIN membership m ON m.organization_id = $1 AND m.membership_id = a.id
                 WHERE m.state <> 'removed' AND m.user_name_key IS NOT NULL
                 ON CONFLICT DO NOTHING RETURNING membership_id
             ), marked AS (
                 UPDATE organization_group SET version = version + 1, modified_at = clock_timestamp()
                 WHERE organization_id = $1 AND group_id = $2
                   AND (EXISTS (SELECT 1 FROM gone) OR EXISTS (SELECT 1 FROM came))
             )
             SELECT membership_id, true AS came FROM came UNION ALL SELECT membership_id, false FROM gone",
            &[&organization.uuid(), &id.uuid(), &add, &remove, &change.only],
        )
        .await?;
    let mut changed = MembersChanged::default();
    for row in &rows {
        let (row, member) = Decode::keyed::<Uuid>("organization_group_member", "membership_id", row)?;
        let list = if row.get("came")? { &mut changed.added } else { &mut changed.removed };
        list.push(member.into());
    }
    Ok(changed)
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

/// The groups of these members.
pub async fn of_members(
    reader: &impl Reader,
    organization: OrganizationId,
    members: &[MembershipId],
) -> Result<Vec<Belonging>, StoreError> {
    let ids: Vec<Uuid> = members.iter().copied().map(Id::uuid).collect();
    let rows = reader
        .rows(
            "groups.of_members",
            "SELECT gm.group_id, gm.membership_id, g.display_name FROM organization_group_member gm
                 JOIN organization_group g ON g.organization_id = gm.organization_id AND g.group_id = gm.group_id
             WHERE gm.organization_id = $1 AND gm.membership_id = ANY($2) ORDER BY gm.membership_id, gm.group_id",
            &[&organization.uuid(), &ids],
        )
        .await?;
    belongings(&rows)
}

/// Gives these members the roles of their groups and takes those that no group gives any more; returns whose roles
/// changed. The caller holds the organization's lock.
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
                   AND NOT EXISTS (SELECT 1 FROM wanted w
                                   WHERE w.membership_id = mr.membership_id AND w.role_key = mr.role_key)
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
