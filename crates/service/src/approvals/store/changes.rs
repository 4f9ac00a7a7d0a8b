//! Changes of approvals. Each statement names the states from which it starts.

use porteiro_protocol::{
    id::{AccountId, ApprovalId, OrganizationId, SessionId},
    time::OffsetDateTime,
};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::{
    BlockReason, State,
    decide::{BLOCK_SECONDS, DENIALS, NOTICED_SECONDS, TOKEN_SECONDS},
};
use crate::{
    oauth::grants::GrantId,
    store::{Decode, Store, StoreError, Tx},
};

/// A decision of the person who was asked.
#[derive(Debug)]
pub(in super::super) struct NewDecision<'a> {
    /// Which number was picked; none: denied.
    pub picked: Option<i16>,
    pub session: SessionId,
    pub terms: &'a Value,
}

/// Decides what waits; until it is consumed, a denial also takes an approval back. Returns the state it has now; `None`
/// where nothing waits.
pub(in super::super) async fn decide(
    tx: &Tx,
    account: AccountId,
    id: ApprovalId,
    decision: &NewDecision<'_>,
) -> Result<Option<State>, StoreError> {
    let rows = tx
        .query(
            "UPDATE approval SET decided_at = now(), session_id = $4, terms = $5,
                 state = CASE WHEN number = $3::int2 THEN 'approved' ELSE 'denied' END,
                 expires_at = CASE WHEN number = $3::int2
                     THEN greatest(CASE WHEN NOT irreversible THEN expires_at END, now() + make_interval(secs => $6::int))
                     ELSE expires_at END
             WHERE account_id = $1 AND approval_id = $2 AND expires_at > now()
               AND (state = 'pending' OR state = 'approved' AND $3::int2 IS NULL)
             RETURNING state",
            &[
                &account.uuid(),
                &id.uuid(),
                &decision.picked,
                &decision.session.uuid(),
                decision.terms,
                &NOTICED_SECONDS,
            ],
        )
        .await?;
    let state = rows.first().map(|row| Decode::new("approval", id, row).parsed("state"));
    Ok(state.transpose()?)
}

/// The person did not ask for this: whatever state it is in, except used, it will not be used.
pub(in super::super) async fn report(
    tx: &Tx,
    account: AccountId,
    id: ApprovalId,
) -> Result<bool, StoreError> {
    let changed = tx
        .execute(
            "UPDATE approval SET state = 'blocked', decided_at = now()
             WHERE account_id = $1 AND approval_id = $2 AND state IN ('pending', 'approved', 'denied')",
            &[&account.uuid(), &id.uuid()],
        )
        .await?;
    Ok(changed == 1)
}

/// Blocks a client that was denied too often; the caller holds the account's lock.
pub(in super::super) async fn block_after_denials(
    tx: &Tx,
    account: AccountId,
    client_id: &str,
) -> Result<Option<OffsetDateTime>, StoreError> {
    let rows = tx
        .query(
            "INSERT INTO approval_block (account_id, client_id, reason, until)
             SELECT $1::uuid, $2::text, 'denials', now() + make_interval(secs => $3::int)
             FROM (SELECT count(*) AS number FROM approval WHERE account_id = $1 AND client_id = $2
                     AND state = 'denied' AND decided_at > now() - interval '1 day') denied
             WHERE denied.number >= $4::int8
             ON CONFLICT (account_id, client_id) DO UPDATE SET reason = excluded.reason,
                 until = greatest(approval_block.until, excluded.until)
             RETURNING until",
            &[&account.uuid(), &client_id, &BLOCK_SECONDS, &DENIALS],
        )
        .await?;
    let until = rows.first().map(|row| Decode::new("approval_block", account, row).get("until"));
    let until: Option<OffsetDateTime> = until.transpose()?;
    if until.is_some() {
        close_blocked(tx, account, client_id).await?;
    }
    Ok(until)
}

pub(in super::super) async fn block_client(
    tx: &Tx,
    account: AccountId,
    client_id: &str,
    reason: BlockReason,
) -> Result<OffsetDateTime, StoreError> {
    let rows = tx
        .query(
            "INSERT INTO approval_block (account_id, client_id, reason, until)
             VALUES ($1, $2, $3, now() + make_interval(secs => $4::int))
             ON CONFLICT (account_id, client_id) DO UPDATE SET reason = excluded.reason,
                 until = greatest(approval_block.until, excluded.until)
             RETURNING until",
            &[&account.uuid(), &client_id, &reason.as_str(), &BLOCK_SECONDS],
        )
        .await?;
    close_blocked(tx, account, client_id).await?;
    let until =
        rows.first().map(|row| Decode::new("approval_block", account, row).get("until")).transpose()?;
    until.ok_or_else(|| StoreError::Inconsistent("a block was not written".into()))
}

/// What a blocked client still waits for, or has not used, is over.
async fn close_blocked(tx: &Tx, account: AccountId, client_id: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE approval SET state = 'blocked', decided_at = now()
         WHERE account_id = $1 AND client_id = $2 AND state IN ('pending', 'approved') AND expires_at > now()",
        &[&account.uuid(), &client_id],
    )
    .await
    .map(|_| ())
}

pub(in super::super) async fn end_blocked(store: &Store) -> Result<u64, StoreError> {
    store
        .sweep(
            "approvals.sweep_blocks",
            "DELETE FROM approval_block WHERE (account_id, client_id) IN (
                 SELECT account_id, client_id FROM approval_block WHERE until < now() LIMIT $1)
             RETURNING 1 AS swept",
        )
        .await
}

/// A notification of a decision: the approval, its client, and the sealed notification token.
pub(in super::super) type Untold = (ApprovalId, String, Vec<u8>);

/// Takes the letters of everything that a person has decided.
pub(in super::super) async fn take_letters(tx: &Tx, account: AccountId) -> Result<Vec<Untold>, StoreError> {
    let rows = tx
        .query(
            "UPDATE approval a SET notification_token = NULL
             FROM (SELECT approval_id, notification_token FROM approval WHERE account_id = $1
                     AND created_at > now() - interval '1 day' AND state <> 'pending'
                     AND notification_token IS NOT NULL FOR UPDATE) old
             WHERE a.account_id = $1 AND a.approval_id = old.approval_id
             RETURNING a.approval_id, a.client_id, old.notification_token",
            &[&account.uuid()],
        )
        .await?;
    rows.iter().map(untold).collect()
}

fn untold(row: &Row) -> Result<Untold, StoreError> {
    let (row, id) = Decode::keyed::<Uuid>("approval", "approval_id", row)?;
    Ok((id.into(), row.get("client_id")?, row.get("notification_token")?))
}

/// How many letters one transaction takes.
pub(in super::super) const LETTERS_AT_ONCE: u32 = 200;

/// Takes some letters of requests whose time is over. Nodes skip each other's.
pub(in super::super) async fn take_expired_letters(tx: &Tx) -> Result<Vec<Untold>, StoreError> {
    let rows = tx
        .query(
            "UPDATE approval a SET notification_token = NULL
             FROM (SELECT account_id, approval_id, notification_token FROM approval
                   WHERE notification_token IS NOT NULL AND expires_at <= now()
                   ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED) old
             WHERE a.account_id = old.account_id AND a.approval_id = old.approval_id
             RETURNING a.approval_id, a.client_id, old.notification_token",
            &[&i64::from(LETTERS_AT_ONCE)],
        )
        .await?;
    rows.iter().map(untold).collect()
}

/// Which approvals of a person end together.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Which<'a> {
    pub organization: Option<OrganizationId>,
    pub client_id: Option<&'a str>,
    /// Approved in one of these.
    pub sessions: Option<&'a [Uuid]>,
    /// Approved by a proof with this credential, except in the session beside it.
    pub credential: Option<(Uuid, Option<Uuid>)>,
}

/// What they rest on has ended.
pub(in super::super) async fn close(tx: &Tx, account: AccountId, which: Which<'_>) -> Result<(), StoreError> {
    let (credential, keep) = which.credential.unzip();
    tx.execute(
        "UPDATE approval SET state = 'expired'
         WHERE account_id = $1 AND created_at > now() - interval '1 day' AND state IN ('pending', 'approved')
           AND expires_at > now() AND ($2::uuid IS NULL OR organization_id = $2)
           AND ($3::text IS NULL OR client_id = $3) AND ($4::uuid[] IS NULL OR session_id = ANY($4))
           AND ($5::text IS NULL OR terms->'credentials' ? $5)
           AND ($6::uuid IS NULL OR session_id IS DISTINCT FROM $6)",
        &[
            &account.uuid(),
            &which.organization.map(OrganizationId::uuid),
            &which.client_id,
            &which.sessions,
            &credential.map(|id| id.to_string()),
            &keep.flatten(),
        ],
    )
    .await
    .map(|_| ())
}

/// An organization no longer allows a client, or any.
pub(in super::super) async fn close_there(
    tx: &Tx,
    organization: OrganizationId,
    client_id: Option<&str>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE approval SET state = 'expired'
         WHERE organization_id = $1 AND created_at > now() - interval '1 day' AND ($2::text IS NULL OR client_id = $2)
           AND state IN ('pending', 'approved') AND expires_at > now()",
        &[&organization.uuid(), &client_id],
    )
    .await
    .map(|_| ())
}

/// The grant for which an approval is consumed.
#[derive(Debug)]
pub(in super::super) struct NewGrant<'a> {
    pub id: GrantId,
    pub account: AccountId,
    pub approval: ApprovalId,
    pub client_id: &'a str,
    pub secret_hash: [u8; 32],
    pub digest: [u8; 32],
    /// Random: no token has this hash.
    pub unused_hash: [u8; 32],
    pub scope: &'a str,
    pub audience: &'a str,
    pub terms: &'a Value,
    /// At which version of its authority the organization was checked.
    pub authority_version: Option<i64>,
}

/// Consumes what was approved and writes the grant, in one statement: of any number of attempts at once, one does both.
/// The grant is below none and ends with its delegation: hence the empty list of ancestors (docs/decisions/0088).
pub(in super::super) async fn consume(
    tx: &Tx,
    new: &NewGrant<'_>,
) -> Result<Option<OffsetDateTime>, StoreError> {
    let rows = tx
        .query(
            "WITH consumed AS (
                 UPDATE approval a SET state = 'consumed', grant_id = $5
                 FROM account p, client c
                 WHERE a.account_id = $1 AND a.approval_id = $2 AND a.client_id = $3 AND a.secret_hash = $4
                   AND a.digest = $6 AND a.state = 'approved' AND a.expires_at > now()
                   AND p.account_id = a.account_id AND p.state = 'active'
                   AND c.client_id = a.client_id AND c.disabled_at IS NULL AND a.created_at >= c.grants_from
                   AND EXISTS (SELECT 1 FROM session s WHERE s.session_id = a.session_id
                        AND s.account_id = a.account_id AND s.ended_at IS NULL)
                   AND EXISTS (SELECT 1 FROM delegation d WHERE d.owner_id = ANY(ARRAY[a.account_id, a.organization_id])
                        AND d.delegation_id = a.delegation_id AND d.revoked_at IS NULL AND d.expires_at > now())
                   AND (a.organization_id IS NULL OR EXISTS (
                        SELECT 1 FROM membership m JOIN organization o USING (organization_id)
                        WHERE m.organization_id = a.organization_id AND m.membership_id = a.membership_id
                          AND m.state = 'active' AND a.created_at >= m.grants_from AND o.status = 'enabled'
                          AND o.authority_version = $11))
                 RETURNING a.account_id, a.client_id, a.session_id, a.organization_id, a.membership_id, a.delegation_id
             )
             INSERT INTO oauth_grant (grant_id, account_id, client_id, generation, current_hash, expires_at, ends_at,
                    idle_seconds, session_id, offline, code_challenge, scope, audience, terms, organization_id,
                    membership_id, authority_version, ancestors, delegation_id, created_at)
             SELECT $5, account_id, client_id, 1, $7, now() + make_interval(secs => $12::int),
                    now() + make_interval(secs => $12::int), $12::int, session_id, false, '', $8, $9, $10,
                    organization_id, membership_id, $11, '{}', delegation_id, clock_timestamp()
             FROM consumed
             RETURNING created_at",
            &[
                &new.account.uuid(),
                &new.approval.uuid(),
                &new.client_id,
                &new.secret_hash.as_slice(),
                &new.id.uuid(),
                &new.digest.as_slice(),
                &new.unused_hash.as_slice(),
                &new.scope,
                &new.audience,
                new.terms,
                &new.authority_version,
                &TOKEN_SECONDS,
            ],
        )
        .await?;
    let created = rows.first().map(|row| Decode::new("oauth_grant", new.id, row).get("created_at"));
    Ok(created.transpose()?)
}

/// Ends the grant of an approval that was used; `false` where it was not.
pub(in super::super) async fn revoke_used(
    tx: &Tx,
    account: AccountId,
    id: ApprovalId,
) -> Result<bool, StoreError> {
    let revoked = tx
        .execute(
            "UPDATE oauth_grant g SET revoked_at = coalesce(g.revoked_at, now()),
                 revoke_reason = coalesce(g.revoke_reason, 'revoked_by_owner')
             FROM approval a
             WHERE a.account_id = $1 AND a.approval_id = $2 AND a.state = 'consumed' AND g.grant_id = a.grant_id
               AND g.account_id = a.account_id",
            &[&account.uuid(), &id.uuid()],
        )
        .await?;
    Ok(revoked == 1)
}
