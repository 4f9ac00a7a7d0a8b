//! Memberships that a directory provisioned and no account has claimed.

use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};

use uuid::Uuid;

use super::{super::Member, MEMBERS, State};
use crate::store::{Decode, Reader, StoreError, Tx};

/// The membership with this key in the organization's directory, unless it was removed. Nothing else identifies its
/// person, least of all an address (docs/decisions/0124).
pub async fn by_external_id(
    reader: &impl Reader,
    organization: OrganizationId,
    external_id: &str,
) -> Result<Option<Member>, StoreError> {
    let sql =
        format!("{MEMBERS} WHERE m.organization_id = $1 AND m.external_id = $2 AND m.state <> 'removed'");
    let rows = reader.rows("members.by_external_id", &sql, &[&organization.uuid(), &external_id]).await?;
    rows.first().map(Member::try_from).transpose().map_err(Into::into)
}

/// An account claims an unclaimed membership: it is active from now on. A former membership of the same account, which
/// has ended, is followed by this one. The caller holds the organization's lock. Its primary role; `None` if the membership
/// is not unclaimed any more, or the account has another one in the organization.
pub async fn claim(
    tx: &Tx,
    organization: OrganizationId,
    id: MembershipId,
    account: AccountId,
) -> Result<Option<String>, StoreError> {
    let (organization, id, account) = (organization.uuid(), id.uuid(), account.uuid());
    let unclaimed = tx
        .query(
            "SELECT 1 FROM membership
             WHERE organization_id = $1 AND membership_id = $2 AND state = 'provisioned' FOR UPDATE",
            &[&organization, &id],
        )
        .await?;
    if unclaimed.is_empty() {
        return Ok(None);
    }
    let others = tx
        .query(
            "SELECT membership_id, state FROM membership WHERE organization_id = $1 AND account_id = $2 FOR UPDATE",
            &[&organization, &account],
        )
        .await?;
    let mut former = None;
    for row in &others {
        let (other, id) = Decode::keyed::<Uuid>("membership", "membership_id", row)?;
        if other.parsed::<State>("state")? != State::Removed {
            return Ok(None);
        }
        former = Some(id);
    }
    tx.execute(
        "UPDATE membership SET account_id = NULL
         WHERE organization_id = $1 AND membership_id = $2 AND state = 'removed'",
        &[&organization, &former],
    )
    .await?;
    let claimed = tx
        .query(
            "UPDATE membership SET account_id = $3, state = 'active', grants_from = clock_timestamp(),
                 previous_id = coalesce($4, previous_id), version = version + 1, modified_at = now()
             WHERE organization_id = $1 AND membership_id = $2 AND state = 'provisioned'
             RETURNING membership_id, primary_role",
            &[&organization, &id, &account, &former],
        )
        .await?;
    let Some(row) = claimed.first() else { return Ok(None) };
    Ok(Some(Decode::keyed::<Uuid>("membership", "membership_id", row)?.0.get("primary_role")?))
}
