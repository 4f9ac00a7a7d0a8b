//! Derived grants (docs/decisions/0088): delegated authority.
//!
//! A derived grant has no code and no refresh token, and names its ancestors. It is valid while all of them are, by
//! the condition `ancestors_live` wherever a grant is checked: so any statement that ends one of them also ends
//! everything below it.

use std::sync::LazyLock;

use porteiro_protocol::{
    actor::MAX_ACTORS,
    authority::Authority,
    id::{AccountId, DelegationId, SessionId},
};
use uuid::Uuid;

use super::{
    super::{GrantId, LogEntry, Terms},
    ancestors_live, not_ended, not_ended_there,
};
use crate::{
    security_log::EventKind,
    store::{Decode, Params, Reader, Store, StoreError, Tx},
};

/// A grant for another client, for a number of seconds. Person, session and organization are its parent's.
#[derive(Debug)]
pub struct NewDerived<'a> {
    pub id: GrantId,
    pub parent: GrantId,
    pub account: AccountId,
    pub client_id: &'a str,
    /// Random: no token has this hash.
    pub unused_hash: [u8; 32],
    pub seconds: i32,
    pub authority: &'a Authority,
    pub terms: &'a Terms,
    /// By which the client may have it.
    pub delegation: Option<DelegationId>,
    /// The entry of the exchange in the security log, and what it says.
    pub log: LogEntry,
    pub event: serde_json::Value,
}

/// Whether the statement is all, or part of a transaction.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    Alone(&'a Store),
    In(&'a Tx),
}

/// Writes it below its parent, and returns their session; `None` where the parent does not live any more, is another
/// person's, is good once, or is the last of a chain that is as long as it may be, or where the delegation does not count
/// any more.
pub async fn insert_derived(place: Place<'_>, new: &NewDerived<'_>) -> Result<Option<SessionId>, StoreError> {
    let terms =
        serde_json::to_value(new.terms).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    let parameters: Params<'_> = &[
        &new.id.uuid(),
        &new.parent.uuid(),
        &new.account.uuid(),
        &new.client_id,
        &new.unused_hash.as_slice(),
        &new.seconds,
        &new.authority.scope().to_string(),
        &new.authority.audience(),
        &terms,
        &new.delegation.map(DelegationId::uuid),
        &new.log.id,
        &new.log.request,
        &new.log.personal,
        &new.event,
    ];
    let rows = match place {
        Place::Alone(store) => store.write("grants.insert_derived", &INSERT, parameters).await?,
        Place::In(tx) => tx.query(&INSERT, parameters).await?,
    };
    let session = rows.first().map(|row| Decode::new("oauth_grant", new.id, row).get::<Uuid>("session_id"));
    Ok(session.transpose()?.map(Into::into))
}

static INSERT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "WITH derived AS (
             INSERT INTO oauth_grant (grant_id, account_id, client_id, generation, current_hash, expires_at, ends_at,
                    idle_seconds, session_id, offline, code_challenge, scope, audience, terms, organization_id,
                    membership_id, authority_version, ancestors, delegation_id, created_at)
             SELECT $1, g.account_id, $4, 1, $5, least(g.expires_at, now() + make_interval(secs => $6::int)),
                    least(g.expires_at, now() + make_interval(secs => $6::int)), $6::int, g.session_id, g.offline, '',
                    $7, $8, $9, g.organization_id, g.membership_id, g.authority_version,
                    g.grant_id || coalesce(g.ancestors, '{{}}'), $10, clock_timestamp()
             FROM oauth_grant g JOIN account p ON p.account_id = g.account_id
             JOIN client c ON c.client_id = g.client_id JOIN client b ON b.client_id = $4
             WHERE g.grant_id = $2 AND g.account_id = $3 AND g.generation > 0 AND g.revoked_at IS NULL
               AND NOT g.terms ? 'approval' AND g.expires_at > now() AND p.state = 'active' AND c.disabled_at IS NULL
               AND b.disabled_at IS NULL AND g.created_at >= c.grants_from AND coalesce(cardinality(g.ancestors), 0) < {MAX_ACTORS}
               AND (g.membership_id IS NULL OR EXISTS (SELECT 1 FROM membership m
                    WHERE m.organization_id = g.organization_id AND m.membership_id = g.membership_id
                      AND m.state = 'active' AND g.created_at >= m.grants_from))
               AND ($10::uuid IS NULL OR EXISTS (SELECT 1 FROM delegation d
                    WHERE d.owner_id = ANY(ARRAY[g.account_id, g.organization_id]) AND d.delegation_id = $10
                      AND d.client_id = $4 AND d.created_at >= b.grants_from AND d.revoked_at IS NULL
                      AND d.expires_at > now()))
               AND {not_ended} AND {not_ended_there} AND {ancestors_live}
             RETURNING session_id, account_id, organization_id
         ), used AS (
             UPDATE delegation u SET last_used_at = now() FROM (
                 SELECT d.owner_id, d.delegation_id FROM derived g JOIN delegation d
                   ON d.owner_id = ANY(ARRAY[g.account_id, g.organization_id]) AND d.delegation_id = $10
                 WHERE d.last_used_at IS NULL OR d.last_used_at < now() - interval '10 minutes'
                 -- Whoever else holds it notes the same, or ends it: nobody waits here.
                 FOR UPDATE OF d SKIP LOCKED) d
             WHERE u.owner_id = d.owner_id AND u.delegation_id = d.delegation_id
         ), logged AS (
             INSERT INTO security_log (entry_id, subject_id, kind, payload, request_id)
             SELECT $11, account_id, '{exchanged}', $14, $12 FROM derived
         ), logged_personal AS (
             INSERT INTO security_log_personal (entry_id, subject_id, personal)
             SELECT $11, account_id, $13 FROM derived
         )
         SELECT session_id FROM derived",
        not_ended = not_ended!(),
        not_ended_there = not_ended_there!(),
        ancestors_live = ancestors_live!(),
        exchanged = EventKind::TokenExchanged.as_str(),
    )
});

/// The statement itself, for benchmarks.
pub fn deriving_statement() -> &'static str {
    &INSERT
}

/// Whether what was issued by a grant's delegation may be passed on; `None` where the grant was made by none.
pub async fn redelegable(
    reader: &impl Reader,
    grant: GrantId,
    account: AccountId,
) -> Result<Option<bool>, StoreError> {
    let rows = reader
        .rows(
            "grants.redelegable",
            "SELECT d.redelegable FROM oauth_grant g JOIN delegation d
               ON d.owner_id = ANY(ARRAY[g.account_id, g.organization_id]) AND d.delegation_id = g.delegation_id
             WHERE g.grant_id = $1 AND g.account_id = $2",
            &[&grant.uuid(), &account.uuid()],
        )
        .await?;
    let read = |row| Decode::new("delegation", grant, row).get("redelegable");
    Ok(rows.first().map(read).transpose()?)
}

/// Whether all ancestors of a derived grant are valid. A separate statement, so that other grants do not pay for it.
pub async fn ancestors_live(
    reader: &impl Reader,
    grant: GrantId,
    account: AccountId,
) -> Result<bool, StoreError> {
    let rows = reader
        .rows(
            "grants.ancestors_live",
            concat!(
                "SELECT 1 FROM oauth_grant g WHERE g.grant_id = $1 AND g.account_id = $2 AND ",
                ancestors_live!()
            ),
            &[&grant.uuid(), &account.uuid()],
        )
        .await?;
    Ok(!rows.is_empty())
}
