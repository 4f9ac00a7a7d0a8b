use porteiro_protocol::{
    id::{AccountId, MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::ImpersonationId;
use crate::{
    oauth::grants::GrantId,
    store::{Decode, Reader, RowError, StoreError, Tx},
};

/// An impersonation of a member.
#[derive(Debug, Clone)]
pub struct Impersonation {
    pub id: ImpersonationId,
    pub organization: OrganizationId,
    pub membership: MembershipId,
    pub account: AccountId,
    pub actor: AccountId,
    pub grant: GrantId,
    pub reason: String,
    pub started_at: OffsetDateTime,
    pub ends_at: OffsetDateTime,
    pub ended_at: Option<OffsetDateTime>,
}

const COLUMNS: &str =
    "impersonation_id, organization_id, membership_id, account_id, actor_id, grant_id, reason,
        started_at, ends_at, ended_at";

impl TryFrom<&Row> for Impersonation {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (found, id) = Decode::keyed::<Uuid>("impersonation", "impersonation_id", row)?;
        Ok(Self {
            id: id.into(),
            organization: found.get::<Uuid>("organization_id")?.into(),
            membership: found.get::<Uuid>("membership_id")?.into(),
            account: found.get::<Uuid>("account_id")?.into(),
            actor: found.get::<Uuid>("actor_id")?.into(),
            grant: found.get::<Uuid>("grant_id")?.into(),
            reason: found.get("reason")?,
            started_at: found.get("started_at")?,
            ends_at: found.get("ends_at")?,
            ended_at: found.get("ended_at")?,
        })
    }
}

#[derive(Debug)]
pub struct New<'a> {
    pub id: ImpersonationId,
    pub organization: OrganizationId,
    pub membership: MembershipId,
    pub account: AccountId,
    pub actor: AccountId,
    pub grant: GrantId,
    pub reason: &'a str,
    pub seconds: i32,
}

pub async fn insert(tx: &Tx, new: &New<'_>) -> Result<Impersonation, StoreError> {
    let sql = format!(
        "INSERT INTO impersonation (impersonation_id, organization_id, membership_id, account_id, actor_id,
                grant_id, reason, ends_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8::int))
         RETURNING {COLUMNS}"
    );
    let rows = tx
        .query(
            &sql,
            &[
                &new.id.uuid(),
                &new.organization.uuid(),
                &new.membership.uuid(),
                &new.account.uuid(),
                &new.actor.uuid(),
                &new.grant.uuid(),
                &new.reason,
                &new.seconds,
            ],
        )
        .await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("an insert returned no row".into()))?;
    Ok(Impersonation::try_from(row)?)
}

/// An impersonation of a member, ended or not.
pub async fn find(
    reader: &impl Reader,
    organization: OrganizationId,
    membership: MembershipId,
    id: ImpersonationId,
) -> Result<Option<Impersonation>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM impersonation
         WHERE organization_id = $1 AND membership_id = $2 AND impersonation_id = $3"
    );
    let params: crate::store::Params<'_> = &[&organization.uuid(), &membership.uuid(), &id.uuid()];
    let rows = reader.rows("impersonation.find", &sql, params).await?;
    rows.first().map(Impersonation::try_from).transpose().map_err(Into::into)
}

/// Ends an administrator's current impersonations: all, or those by one client. Only accounts that could impersonate
/// read the table, so other sign-outs do not pay for it.
pub(super) async fn end_of_actor(
    tx: &Tx,
    actor: AccountId,
    client_id: Option<&str>,
) -> Result<Vec<Impersonation>, StoreError> {
    let sql = format!(
        "UPDATE impersonation i SET ended_at = now()
         WHERE actor_id = $1 AND ended_at IS NULL AND ends_at > now()
           AND EXISTS (SELECT 1 FROM platform_authority WHERE account_id = $1)
           AND ($2::text IS NULL OR EXISTS (SELECT 1 FROM oauth_grant g WHERE g.grant_id = i.grant_id
                AND g.account_id = i.account_id AND g.client_id = $2))
         RETURNING {COLUMNS}"
    );
    let rows = tx.query(&sql, &[&actor.uuid(), &client_id]).await?;
    rows.iter().map(Impersonation::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

/// Ends all impersonations of one member; returns the administrators.
pub(super) async fn end_of_member(
    tx: &Tx,
    organization: OrganizationId,
    membership: MembershipId,
) -> Result<Vec<AccountId>, StoreError> {
    let rows = tx
        .query(
            "UPDATE impersonation SET ended_at = now()
             WHERE organization_id = $1 AND membership_id = $2 AND ended_at IS NULL AND ends_at > now()
             RETURNING impersonation_id, actor_id",
            &[&organization.uuid(), &membership.uuid()],
        )
        .await?;
    let read = |row| {
        let (one, _) = Decode::keyed::<Uuid>("impersonation", "impersonation_id", row)?;
        Ok(one.get::<Uuid>("actor_id")?.into())
    };
    rows.iter().map(read).collect()
}

/// Ends a current impersonation; `only_late`: only if its time has expired. `None` if a concurrent call ended it.
pub async fn end(
    tx: &Tx,
    organization: OrganizationId,
    id: ImpersonationId,
    only_late: bool,
) -> Result<Option<Impersonation>, StoreError> {
    let sql = format!(
        "UPDATE impersonation SET ended_at = least(now(), ends_at)
         WHERE organization_id = $1 AND impersonation_id = $2 AND ended_at IS NULL AND (NOT $3 OR ends_at <= now())
         RETURNING {COLUMNS}"
    );
    let rows = tx.query(&sql, &[&organization.uuid(), &id.uuid(), &only_late]).await?;
    rows.first().map(Impersonation::try_from).transpose().map_err(Into::into)
}
