//! What ends grants (decision record 0067).
//!
//! Ending what grants depend on writes one row in the same transaction: from its commit on, every statement that
//! checks a grant finds it ended (`living.rs`). The grants are then revoked in batches (`batches.rs`), by the writer
//! of the row and by a job; the row is deleted with the last of them.

use porteiro_protocol::id::{AccountId, CredentialId, Id, MembershipId, OrganizationId, SessionId};
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::{GrantId, Why};
use crate::{
    security_log::Origin,
    store::{Decode, RowError, StoreError, Tx},
};

/// Type of the ids of endings.
#[derive(Debug)]
pub enum EndingRow {}
pub type EndingId = Id<EndingRow>;

/// Whose grants end.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    Account(AccountId),
    /// The grants its members gave to one client.
    Organization(OrganizationId),
}

impl Owner {
    pub(super) const fn uuid(self) -> Uuid {
        match self {
            Self::Account(id) => id.uuid(),
            Self::Organization(id) => id.uuid(),
        }
    }
}

/// Which grants end together. An absent part does not restrict.
#[derive(Debug, Clone)]
pub struct Ending<'a> {
    pub owner: Owner,
    pub sessions: Option<&'a [SessionId]>,
    /// Grants of this session are kept.
    pub spared: Option<SessionId>,
    pub client_id: Option<&'a str>,
    pub membership: Option<MembershipId>,
    /// Grants that were proved with it.
    pub credential: Option<CredentialId>,
    /// Of those that rest on a directory's word: made in this epoch of it, or before.
    pub directory_epoch: Option<i64>,
    pub offline_too: bool,
    /// Whether clients that registered for it are notified.
    pub tells: bool,
    pub why: Why,
}

impl<'a> Ending<'a> {
    /// All grants of an account; no client is notified.
    pub const fn of_account(account: AccountId, why: Why) -> Self {
        Self {
            owner: Owner::Account(account),
            sessions: None,
            spared: None,
            client_id: None,
            membership: None,
            credential: None,
            directory_epoch: None,
            offline_too: true,
            tells: false,
            why,
        }
    }

    /// The grants that members of an organization gave to a client.
    pub const fn of_client_in(organization: OrganizationId, client_id: &'a str, why: Why) -> Self {
        Self {
            owner: Owner::Organization(organization),
            sessions: None,
            spared: None,
            client_id: Some(client_id),
            membership: None,
            credential: None,
            directory_epoch: None,
            offline_too: true,
            tells: true,
            why,
        }
    }
}

/// A grant that just ended, or whose session did.
#[derive(Debug)]
pub struct Revoked {
    pub grant: GrantId,
    pub account: AccountId,
    pub client_id: String,
    pub session: SessionId,
    /// The subject of its tokens.
    pub subject: Uuid,
}

pub(super) fn revoked(row: &Row) -> Result<Revoked, RowError> {
    let (grant, id) = Decode::keyed::<Uuid>("oauth_grant", "grant_id", row)?;
    Ok(Revoked {
        grant: id.into(),
        account: grant.get::<Uuid>("account_id")?.into(),
        client_id: grant.get("client_id")?,
        session: grant.get::<Uuid>("session_id")?.into(),
        subject: grant.get("subject")?,
    })
}

/// Ends one grant for its client (RFC 7009). Unknown, foreign and revoked grants give the same result.
pub async fn revoke_one(
    tx: &Tx,
    grant: Uuid,
    account: Uuid,
    client_id: &str,
    why: Why,
) -> Result<Option<Revoked>, StoreError> {
    let rows = tx
        .query(
            "UPDATE oauth_grant SET revoked_at = now(), revoke_reason = $1
             WHERE revoked_at IS NULL AND grant_id = $2 AND account_id = $3 AND client_id = $4
             RETURNING grant_id, account_id, client_id, session_id, coalesce(membership_id, account_id) AS subject",
            &[&why.as_str(), &grant, &account, &client_id],
        )
        .await?;
    Ok(rows.first().map(revoked).transpose()?)
}

/// From the commit of this row on, the grants that it covers are ended.
pub async fn begin_ending(
    tx: &Tx,
    id: EndingId,
    ending: &Ending<'_>,
    origin: &Origin<'_>,
) -> Result<(), StoreError> {
    let sessions: Option<Vec<Uuid>> = ending.sessions.map(|all| all.iter().map(|one| one.uuid()).collect());
    tx.execute(
        "INSERT INTO grant_ending (owner_id, ending_id, reason, session_ids, spared_session_id, client_id,
                membership_id, credential_id, offline_too, tells, request_id, address, user_agent, directory_epoch)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        &[
            &ending.owner.uuid(),
            &id.uuid(),
            &ending.why.as_str(),
            &sessions,
            &ending.spared.map(Id::uuid),
            &ending.client_id,
            &ending.membership.map(Id::uuid),
            &ending.credential.map(|it| it.to_string()),
            &ending.offline_too,
            &ending.tells,
            &origin.request_id,
            &origin.address,
            &origin.user_agent,
            &ending.directory_epoch,
        ],
    )
    .await
    .map(|_| ())
}
