//! The grant of an impersonation. It has no code and no refresh token: its hash is of no secret. In all other
//! respects it is a grant like any other.

use porteiro_protocol::{authority::Authority, id::AccountId};
use uuid::Uuid;

use super::{
    super::{super::clients::Client, GrantId, Live, Terms, Why},
    not_ended, not_ended_there,
};
use crate::{
    oauth::acting::Acting,
    store::{Decode, Reader, StoreError, Tx},
};

/// A grant by which a platform administrator impersonates a member, for a number of seconds.
#[derive(Debug)]
pub struct NewActing<'a> {
    pub id: GrantId,
    pub account: AccountId,
    pub acting: &'a Acting,
    pub authority_version: i64,
    pub client_id: &'a str,
    /// Stored in place of the session.
    pub impersonation: Uuid,
    /// Random: no token has this hash.
    pub unused_hash: [u8; 32],
    pub seconds: i32,
    pub authority: &'a Authority,
    pub terms: &'a Terms,
}

pub async fn insert_acting(tx: &Tx, new: &NewActing<'_>) -> Result<(), StoreError> {
    let terms =
        serde_json::to_value(new.terms).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    tx.execute(
        "INSERT INTO oauth_grant (grant_id, account_id, client_id, generation, current_hash, expires_at, ends_at,
                idle_seconds, session_id, offline, code_challenge, scope, audience, terms, organization_id,
                membership_id, authority_version, created_at)
         VALUES ($1, $2, $3, 1, $4, now() + make_interval(secs => $5::int), now() + make_interval(secs => $5::int),
                 $5::int, $6, false, '', $7, $8, $9, $10, $11, $12, clock_timestamp())",
        &[
            &new.id.uuid(),
            &new.account.uuid(),
            &new.client_id,
            &new.unused_hash.as_slice(),
            &new.seconds,
            &new.impersonation,
            &new.authority.scope().to_string(),
            &new.authority.audience(),
            &terms,
            &new.acting.organization.uuid(),
            &new.acting.membership.uuid(),
            &new.authority_version,
        ],
    )
    .await
    .map(|_| ())
}

/// The grant, if it is valid and belongs to this client; `acting` with the current role.
pub async fn find_acting(
    reader: &impl Reader,
    grant: GrantId,
    account: AccountId,
    client: &Client,
    acting: Acting,
) -> Result<Option<Live>, StoreError> {
    let rows = reader
        .rows(
            "grants.find_acting",
            concat!(
                "SELECT session_id, scope, audience, terms, created_at, authority_version FROM oauth_grant g
             WHERE grant_id = $1 AND account_id = $2 AND client_id = $3 AND created_at >= $4
               AND organization_id = $5 AND membership_id = $6 AND revoked_at IS NULL AND expires_at > now() AND ",
                not_ended!(),
                " AND ",
                not_ended_there!()
            ),
            &[
                &grant.uuid(),
                &account.uuid(),
                &client.id,
                &client.grants_from,
                &acting.organization.uuid(),
                &acting.membership.uuid(),
            ],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let row = Decode::new("oauth_grant", grant, row);
    let terms: Terms = row.json("terms")?;
    let authority = Authority::granted(row.parsed("scope")?, row.get("audience")?, Vec::new());
    Ok(Some(Live {
        id: grant,
        account,
        session: row.get::<Uuid>("session_id")?.into(),
        authority: authority.acting_for(acting.organization),
        acting: Some(acting),
        authority_version: row.get("authority_version")?,
        terms,
        created_at: row.get("created_at")?,
    }))
}

/// Ends it before its expiry.
pub async fn revoke_acting(tx: &Tx, grant: GrantId, account: AccountId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE oauth_grant SET revoked_at = now(), revoke_reason = $3
         WHERE grant_id = $1 AND account_id = $2 AND revoked_at IS NULL",
        &[&grant.uuid(), &account.uuid(), &Why::ActingEnded.as_str()],
    )
    .await
    .map(|_| ())
}
