//! Users of a directory in the database: memberships with a user name.

use porteiro_protocol::{
    id::{Id, MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use super::decide::UserForm;
use crate::{
    members::State,
    store::{Decode, Reader, RowError, StoreError, Tx},
};

/// A membership, as its directory sees it.
#[derive(Debug, Clone)]
pub(super) struct User {
    pub id: MembershipId,
    pub form: UserForm,
    /// The directory's last word is that the user is not active, whoever else disabled the member.
    pub deactivated: bool,
    pub version: i64,
    pub created_at: OffsetDateTime,
    pub modified_at: OffsetDateTime,
}

/// What is read of a membership `m`.
const COLUMNS: &str = "m.membership_id, m.user_name, m.external_id, m.state,
        m.deactivated OR m.disabled_by_directory AS deactivated, m.profile, m.version, m.created_at,
        coalesce(m.modified_at, m.created_at) AS modified_at";

/// The living users of the organization `$1`; `rest` has more conditions and the order.
fn living(rest: &str) -> String {
    format!(
        "SELECT {COLUMNS} FROM membership m
         WHERE m.organization_id = $1 AND m.state <> 'removed' AND m.user_name_key IS NOT NULL {rest}"
    )
}

impl TryFrom<&Row> for User {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (row, id) = Decode::keyed::<Uuid>("membership", "membership_id", row)?;
        let active = match row.parsed("state")? {
            State::Provisioned | State::Active => true,
            State::Disabled | State::Removed => false,
        };
        let profile: Option<Value> = row.get("profile")?;
        Ok(Self {
            id: id.into(),
            form: UserForm {
                user_name: row.get("user_name")?,
                external_id: row.get("external_id")?,
                active,
                profile: match profile {
                    Some(Value::Object(members)) => members,
                    _ => serde_json::Map::new(),
                },
            },
            deactivated: row.get("deactivated")?,
            version: row.get("version")?,
            created_at: row.get("created_at")?,
            modified_at: row.get("modified_at")?,
        })
    }
}

fn users(rows: &[Row]) -> Result<Vec<User>, StoreError> {
    rows.iter().map(User::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

pub(super) async fn find(
    reader: &impl Reader,
    organization: OrganizationId,
    id: MembershipId,
) -> Result<Option<User>, StoreError> {
    let sql = living("AND m.membership_id = $2");
    Ok(users(&reader.rows("scim.find", &sql, &[&organization.uuid(), &id.uuid()]).await?)?.pop())
}

pub(super) async fn by_user_name(
    reader: &impl Reader,
    organization: OrganizationId,
    key: &str,
) -> Result<Option<User>, StoreError> {
    let sql = living("AND m.user_name_key = $2");
    Ok(users(&reader.rows("scim.by_user_name", &sql, &[&organization.uuid(), &key]).await?)?.pop())
}

pub(super) async fn by_external_id(
    reader: &impl Reader,
    organization: OrganizationId,
    external_id: &str,
) -> Result<Option<User>, StoreError> {
    let sql = living("AND m.external_id = $2");
    let rows = reader.rows("scim.by_external_id", &sql, &[&organization.uuid(), &external_id]).await?;
    Ok(users(&rows)?.pop())
}

/// A page of the users with an address, in lower case.
pub(super) async fn by_email(
    reader: &impl Reader,
    organization: OrganizationId,
    key: &str,
    after: Option<(OffsetDateTime, Uuid)>,
    limit: i64,
) -> Result<Vec<User>, StoreError> {
    // Found first, and sorted then: otherwise all users are read in the order of the list.
    let found = living("AND m.email_keys @> ARRAY[$2::text]");
    let sql = format!(
        "WITH found AS MATERIALIZED ({found})
         SELECT * FROM found WHERE (created_at, membership_id) > ($3, $4) ORDER BY created_at, membership_id LIMIT $5"
    );
    let (at, id) = after.unwrap_or((OffsetDateTime::UNIX_EPOCH, Uuid::nil()));
    users(&reader.rows("scim.by_email", &sql, &[&organization.uuid(), &key, &at, &id, &limit]).await?)
}

/// A page by number, in the order in which they were created.
pub(super) async fn list_at(
    reader: &impl Reader,
    organization: OrganizationId,
    skip: i64,
    limit: i64,
) -> Result<Vec<User>, StoreError> {
    let sql = living("ORDER BY m.created_at, m.membership_id OFFSET $2 LIMIT $3");
    users(&reader.rows("scim.list_at", &sql, &[&organization.uuid(), &skip, &limit]).await?)
}

/// A page after a user.
pub(super) async fn list_after(
    reader: &impl Reader,
    organization: OrganizationId,
    after: Option<(OffsetDateTime, Uuid)>,
    limit: i64,
) -> Result<Vec<User>, StoreError> {
    let sql = living(
        "AND (m.created_at, m.membership_id) > ($2, $3) ORDER BY m.created_at, m.membership_id LIMIT $4",
    );
    let (at, id) = after.unwrap_or((OffsetDateTime::UNIX_EPOCH, Uuid::nil()));
    users(&reader.rows("scim.list_after", &sql, &[&organization.uuid(), &at, &id, &limit]).await?)
}

pub(super) async fn count(reader: &impl Reader, organization: OrganizationId) -> Result<i64, StoreError> {
    let sql = "SELECT count(*) AS number FROM membership
               WHERE organization_id = $1 AND state <> 'removed' AND user_name_key IS NOT NULL";
    let rows = reader.rows("scim.count", sql, &[&organization.uuid()]).await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("a count without a row".into()))?;
    Ok(Decode::new("membership", "count", row).get("number")?)
}

/// Another living user who has the name or the directory's key already, and whether it is the name.
pub(super) async fn taken(
    reader: &impl Reader,
    organization: OrganizationId,
    own: Option<MembershipId>,
    form: &UserForm,
) -> Result<Option<(MembershipId, bool)>, StoreError> {
    let sql = "SELECT m.membership_id, true AS has_name FROM membership m
               WHERE m.organization_id = $1 AND m.state <> 'removed' AND m.user_name_key IS NOT NULL
                   AND m.user_name_key = $2 AND m.membership_id <> $4
               UNION ALL
               SELECT m.membership_id, false FROM membership m
               WHERE m.organization_id = $1 AND m.state <> 'removed' AND m.user_name_key IS NOT NULL
                   AND m.external_id = $3 AND m.membership_id <> $4
               ORDER BY has_name DESC LIMIT 1";
    let own = own.map_or(Uuid::nil(), Id::uuid);
    let (key, external_id) = (form.key(), &form.external_id);
    let rows = reader.rows("scim.taken", sql, &[&organization.uuid(), &key, external_id, &own]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let (row, id) = Decode::keyed::<Uuid>("membership", "membership_id", row)?;
    Ok(Some((id.into(), row.get("has_name")?)))
}

/// A new membership without an account, in one role; counted with all that there have been, and `None` beyond `most`. A
/// deleted user of the same name is what it follows. `by`: who provisions it, for one that is disabled from the start.
pub(super) async fn insert(
    tx: &Tx,
    organization: OrganizationId,
    id: MembershipId,
    form: &UserForm,
    (role, by): (&str, &str),
    most: i64,
) -> Result<Option<User>, StoreError> {
    let state = if form.active { State::Provisioned } else { State::Disabled };
    let profile = Value::Object(form.profile.clone());
    let sql = format!(
        "WITH counted AS (
             INSERT INTO provisioning_head AS h (organization_id, users) VALUES ($1::uuid, 1)
             ON CONFLICT (organization_id) DO UPDATE SET users = h.users + 1 RETURNING users
         ), m AS (
             INSERT INTO membership (organization_id, membership_id, state, source, display_name, primary_role,
                 user_name, user_name_key, external_id, profile, email_keys, disabled_at, disabled_by,
                 disabled_by_directory, deactivated, previous_id)
             SELECT $1::uuid, $2::uuid, $3::text, 'scim', $4::text, $5::text, $6::text, $7::text, $8::text, $9::jsonb,
                 $10::text[], CASE WHEN $3 = 'disabled' THEN now() END, CASE WHEN $3 = 'disabled' THEN $11::text END,
                 $3 = 'disabled', $3 = 'disabled',
                 (SELECT d.membership_id FROM membership d
                  WHERE d.organization_id = $1 AND d.user_name_key = $7 AND d.state = 'removed'
                  ORDER BY d.disabled_at DESC LIMIT 1)
             FROM counted WHERE users <= $12::int8
             RETURNING *
         ), role AS (
             INSERT INTO membership_role (organization_id, role_key, created_at, membership_id)
             SELECT organization_id, $5, created_at, membership_id FROM m
         )
         SELECT {COLUMNS} FROM m"
    );
    let rows = tx
        .query(
            &sql,
            &[
                &organization.uuid(),
                &id.uuid(),
                &state.as_str(),
                &form.display_name(),
                &role,
                &form.user_name,
                &form.key(),
                &form.external_id,
                &profile,
                &form.email_keys(),
                &by,
                &most,
            ],
        )
        .await?;
    Ok(users(&rows)?.pop())
}

/// The directory deactivates a member whom somebody else disabled: whoever enables them again does not undo this.
pub(super) async fn deactivate_too(
    tx: &Tx,
    organization: OrganizationId,
    id: MembershipId,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE membership SET deactivated = true
         WHERE organization_id = $1 AND membership_id = $2 AND state = 'disabled' AND NOT deactivated",
        &[&organization.uuid(), &id.uuid()],
    )
    .await
    .map(|_| ())
}

/// What the directory says; the state is changed by the cut.
pub(super) async fn update(
    tx: &Tx,
    organization: OrganizationId,
    id: MembershipId,
    form: &UserForm,
) -> Result<(), StoreError> {
    let profile = Value::Object(form.profile.clone());
    tx.execute(
        "UPDATE membership SET display_name = $3, user_name = $4, user_name_key = $5, external_id = $6, profile = $7,
             email_keys = $8, version = version + 1, modified_at = now()
         WHERE organization_id = $1 AND membership_id = $2 AND state <> 'removed'",
        &[
            &organization.uuid(),
            &id.uuid(),
            &form.display_name(),
            &form.user_name,
            &form.key(),
            &form.external_id,
            &profile,
            &form.email_keys(),
        ],
    )
    .await
    .map(|_| ())
}

/// A removed membership becomes a tombstone: nothing of the profile is left, and its account may be a member again, as
/// somebody else (docs/decisions/0124).
pub(super) async fn bury(tx: &Tx, organization: OrganizationId, id: MembershipId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE membership SET account_id = NULL, profile = NULL, email_keys = NULL, display_name = user_name
         WHERE organization_id = $1 AND membership_id = $2 AND state = 'removed'",
        &[&organization.uuid(), &id.uuid()],
    )
    .await
    .map(|_| ())
}
