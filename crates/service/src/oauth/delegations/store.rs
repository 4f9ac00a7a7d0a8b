use std::sync::LazyLock;

use porteiro_protocol::{
    authority::Authority,
    id::{AccountId, DelegationId, MembershipId, OrganizationId},
    scope::Scope,
    time::OffsetDateTime,
};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{super::clients::Client, Delegation, Delegator, Source};
use crate::{
    endings::Why,
    store::{Conditions, Decode, Reader, RowError, Store, StoreError, Tx},
};

/// Delegations that count now. Conditions follow.
const LIVE: &str =
    "SELECT d.delegation_id, d.account_id, d.organization_id, d.membership_id, d.client_id, d.audience,
        d.scope, d.details, d.redelegable, d.source, d.created_at, d.expires_at, d.last_used_at
     FROM delegation d WHERE d.revoked_at IS NULL AND d.expires_at > now()";

/// The client is enabled, and was not cut since.
const NOT_CUT: &str =
    "EXISTS (SELECT 1 FROM client c WHERE c.client_id = d.client_id AND c.disabled_at IS NULL
        AND d.created_at >= c.grants_from)";

impl TryFrom<&Row> for Delegation {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (delegation, id) = Decode::keyed::<Uuid>("delegation", "delegation_id", row)?;
        let organization: Option<Uuid> = delegation.get("organization_id")?;
        let membership: Option<Uuid> = delegation.get("membership_id")?;
        let account: Option<Uuid> = delegation.get("account_id")?;
        let delegator = match (account, organization) {
            (Some(account), _) => {
                Delegator::Person { account: account.into(), membership: membership.map(Into::into) }
            }
            (None, Some(organization)) => Delegator::Organization(organization.into()),
            (None, None) => return Err(delegation.wrong("account_id", "is missing")),
        };
        let scope: Scope = delegation.parsed("scope")?;
        let details: Vec<Value> = delegation.json("details")?;
        let authority = Authority::granted(scope, delegation.get("audience")?, details);
        Ok(Self {
            id: id.into(),
            delegator,
            client_id: delegation.get("client_id")?,
            authority: match organization {
                Some(organization) => authority.acting_for(organization.into()),
                None => authority,
            },
            redelegable: delegation.get("redelegable")?,
            source: delegation.parsed("source")?,
            created_at: delegation.get("created_at")?,
            expires_at: delegation.get("expires_at")?,
            last_used_at: delegation.get("last_used_at")?,
        })
    }
}

fn read(rows: &[Row]) -> Result<Vec<Delegation>, StoreError> {
    rows.iter().map(Delegation::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

pub(super) struct NewDelegation<'a> {
    pub id: DelegationId,
    pub delegator: Delegator,
    pub client_id: &'a str,
    pub authority: &'a Authority,
    pub redelegable: bool,
    pub source: Source,
    pub seconds: i64,
}

pub(super) async fn insert(tx: &Tx, new: &NewDelegation<'_>) -> Result<Delegation, StoreError> {
    let (account, membership) = match new.delegator {
        Delegator::Person { account, membership } => {
            (Some(account.uuid()), membership.map(MembershipId::uuid))
        }
        Delegator::Organization(_) => (None, None),
    };
    let seconds = i32::try_from(new.seconds).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    let rows = tx
        .query(
            "INSERT INTO delegation AS d (owner_id, delegation_id, account_id, organization_id, membership_id, client_id,
                    audience, scope, details, redelegable, source, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now() + make_interval(secs => $12::int))
             RETURNING d.delegation_id, d.account_id, d.organization_id, d.membership_id, d.client_id, d.audience,
                 d.scope, d.details, d.redelegable, d.source, d.created_at, d.expires_at, d.last_used_at",
            &[
                &new.delegator.owner(),
                &new.id.uuid(),
                &account,
                &new.authority.organization().map(OrganizationId::uuid),
                &membership,
                &new.client_id,
                &new.authority.audience(),
                &new.authority.scope().to_string(),
                &Value::Array(new.authority.details().to_vec()),
                &new.redelegable,
                &new.source.as_str(),
                &seconds,
            ],
        )
        .await?;
    let made = read(&rows)?.pop();
    made.ok_or_else(|| StoreError::Inconsistent("a delegation was not inserted".into()))
}

/// Prolongs a delegation by consent that says exactly this; `false` where there is none.
pub async fn renew(
    tx: &Tx,
    account: AccountId,
    client: &Client,
    authority: &Authority,
    seconds: i64,
) -> Result<bool, StoreError> {
    let seconds = i32::try_from(seconds).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    let renewed = tx
        .execute(
            "UPDATE delegation SET expires_at = greatest(expires_at, now() + make_interval(secs => $8::int))
             WHERE owner_id = $1 AND client_id = $2 AND revoked_at IS NULL AND expires_at > now() AND source = 'consent'
               AND created_at >= $3 AND organization_id IS NOT DISTINCT FROM $4 AND audience = $5 AND scope = $6
               AND details = $7",
            &[
                &account.uuid(),
                &client.id,
                &client.grants_from,
                &authority.organization().map(OrganizationId::uuid),
                &authority.audience(),
                &authority.scope().to_string(),
                &Value::Array(authority.details().to_vec()),
                &seconds,
            ],
        )
        .await?;
    Ok(renewed > 0)
}

/// How many count now.
pub(super) async fn count(tx: &Tx, owner: Uuid) -> Result<i64, StoreError> {
    let rows = tx
        .query(
            "SELECT count(*) AS number FROM delegation
             WHERE owner_id = $1 AND revoked_at IS NULL AND expires_at > now()",
            &[&owner],
        )
        .await?;
    let number = rows.first().map(|row| Decode::new("delegation", owner, row).get("number"));
    Ok(number.transpose()?.unwrap_or_default())
}

/// What a person, or their organization for its members, delegates to a client there. Not from before the client was
/// last cut.
pub async fn live(
    reader: &impl Reader,
    account: AccountId,
    organization: Option<OrganizationId>,
    client: &Client,
) -> Result<Vec<Delegation>, StoreError> {
    let organization = organization.map(OrganizationId::uuid);
    let rows = reader
        .rows(
            "delegations.live",
            &LIVE_OF_CLIENT,
            &[&account.uuid(), &organization, &client.id, &client.grants_from],
        )
        .await?;
    read(&rows)
}

static LIVE_OF_CLIENT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{LIVE} AND d.owner_id = ANY(ARRAY[$1, $2]::uuid[]) AND d.organization_id IS NOT DISTINCT FROM $2::uuid
            AND d.client_id = $3 AND d.created_at >= $4
         ORDER BY d.created_at DESC LIMIT 200"
    )
});

/// The statement of [`live`], for benchmarks.
pub fn statement() -> &'static str {
    &LIVE_OF_CLIENT
}

/// Whose delegations are meant.
#[derive(Debug, Clone, Copy)]
pub enum Whose {
    /// What a person delegated, in whichever organization.
    Account(AccountId),
    /// What was delegated in an organization, by it or by its members.
    Organization(OrganizationId),
}

impl Whose {
    const fn account(self) -> Option<Uuid> {
        match self {
            Self::Account(account) => Some(account.uuid()),
            Self::Organization(_) => None,
        }
    }

    const fn organization(self) -> Option<Uuid> {
        match self {
            Self::Account(_) => None,
            Self::Organization(organization) => Some(organization.uuid()),
        }
    }
}

/// Those that count, the oldest first, after a position in that order.
pub async fn list(
    reader: &impl Reader,
    whose: Whose,
    after: Option<(OffsetDateTime, Uuid)>,
    limit: i64,
) -> Result<Vec<Delegation>, StoreError> {
    let sql = format!(
        "{LIVE} AND {} AND {NOT_CUT} AND ($2::timestamptz IS NULL OR (d.created_at, d.delegation_id) > ($2, $3))
         ORDER BY d.created_at, d.delegation_id LIMIT $4",
        match whose {
            // And what their organizations decided for all members.
            Whose::Account(_) =>
                "d.owner_id = ANY(ARRAY(SELECT $1::uuid UNION SELECT m.organization_id FROM membership m
                     WHERE m.account_id = $1 AND m.state = 'active'))",
            Whose::Organization(_) => "d.organization_id = $1",
        }
    );
    let owner = whose.account().or_else(|| whose.organization());
    let (at, id) = after.unzip();
    read(&reader.rows("delegations.list", &sql, &[&owner, &at, &id, &limit]).await?)
}

/// Which delegations end together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Which<'a> {
    pub whose: Whose,
    pub id: Option<DelegationId>,
    pub organization: Option<OrganizationId>,
    pub client_id: Option<&'a str>,
    pub made_until: Option<OffsetDateTime>,
}

impl Which<'_> {
    pub(super) const fn of(whose: Whose) -> Self {
        Self { whose, id: None, organization: None, client_id: None, made_until: None }
    }
}

/// How many one statement revokes: more than a person can have ([`MAX_PER_OWNER`](super::MAX_PER_OWNER)), fewer than
/// an organization's members can have in all.
pub(super) const BATCH: usize = 5_000;

/// Requests for approval that rest on what ends, and were not used, end with it: a person's in the first part, those of an
/// organization's members in the second. Each reads its index.
const APPROVALS_END: &str = "
    own AS (
        UPDATE approval a SET state = 'expired' FROM gone g
        WHERE a.account_id = g.account_id AND a.delegation_id = g.delegation_id
          AND a.created_at > now() - interval '1 day' AND a.state IN ('pending', 'approved') AND a.expires_at > now()
    ), there AS (
        UPDATE approval a SET state = 'expired' FROM gone g
        WHERE g.account_id IS NULL AND a.organization_id = g.owner_id AND a.delegation_id = g.delegation_id
          AND a.created_at > now() - interval '1 day' AND a.state IN ('pending', 'approved') AND a.expires_at > now()
    )";

/// Revokes at most [`BATCH`] of them. From this statement on nothing that was issued by these counts.
pub(super) async fn revoke(tx: &Tx, which: Which<'_>, why: Why) -> Result<Vec<Revoked>, StoreError> {
    let organization = which.whose.organization().or_else(|| which.organization.map(OrganizationId::uuid));
    let (account, id) = (which.whose.account(), which.id.map(DelegationId::uuid));
    // Only the conditions that there are, so that each form has its index.
    let conditions = Conditions::new("revoked_at IS NULL AND expires_at > now()", &[])
        .and_if("owner_id = ?", account.as_ref())
        .and_if("delegation_id = ?", id.as_ref())
        .and_if("organization_id = ?", organization.as_ref())
        .and_if("client_id = ?", which.client_id.as_ref())
        .and_if("created_at <= ?", which.made_until.as_ref());
    let (sql, params) = conditions
        .finish("SELECT owner_id, delegation_id FROM delegation", &format!("LIMIT {BATCH} FOR UPDATE"));
    let sql = format!(
        "WITH gone AS (
             UPDATE delegation d SET revoked_at = now(), revoke_reason = '{}' FROM ({sql}) w
             WHERE d.owner_id = w.owner_id AND d.delegation_id = w.delegation_id
             RETURNING d.owner_id, d.delegation_id, d.account_id, d.membership_id, d.client_id, d.organization_id
         ), {APPROVALS_END}
         SELECT delegation_id, account_id, membership_id, client_id, organization_id FROM gone",
        why.as_str()
    );
    let rows = tx.query(&sql, params).await?;
    let revoked = |row: &Row| -> Result<Revoked, RowError> {
        let (row, id) = Decode::keyed::<Uuid>("delegation", "delegation_id", row)?;
        Ok(Revoked {
            id: id.into(),
            client_id: row.get("client_id")?,
            account: row.get::<Option<Uuid>>("account_id")?.map(Into::into),
            membership: row.get::<Option<Uuid>>("membership_id")?.map(Into::into),
            organization: row.get::<Option<Uuid>>("organization_id")?.map(Into::into),
        })
    };
    rows.iter().map(|row| revoked(row).map_err(StoreError::from)).collect()
}

/// The database's time, by which delegations are made.
pub(super) async fn moment(tx: &Tx) -> Result<OffsetDateTime, StoreError> {
    let rows = tx.query("SELECT clock_timestamp() AS at", &[]).await?;
    let at = rows.first().map(|row| Decode::new("delegation", "moment", row).get("at"));
    at.transpose()?.ok_or_else(|| StoreError::Inconsistent("the database does not know the time".into()))
}

#[derive(Debug)]
pub struct Revoked {
    pub id: DelegationId,
    pub client_id: String,
    /// Whose authority it was; none: every member's.
    pub account: Option<AccountId>,
    pub membership: Option<MembershipId>,
    pub organization: Option<OrganizationId>,
}

pub(super) async fn sweep(store: &Store) -> Result<u64, StoreError> {
    store
        .sweep(
            "delegations.sweep",
            "DELETE FROM delegation WHERE (owner_id, delegation_id) IN (
                 SELECT owner_id, delegation_id FROM delegation
                 WHERE least(expires_at, revoked_at) < now() - interval '30 days' LIMIT $1)
             RETURNING 1 AS swept",
        )
        .await
}
