//! Statements that change a membership. The caller holds the organization's lock.

use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};
use uuid::Uuid;

use crate::{
    members::{Member, State, Whom, find},
    permissions::OWNER,
    store::{Decode, StoreError, Tx},
};

/// How a membership ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Disabled,
    /// Disabled by the organization's directory, which may undo it as long as nobody else disables the member.
    Deactivated,
    Removed,
}

impl End {
    pub const fn state(self) -> State {
        match self {
            Self::Disabled | Self::Deactivated => State::Disabled,
            Self::Removed => State::Removed,
        }
    }
}

/// Locks the membership: until the end of the transaction it is not changed, and no grant is issued for it.
pub async fn lock(
    tx: &Tx,
    organization: OrganizationId,
    id: MembershipId,
) -> Result<Option<Member>, StoreError> {
    tx.query(
        "SELECT 1 FROM membership WHERE organization_id = $1 AND membership_id = $2 FOR UPDATE",
        &[&organization.uuid(), &id.uuid()],
    )
    .await?;
    find(tx, organization, Whom::Id(id)).await
}

/// Whether there is another owner: a person, with an active membership and an active account that will not be deleted.
pub async fn has_another_owner(
    tx: &Tx,
    organization: OrganizationId,
    but: MembershipId,
) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT 1 FROM membership_role mr
                 JOIN membership m ON m.organization_id = mr.organization_id AND m.membership_id = mr.membership_id
                 JOIN account a ON a.account_id = m.account_id
             WHERE mr.organization_id = $1 AND mr.role_key = $2 AND mr.membership_id <> $3
               AND m.state = 'active' AND a.state = 'active' AND a.deletion_at IS NULL
             LIMIT 1",
            &[&organization.uuid(), &OWNER, &but.uuid()],
        )
        .await?;
    Ok(!rows.is_empty())
}

pub async fn describe(
    tx: &Tx,
    organization: OrganizationId,
    id: MembershipId,
    display_name: &str,
    primary_role: &str,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE membership SET display_name = $3, primary_role = $4, version = version + 1
         WHERE organization_id = $1 AND membership_id = $2",
        &[&organization.uuid(), &id.uuid(), &display_name, &primary_role],
    )
    .await
    .map(|_| ())
}

/// Replaces the roles by these. Roles that groups give stay: they end with the group.
pub async fn set_roles(
    tx: &Tx,
    organization: OrganizationId,
    id: MembershipId,
    roles: &[String],
) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM membership_role
         WHERE organization_id = $1 AND membership_id = $2 AND role_key <> ALL($3) AND NOT by_group",
        &[&organization.uuid(), &id.uuid(), &roles],
    )
    .await?;
    tx.execute(
        "INSERT INTO membership_role (organization_id, role_key, created_at, membership_id)
         SELECT m.organization_id, role_key, m.created_at, m.membership_id
         FROM membership m CROSS JOIN unnest($3::text[]) role_key
         WHERE m.organization_id = $1 AND m.membership_id = $2
         ON CONFLICT DO NOTHING",
        &[&organization.uuid(), &id.uuid(), &roles],
    )
    .await
    .map(|_| ())
}

/// Ends a membership; `false` if it had already ended this way. Everything issued earlier is invalid from now on. Whoever
/// disables a member whom the directory had deactivated takes that over.
pub async fn end(
    tx: &Tx,
    organization: OrganizationId,
    id: MembershipId,
    end: End,
    by: &str,
    reason: Option<&str>,
) -> Result<bool, StoreError> {
    let ended = tx
        .execute(
            "UPDATE membership SET state = $3, grants_from = clock_timestamp(), version = version + 1,
                 modified_at = now(), disabled_at = now(), disabled_by = $4, disable_reason = $5,
                 disabled_by_directory = $6, deactivated = deactivated OR disabled_by_directory OR $6
             WHERE organization_id = $1 AND membership_id = $2 AND state <> 'removed'
               AND (state <> $3 OR disabled_by_directory AND NOT $6)",
            &[
                &organization.uuid(),
                &id.uuid(),
                &end.state().as_str(),
                &by,
                &reason,
                &(end == End::Deactivated),
            ],
        )
        .await?;
    if ended == 1 && end == End::Removed {
        tx.execute(
            "DELETE FROM membership_role WHERE organization_id = $1 AND membership_id = $2",
            &[&organization.uuid(), &id.uuid()],
        )
        .await?;
        tx.execute(
            "WITH gone AS (
                 DELETE FROM organization_group_member WHERE organization_id = $1 AND membership_id = $2
                 RETURNING group_id
             )
             UPDATE organization_group g SET size = g.size - 1, version = g.version + 1, modified_at = clock_timestamp()
             FROM gone WHERE g.organization_id = $1 AND g.group_id = gone.group_id",
            &[&organization.uuid(), &id.uuid()],
        )
        .await?;
    }
    Ok(ended == 1)
}

/// Whose disabling is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    Anybodys,
    OnlyTheDirectorys,
}

/// What became of a disabled member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enabled {
    Yes,
    /// Somebody's disabling is undone; the directory's stays.
    DeactivatedStill,
    /// It was not disabled, or by somebody whose decision this does not undo.
    No,
}

/// An unclaimed membership waits for its person again. What ended then stays ended: `grants_from` is now. A member whom
/// the directory deactivated as well stays disabled, by the directory alone.
pub async fn enable(
    tx: &Tx,
    organization: OrganizationId,
    id: MembershipId,
    undo: Undo,
) -> Result<Enabled, StoreError> {
    let (place, row, directorys) = (organization.uuid(), id.uuid(), undo == Undo::OnlyTheDirectorys);
    let kept = tx
        .execute(
            "UPDATE membership SET version = version + 1, modified_at = now(), disabled_by_directory = true,
                 disabled_at = now(), disabled_by = 'system:directory', disable_reason = NULL
             WHERE organization_id = $1 AND membership_id = $2 AND state = 'disabled' AND deactivated
               AND NOT disabled_by_directory AND NOT $3",
            &[&place, &row, &directorys],
        )
        .await?;
    if kept == 1 {
        return Ok(Enabled::DeactivatedStill);
    }
    let enabled = tx
        .execute(
            "UPDATE membership SET grants_from = clock_timestamp(), version = version + 1, modified_at = now(),
                 state = CASE WHEN num_nonnulls(account_id, client_id) = 0 THEN 'provisioned' ELSE 'active' END,
                 disabled_at = NULL, disabled_by = NULL, disable_reason = NULL, disabled_by_directory = false,
                 deactivated = false
             WHERE organization_id = $1 AND membership_id = $2 AND state = 'disabled'
               AND (disabled_by_directory OR NOT $3)",
            &[&place, &row, &directorys],
        )
        .await?;
    Ok(if enabled == 1 { Enabled::Yes } else { Enabled::No })
}

/// Invalidates everything issued to an account as a member of any organization. Returns its memberships, ordered by
/// organization.
pub async fn invalidate_account(
    tx: &Tx,
    account: AccountId,
) -> Result<Vec<(OrganizationId, MembershipId)>, StoreError> {
    let rows = tx
        .query(
            "UPDATE membership SET grants_from = clock_timestamp(), version = version + 1
             WHERE account_id = $1 AND state <> 'removed' RETURNING organization_id, membership_id",
            &[&account.uuid()],
        )
        .await?;
    let read = |row| {
        let (member, id) = Decode::keyed::<Uuid>("membership", "membership_id", row)?;
        Ok((member.get::<Uuid>("organization_id")?.into(), id.into()))
    };
    let mut found = rows.iter().map(read).collect::<Result<Vec<_>, StoreError>>()?;
    found.sort_unstable();
    Ok(found)
}

/// The same for a client in one organization.
pub async fn invalidate_client(
    tx: &Tx,
    organization: OrganizationId,
    client_id: &str,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE membership SET grants_from = clock_timestamp(), version = version + 1
         WHERE organization_id = $1 AND client_id = $2 AND state <> 'removed'",
        &[&organization.uuid(), &client_id],
    )
    .await
    .map(|_| ())
}
