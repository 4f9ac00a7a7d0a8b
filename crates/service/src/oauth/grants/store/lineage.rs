//! Derived grants (docs/decisions/0088): delegated authority.
//!
//! A derived grant has no code and no refresh token, and names its ancestors. It is valid while all of them are, by
//! the condition `ancestors_live` wherever a grant is checked: so any statement that ends one of them also ends
//! everything below it.

use porteiro_protocol::{actor::MAX_ACTORS, authority::Authority, id::AccountId};

use super::{
    super::{GrantId, Terms},
    ancestors_live, not_ended, not_ended_there,
};
use crate::store::{Reader, StoreError, Tx};

/// A grant for another client, for a number of seconds. Person, session and organization are its parent's.
#[derive(Debug)]
pub struct NewDerived<'a> {
    pub id: GrantId,
    pub parent: GrantId,
    pub account: AccountId,
    pub client_id: &'a str,
    /// Random: no token has this hash.
    pub nobodys_hash: [u8; 32],
    pub seconds: i32,
    pub authority: &'a Authority,
    pub terms: &'a Terms,
}

/// Writes it below its parent; `false` where the parent is not valid, belongs to another person, or is the end of a
/// chain of maximum length.
pub async fn insert_derived(tx: &Tx, new: &NewDerived<'_>) -> Result<bool, StoreError> {
    let terms =
        serde_json::to_value(new.terms).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    let sql = format!(
        "INSERT INTO oauth_grant (grant_id, account_id, client_id, generation, current_hash, expires_at, ends_at,
                idle_seconds, session_id, offline, code_challenge, scope, audience, terms, organization_id,
                membership_id, authority_version, ancestors, created_at)
         SELECT $1, g.account_id, $4, 1, $5, least(g.expires_at, now() + make_interval(secs => $6::int)),
                least(g.expires_at, now() + make_interval(secs => $6::int)), $6::int, g.session_id, g.offline, '', $7,
                $8, $9, g.organization_id, g.membership_id, g.authority_version,
                g.grant_id || coalesce(g.ancestors, '{{}}'), clock_timestamp()
         FROM oauth_grant g JOIN account p ON p.account_id = g.account_id JOIN client c ON c.client_id = g.client_id
         WHERE g.grant_id = $2 AND g.account_id = $3 AND g.generation > 0 AND g.revoked_at IS NULL
           AND g.expires_at > now() AND p.state = 'active' AND c.disabled_at IS NULL
           AND g.created_at >= c.grants_from AND coalesce(cardinality(g.ancestors), 0) < {MAX_ACTORS}
           AND {not_ended} AND {not_ended_there} AND {ancestors_live}",
        not_ended = not_ended!(),
        not_ended_there = not_ended_there!(),
        ancestors_live = ancestors_live!(),
    );
    let inserted = tx
        .execute(
            &sql,
            &[
                &new.id.uuid(),
                &new.parent.uuid(),
                &new.account.uuid(),
                &new.client_id,
                &new.nobodys_hash.as_slice(),
                &new.seconds,
                &new.authority.scope().to_string(),
                &new.authority.audience(),
                &terms,
            ],
        )
        .await?;
    Ok(inserted == 1)
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
