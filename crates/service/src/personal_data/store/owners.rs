//! Which organizations would be left without an owner.

use porteiro_protocol::id::{AccountId, OrganizationId};
use uuid::Uuid;

use crate::{
    permissions::OWNER,
    store::{Decode, StoreError, Tx},
};

/// Organizations that the account owns, in the order in which they are locked.
pub(in crate::personal_data) async fn owned(
    tx: &Tx,
    account: AccountId,
) -> Result<Vec<OrganizationId>, StoreError> {
    let rows = tx
        .query(
            "SELECT m.organization_id FROM membership m JOIN membership_role r USING (organization_id, membership_id)
             WHERE m.account_id = $1 AND m.state = 'active' AND r.role_key = $2 ORDER BY m.organization_id",
            &[&account.uuid(), &OWNER],
        )
        .await?;
    rows.iter()
        .map(|row| {
            let id: Uuid = Decode::new("membership", account, row).get("organization_id")?;
            Ok(id.into())
        })
        .collect()
}

/// Another person who can act there, and whose account will not be deleted.
const STAYS: &str = "x.membership_id <> m.membership_id AND x.state = 'active' AND a.state = 'active'
    AND a.deletion_at IS NULL";

/// Those of them, by id and name, in which others are members and no other is an owner.
pub(in crate::personal_data) async fn owned_alone(
    tx: &Tx,
    account: AccountId,
) -> Result<Vec<(OrganizationId, String)>, StoreError> {
    let rows = tx
        .query(
            &format!(
                "SELECT o.organization_id, o.name
                 FROM membership m
                     JOIN membership_role r USING (organization_id, membership_id)
                     JOIN organization o USING (organization_id)
                 WHERE m.account_id = $1 AND m.state = 'active' AND r.role_key = $2
                   AND EXISTS (
                       SELECT 1 FROM membership x JOIN account a ON a.account_id = x.account_id
                       WHERE x.organization_id = m.organization_id AND {STAYS})
                   AND NOT EXISTS (
                       SELECT 1 FROM membership_role r2
                           JOIN membership x USING (organization_id, membership_id)
                           JOIN account a ON a.account_id = x.account_id
                       WHERE r2.organization_id = m.organization_id AND r2.role_key = $2 AND {STAYS})
                 ORDER BY o.name, o.organization_id LIMIT 100"
            ),
            &[&account.uuid(), &OWNER],
        )
        .await?;
    rows.iter()
        .map(|row| {
            let (found, id) = Decode::keyed::<Uuid>("organization", "organization_id", row)?;
            Ok((id.into(), found.get("name")?))
        })
        .collect()
}

/// Whether a person is left who can act in the organization.
pub(in crate::personal_data) async fn has_active_person(
    tx: &Tx,
    organization: OrganizationId,
) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT 1 FROM membership m JOIN account a ON a.account_id = m.account_id
             WHERE m.organization_id = $1 AND m.state = 'active' AND a.state = 'active' LIMIT 1",
            &[&organization.uuid()],
        )
        .await?;
    Ok(!rows.is_empty())
}
