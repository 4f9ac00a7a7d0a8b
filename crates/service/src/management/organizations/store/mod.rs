//! Statements about organizations, and about whom a change of their policy affects.

mod affected;

use porteiro_protocol::{
    id::{AccountId, ConnectionId, OrganizationId},
    time::OffsetDateTime,
};
use uuid::Uuid;

pub(super) use affected::{Affected, Loses, affected};

use super::decide::Said;
use crate::{
    organizations::{Organization, Policy, Status},
    permissions::OWNER,
    store::{Decode, Reader, StoreError, Tx},
};

/// How long a former slug leads to its organization.
const ALIAS_DAYS: i32 = 90;

#[derive(Debug, Clone)]
pub struct Suspension {
    pub at: OffsetDateTime,
    pub by: Option<String>,
    pub reason_code: String,
    pub note: Option<String>,
}

/// `None` where it is not suspended.
pub(super) async fn suspension(
    reader: &impl Reader,
    id: OrganizationId,
) -> Result<Option<Suspension>, StoreError> {
    let rows = reader
        .rows(
            "organizations.suspension",
            "SELECT suspended_at, suspended_by, suspend_reason, suspend_note FROM organization
             WHERE organization_id = $1 AND status = 'suspended'",
            &[&id.uuid()],
        )
        .await?;
    let read = |row| {
        let row = Decode::new("organization", id, row);
        // Both may be null if the organization was suspended by hand in the database.
        let at: Option<OffsetDateTime> = row.get("suspended_at")?;
        let reason: Option<String> = row.get("suspend_reason")?;
        Ok(Suspension {
            at: at.unwrap_or(OffsetDateTime::UNIX_EPOCH),
            by: row.get("suspended_by")?,
            reason_code: reason.unwrap_or_default(),
            note: row.get("suspend_note")?,
        })
    };
    rows.first().map(read).transpose()
}

/// The number of organizations that a person created and is still a member of.
pub(super) async fn made_by(tx: &Tx, account: AccountId) -> Result<i64, StoreError> {
    let rows = tx
        .query(
            "SELECT count(*) AS made FROM membership
             WHERE account_id = $1 AND source = 'founder' AND state <> 'removed'",
            &[&account.uuid()],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(0) };
    Ok(Decode::new("membership", account, row).get("made")?)
}

/// `false` if another organization has the new slug. The old slug leads here for `ALIAS_DAYS`.
pub(super) async fn move_slug(tx: &Tx, id: OrganizationId, old: &str, new: &str) -> Result<bool, StoreError> {
    let claimed = tx
        .execute(
            "INSERT INTO organization_slug AS s (slug, organization_id) VALUES ($1, $2)
             ON CONFLICT (slug) DO UPDATE SET organization_id = excluded.organization_id, until = NULL
             WHERE s.until < now() OR (s.organization_id = excluded.organization_id AND s.until IS NOT NULL)",
            &[&new, &id.uuid()],
        )
        .await?;
    if claimed == 0 {
        return Ok(false);
    }
    tx.execute(
        "UPDATE organization_slug SET until = now() + make_interval(days => $3)
         WHERE slug = $1 AND organization_id = $2",
        &[&old, &id.uuid(), &ALIAS_DAYS],
    )
    .await?;
    Ok(true)
}

pub(super) async fn set_said(tx: &Tx, id: OrganizationId, said: &Said) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE organization SET name = $2, slug = $3, locale = $4, version = version + 1
         WHERE organization_id = $1",
        &[&id.uuid(), &said.name, &said.slug, &said.locale.as_str()],
    )
    .await
    .map(|_| ())
}

pub(super) async fn set_policy(tx: &Tx, id: OrganizationId, policy: &Policy) -> Result<(), StoreError> {
    let policy = serde_json::to_value(policy).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    tx.execute(
        "UPDATE organization SET policy = $2, version = version + 1 WHERE organization_id = $1",
        &[&id.uuid(), &policy],
    )
    .await
    .map(|_| ())
}

/// `false` if it was suspended already.
pub(super) async fn suspend(
    tx: &Tx,
    id: OrganizationId,
    by: &str,
    reason_code: &str,
    note: Option<&str>,
) -> Result<bool, StoreError> {
    tx.execute(
        "UPDATE organization SET status = 'suspended', suspended_at = now(), suspended_by = $2,
             suspend_reason = $3, suspend_note = $4, version = version + 1
         WHERE organization_id = $1 AND status = 'enabled'",
        &[&id.uuid(), &by, &reason_code, &note],
    )
    .await
    .map(|suspended| suspended == 1)
}

pub(super) async fn resume(tx: &Tx, id: OrganizationId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE organization SET status = 'enabled', suspended_at = NULL, suspended_by = NULL,
             suspend_reason = NULL, suspend_note = NULL, version = version + 1
         WHERE organization_id = $1 AND status = 'suspended'",
        &[&id.uuid()],
    )
    .await
    .map(|_| ())
}

/// A filter, and the position in the list.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub status: Option<Status>,
    pub slug_prefix: Option<&'a str>,
    pub created_after: Option<OffsetDateTime>,
    pub after: Option<(OffsetDateTime, OrganizationId)>,
    pub rows: i64,
}

pub(super) async fn list(reader: &impl Reader, wanted: &Wanted<'_>) -> Result<Vec<Organization>, StoreError> {
    // The statement contains only the conditions asked for: one plan for all of them would be slow.
    let status = match wanted.status {
        None => "",
        Some(Status::Enabled) => "AND o.status = 'enabled'",
        Some(Status::Suspended) => "AND o.status = 'suspended'",
    };
    let prefix = wanted
        .slug_prefix
        .map(|prefix| format!("{}%", prefix.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_")));
    let by_slug = if prefix.is_some() {
        "AND o.organization_id IN (SELECT s.organization_id FROM organization_slug s
             WHERE s.slug LIKE $5 AND (s.until IS NULL OR s.until > now()))"
    } else {
        "AND $5::text IS NULL"
    };
    let sql = format!(
        "SELECT o.organization_id, o.slug, o.name, o.status, o.policy, o.locale, o.authority_version, o.version,
                o.created_at
         FROM organization o
         WHERE (o.created_at, o.organization_id) > ($1, $2) AND o.created_at > $3 {status} {by_slug}
         ORDER BY o.created_at, o.organization_id LIMIT $4"
    );
    let beginning = OffsetDateTime::UNIX_EPOCH;
    let (at, id) = wanted.after.map_or((beginning, Uuid::nil()), |(at, id)| (at, id.uuid()));
    let created_after = wanted.created_after.unwrap_or(beginning);
    let rows =
        reader.rows("organizations.list", &sql, &[&at, &id, &created_after, &wanted.rows, &prefix]).await?;
    rows.iter().map(Organization::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

/// Whether the account has a usable passkey.
pub(super) async fn has_passkey(tx: &Tx, account: AccountId) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT 1 FROM credential WHERE account_id = $1 AND kind = 'passkey' AND state = 'active' LIMIT 1",
            &[&account.uuid()],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Whether an active owner has an identity by this connection, and a credential of their own.
pub(super) async fn has_linked_owner(
    tx: &Tx,
    id: OrganizationId,
    connection: ConnectionId,
) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT 1 FROM directory_identity i
             JOIN membership m USING (organization_id, membership_id)
             JOIN membership_role r USING (organization_id, membership_id)
             WHERE i.organization_id = $1 AND i.connection_id = $2 AND m.state = 'active'
               AND r.role_key = $3 AND EXISTS (
                   SELECT 1 FROM credential c WHERE c.account_id = m.account_id AND c.state = 'active') LIMIT 1",
            &[&id.uuid(), &connection.uuid(), &OWNER],
        )
        .await?;
    Ok(!rows.is_empty())
}
