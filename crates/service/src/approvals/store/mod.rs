//! The rows of approvals: asked and read here, decided and consumed in [`changes`].

mod changes;

use std::sync::LazyLock;

use porteiro_protocol::{
    assurance::Level,
    id::{AccountId, ApprovalId, DelegationId, MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

pub(super) use changes::{
    LETTERS_AT_ONCE, NewDecision, NewGrant, Untold, Which, block_after_denials, block_client, close,
    close_there, consume, decide, report, revoke_used, take_expired_letters, take_letters,
};

use super::{Approval, Frozen, State, decide::Limits};
use crate::store::{Decode, Reader, RowError, Store, StoreError, Tx};

/// Its columns; the state as it is now. Conditions follow.
const ALL: &str = "SELECT a.account_id, a.approval_id, a.client_id, a.organization_id, a.membership_id, a.delegation_id,
        a.frozen, a.digest, a.numbers, a.level, a.irreversible,
        CASE WHEN a.state IN ('pending', 'approved') AND a.expires_at <= now() THEN 'expired' ELSE a.state END AS state,
        a.session_id, a.terms, a.grant_id, a.created_at, a.expires_at, a.decided_at, a.used_at
     FROM approval a";

impl TryFrom<&Row> for Approval {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (row, id) = Decode::keyed::<Uuid>("approval", "approval_id", row)?;
        let digest: Vec<u8> = row.get("digest")?;
        let frozen = Frozen::open(row.get("frozen")?, &digest);
        let level: &str = row.get("level")?;
        let level = Level::ALL.into_iter().find(|known| known.as_str() == level);
        let terms = row.get::<Option<serde_json::Value>>("terms")?.map(serde_json::from_value).transpose();
        Ok(Self {
            id: id.into(),
            account: row.get::<Uuid>("account_id")?.into(),
            client_id: row.get("client_id")?,
            organization: row.get::<Option<Uuid>>("organization_id")?.map(Into::into),
            membership: row.get::<Option<Uuid>>("membership_id")?.map(Into::into),
            delegation: row.get::<Uuid>("delegation_id")?.into(),
            frozen: frozen.ok_or_else(|| row.wrong("frozen", "is not the text of the digest"))?,
            digest: digest.try_into().map_err(|_| row.wrong("digest", "not 32 bytes"))?,
            numbers: row.get("numbers")?,
            level: level.ok_or_else(|| row.wrong("level", "is unknown"))?,
            irreversible: row.get("irreversible")?,
            state: row.parsed("state")?,
            session: row.get::<Option<Uuid>>("session_id")?.map(Into::into),
            terms: terms.map_err(|error| row.wrong("terms", error))?,
            grant: row.get::<Option<Uuid>>("grant_id")?.map(Into::into),
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            decided_at: row.get("decided_at")?,
            used_at: row.get("used_at")?,
        })
    }
}

fn read(rows: &[Row]) -> Result<Vec<Approval>, StoreError> {
    rows.iter().map(Approval::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

#[derive(Debug)]
pub(super) struct NewApproval<'a> {
    pub id: ApprovalId,
    pub account: AccountId,
    pub client_id: &'a str,
    pub organization: Option<OrganizationId>,
    pub membership: Option<MembershipId>,
    pub delegation: DelegationId,
    pub frozen: &'a str,
    pub digest: [u8; 32],
    pub number: i16,
    pub numbers: &'a [i16],
    pub level: Level,
    pub irreversible: bool,
    pub secret_hash: [u8; 32],
    pub notification_token: Option<&'a [u8]>,
    pub seconds: i32,
    pub limits: Limits,
}

/// Writes the request, if the client may ask now; the caller holds the account's lock, so that requests count each other.
pub(super) async fn insert(tx: &Tx, new: &NewApproval<'_>) -> Result<bool, StoreError> {
    let inserted = tx
        .execute(
            "INSERT INTO approval (account_id, approval_id, client_id, organization_id, membership_id, delegation_id,
                    frozen, digest, number, numbers, level, irreversible, secret_hash, notification_token, expires_at)
             SELECT $1::uuid, $2::uuid, $3::text, $4::uuid, $5::uuid, $6::uuid, $7::text, $8::bytea, $9::int2, $10::int2[],
                    $11::text, $12::bool, $13::bytea, $14::bytea, now() + make_interval(secs => $15::int)
             FROM (SELECT count(*) FILTER (WHERE client_id = $3 AND state = 'pending' AND expires_at > now()) AS pending,
                          count(*) FILTER (WHERE client_id = $3 AND created_at > now() - interval '1 hour') AS hour,
                          count(*) FILTER (WHERE client_id = $3) AS day,
                          count(*) AS person
                   FROM approval WHERE account_id = $1 AND created_at > now() - interval '1 day') asked
             WHERE asked.pending < $16::int8 AND asked.hour < $17::int8 AND asked.day < $18::int8
               AND (asked.person < $19::int8 OR asked.day < $20::int8 AND asked.person < $21::int8)
               AND NOT EXISTS (SELECT 1 FROM approval_block b
                    WHERE b.account_id = $1 AND b.client_id = $3 AND b.until > now())
               AND EXISTS (SELECT 1 FROM account p WHERE p.account_id = $1 AND p.state = 'active')
               AND EXISTS (SELECT 1 FROM delegation d
                    WHERE d.owner_id = ANY(ARRAY[$1, $4]) AND d.delegation_id = $6 AND d.client_id = $3
                      AND d.organization_id IS NOT DISTINCT FROM $4 AND d.revoked_at IS NULL AND d.expires_at > now())",
            &[
                &new.account.uuid(),
                &new.id.uuid(),
                &new.client_id,
                &new.organization.map(OrganizationId::uuid),
                &new.membership.map(MembershipId::uuid),
                &new.delegation.uuid(),
                &new.frozen,
                &new.digest.as_slice(),
                &new.number,
                &new.numbers,
                &new.level.as_str(),
                &new.irreversible,
                &new.secret_hash.as_slice(),
                &new.notification_token,
                &new.seconds,
                &new.limits.pending,
                &new.limits.per_hour,
                &new.limits.per_day,
                &new.limits.person_per_day,
                &new.limits.share,
                &new.limits.person_at_most,
            ],
        )
        .await?;
    Ok(inserted == 1)
}

/// How many requests wait for the person, counted up to two.
pub(super) async fn count_waiting(tx: &Tx, account: AccountId) -> Result<usize, StoreError> {
    let rows = tx
        .query(
            "SELECT 1 FROM approval WHERE account_id = $1 AND created_at > now() - interval '1 day'
               AND state = 'pending' AND expires_at > now() LIMIT 2",
            &[&account.uuid()],
        )
        .await?;
    Ok(rows.len())
}

/// Whether a client may not ask a person now.
pub(super) async fn is_blocked(tx: &Tx, account: AccountId, client_id: &str) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT 1 FROM approval_block WHERE account_id = $1 AND client_id = $2 AND until > now()",
            &[&account.uuid(), &client_id],
        )
        .await?;
    Ok(!rows.is_empty())
}

static ONE: LazyLock<String> =
    LazyLock::new(|| format!("{ALL} WHERE a.account_id = $1 AND a.approval_id = $2"));
static POLLED: LazyLock<String> =
    LazyLock::new(|| format!("{} AND a.client_id = $3 AND a.secret_hash = $4", *ONE));

/// An approval that a client requested.
pub async fn find(
    reader: &impl Reader,
    account: AccountId,
    id: ApprovalId,
) -> Result<Option<Approval>, StoreError> {
    let rows = reader.rows("approvals.find", &ONE, &[&account.uuid(), &id.uuid()]).await?;
    Ok(read(&rows)?.pop())
}

/// The same for the client that asked, by its handle: one read by key, and nothing is written.
pub async fn poll(
    reader: &impl Reader,
    account: AccountId,
    id: ApprovalId,
    client_id: &str,
    hash: &[u8; 32],
) -> Result<Option<Approval>, StoreError> {
    let key = hash.as_slice();
    let rows =
        reader.rows("approvals.poll", &POLLED, &[&account.uuid(), &id.uuid(), &client_id, &key]).await?;
    Ok(read(&rows)?.pop())
}

/// The statement of [`poll`], for benchmarks.
pub fn polling_statement() -> &'static str {
    &POLLED
}

/// Whose approvals are meant.
#[derive(Debug, Clone, Copy)]
pub enum Whose {
    Account(AccountId),
    Organization(OrganizationId),
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Filter {
    pub state: Option<State>,
    /// A position in the order of the list.
    pub before: Option<(OffsetDateTime, Uuid)>,
}

/// Longer than any request waits for a decision ([`MAX_EXPIRES_SECONDS`](super::MAX_EXPIRES_SECONDS)) and its use.
const RECENT: &str = "a.created_at > now() - interval '1 day'";

/// The newest first.
pub async fn list(
    reader: &impl Reader,
    whose: Whose,
    filter: Filter,
    limit: i64,
) -> Result<Vec<Approval>, StoreError> {
    let (column, owner) = match whose {
        Whose::Account(account) => ("account_id", account.uuid()),
        Whose::Organization(organization) => ("organization_id", organization.uuid()),
    };
    // Each branch reads an index in the order of the list; `expired` is also what nobody decided or used in time.
    let branches: &[&str] = match filter.state {
        None => &["true"],
        Some(State::Pending) => &["a.state = 'pending' AND a.expires_at > now()"],
        Some(State::Approved) => &["a.state = 'approved' AND a.expires_at > now()"],
        Some(State::Denied) => &["a.state = 'denied'"],
        Some(State::Consumed) => &["a.state = 'consumed'"],
        Some(State::Blocked) => &["a.state = 'blocked'"],
        Some(State::Expired) => &[
            "a.state = 'expired'",
            "a.state = 'pending' AND a.expires_at <= now()",
            "a.state = 'approved' AND a.expires_at <= now()",
        ],
    };
    let branch = |condition: &&str| {
        // What can still be decided or used is recent, and is not sought among everything that expired.
        let recent = if condition.ends_with("> now()") { RECENT } else { "true" };
        format!(
            "({ALL} WHERE a.{column} = $1 AND {condition} AND {recent}
                AND ($2::timestamptz IS NULL OR (a.created_at, a.approval_id) < ($2, $3::uuid))
              ORDER BY a.created_at DESC, a.approval_id DESC LIMIT $4)"
        )
    };
    let branches = branches.iter().map(branch).collect::<Vec<_>>().join(" UNION ALL ");
    let sql = format!("SELECT * FROM ({branches}) a ORDER BY a.created_at DESC, a.approval_id DESC LIMIT $4");
    let (at, id) = filter.before.unzip();
    read(&reader.rows("approvals.list", &sql, &[&owner, &at, &id, &limit]).await?)
}

pub(super) async fn sweep(store: &Store) -> Result<u64, StoreError> {
    changes::end_blocked(store).await?;
    store
        .sweep(
            "approvals.sweep",
            "DELETE FROM approval WHERE (account_id, approval_id) IN (
                 SELECT account_id, approval_id FROM approval WHERE created_at < now() - interval '90 days' LIMIT $1)
             RETURNING 1 AS swept",
        )
        .await
}
