//! What directories vouch for in a session.

use porteiro_protocol::{
    assurance::DirectoryProof,
    id::{AccountId, OrganizationId, SessionId},
};
use uuid::Uuid;

use super::{
    super::held::{Held, newest_within},
    ALIVE, Ended, LAPSED, ids, json,
};
use crate::store::{Decode, Reader, StoreError, Tx};

/// Adds a proof by a directory to a valid session, in place of an earlier one of the same organization, and gives it a
/// new token, if there is one. What the account proved there becomes neither fresher nor stronger. `false` if the session
/// ended meanwhile.
pub async fn add_directory(
    tx: &Tx,
    session: SessionId,
    account: AccountId,
    organization: OrganizationId,
    proof: &DirectoryProof,
    token_hash: Option<&[u8; 32]>,
) -> Result<bool, StoreError> {
    let sql = format!(
        "UPDATE session SET token_hash = coalesce($3, token_hash), seen_at = now(), lapsed = {LAPSED},
                proofs = $4 || coalesce((SELECT jsonb_agg(proof) FROM jsonb_array_elements(proofs) proof
                                         WHERE proof->>'organization' IS DISTINCT FROM $5), '[]')
         WHERE session_id = $1 AND account_id = $2 AND {ALIVE}"
    );
    let hash = token_hash.map(<[u8; 32]>::as_slice);
    let (proofs, organization) = (json(&[proof])?, organization.to_string());
    let added = tx.execute(&sql, &[&session.uuid(), &account.uuid(), &hash, &proofs, &organization]).await?;
    Ok(added == 1)
}

/// What a directory of the organization vouches for in a valid session.
pub async fn directory_proof(
    reader: &impl Reader,
    session: SessionId,
    account: AccountId,
    organization: OrganizationId,
) -> Result<Option<DirectoryProof>, StoreError> {
    let sql = format!("SELECT proofs FROM session WHERE session_id = $1 AND account_id = $2 AND {ALIVE}");
    let rows = reader.rows("sessions.directory_proof", &sql, &[&session.uuid(), &account.uuid()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let held: Held = Decode::new("session", session, row).json("proofs")?;
    Ok(newest_within(&held.directories, organization).cloned())
}

/// Removes what directories of an organization vouch for from the sessions of an account. Those with no other proof end.
pub async fn forget_directory(
    tx: &Tx,
    account: AccountId,
    organization: OrganizationId,
) -> Result<Vec<SessionId>, StoreError> {
    let rows = tx
        .query(
            "UPDATE session SET proofs = others.proofs,
                    ended_at = CASE WHEN others.proofs = '[]' THEN now() END,
                    end_reason = CASE WHEN others.proofs = '[]' THEN 'membership_ended' END
             FROM (SELECT s.session_id, coalesce(jsonb_agg(proof) FILTER (
                              WHERE proof->>'organization' IS DISTINCT FROM $2), '[]') AS proofs
                   FROM session s CROSS JOIN jsonb_array_elements(s.proofs) proof
                   WHERE s.account_id = $1 AND s.ended_at IS NULL
                     AND s.proofs @> jsonb_build_array(jsonb_build_object('organization', $2::text))
                   GROUP BY s.session_id) others
             WHERE session.account_id = $1 AND session.session_id = others.session_id AND session.ended_at IS NULL
             RETURNING session.session_id, ended_at IS NOT NULL AS ended",
            &[&account.uuid(), &organization.to_string()],
        )
        .await?;
    let ended: Vec<_> = rows.into_iter().filter(|row| row.get::<_, bool>("ended")).collect();
    ids(&ended)
}

/// Which proofs of a directory are removed from the sessions of an account. An absent part does not restrict.
#[derive(Debug, Clone, Copy)]
pub struct Forget<'a> {
    pub organization: OrganizationId,
    pub identity: Uuid,
    /// Of this epoch, or of an earlier one.
    pub epoch: Option<i64>,
    /// Of this session there.
    pub sid: Option<&'a str>,
    pub reason: Ended,
}

/// The sessions that lost a proof.
#[derive(Debug, Default)]
pub struct Forgotten {
    /// Those that had no other.
    pub ended: Vec<SessionId>,
    pub kept: Vec<SessionId>,
}

/// Removes what a directory vouches for with one identity from the sessions of an account.
pub async fn forget_identity(
    tx: &Tx,
    account: AccountId,
    which: Forget<'_>,
) -> Result<Forgotten, StoreError> {
    let rows = tx
        .query(
            "UPDATE session SET proofs = others.proofs,
                    ended_at = CASE WHEN others.proofs = '[]' THEN now() END,
                    end_reason = CASE WHEN others.proofs = '[]' THEN $6::text END
             FROM (SELECT s.session_id, coalesce(jsonb_agg(proof) FILTER (
                              WHERE (proof->'proof'->>'credential' = $3
                                     AND ($4::int8 IS NULL OR coalesce((proof->>'epoch')::int8, 0) <= $4)
                                     AND ($5::text IS NULL OR proof->>'sid' = $5)) IS NOT TRUE), '[]') AS proofs
                   FROM session s CROSS JOIN jsonb_array_elements(s.proofs) proof
                   WHERE s.account_id = $1 AND s.ended_at IS NULL
                     AND s.proofs @> jsonb_build_array(jsonb_build_object('organization', $2::text))
                   GROUP BY s.session_id) others
             WHERE session.account_id = $1 AND session.session_id = others.session_id AND session.ended_at IS NULL
               AND session.proofs <> others.proofs
             RETURNING session.session_id, ended_at IS NOT NULL AS ended",
            &[
                &account.uuid(),
                &which.organization.to_string(),
                &which.identity.to_string(),
                &which.epoch,
                &which.sid,
                &which.reason.as_str(),
            ],
        )
        .await?;
    let (ended, kept): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.get::<_, bool>("ended"));
    Ok(Forgotten { ended: ids(&ended)?, kept: ids(&kept)? })
}

/// Ends the sessions that rest on a credential.
pub async fn end_resting_on(
    tx: &Tx,
    account: AccountId,
    credential: porteiro_protocol::id::CredentialId,
    reason: Ended,
) -> Result<Vec<SessionId>, StoreError> {
    let rows = tx
        .query(
            "UPDATE session SET ended_at = now(), end_reason = $3
             WHERE account_id = $1 AND ended_at IS NULL
               AND proofs @> jsonb_build_array(jsonb_build_object('credential', $2::text))
             RETURNING session_id",
            &[&account.uuid(), &credential.to_string(), &reason.as_str()],
        )
        .await?;
    ids(&rows)
}
