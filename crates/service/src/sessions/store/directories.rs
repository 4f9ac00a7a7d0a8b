//! What directories vouch for in a session.

use porteiro_protocol::{
    assurance::DirectoryProof,
    id::{AccountId, OrganizationId, SessionId},
};
use uuid::Uuid;

use super::{ALIVE, LAPSED, ids, json};
use crate::store::{StoreError, Tx};

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

/// Removes what a directory vouches for with one identity from the sessions of an account, as far as it is of this epoch or
/// of an earlier one. Those with no other proof end.
pub async fn forget_identity(
    tx: &Tx,
    account: AccountId,
    organization: OrganizationId,
    identity: Uuid,
    epoch: Option<i64>,
) -> Result<Vec<SessionId>, StoreError> {
    let rows = tx
        .query(
            "UPDATE session SET proofs = others.proofs,
                    ended_at = CASE WHEN others.proofs = '[]' THEN now() END,
                    end_reason = CASE WHEN others.proofs = '[]' THEN 'directory_ended' END
             FROM (SELECT s.session_id, coalesce(jsonb_agg(proof) FILTER (
                              WHERE (proof->'proof'->>'credential' = $3
                                     AND coalesce((proof->>'epoch')::int8, 0) <= coalesce($4, 9223372036854775807))
                                    IS NOT TRUE), '[]') AS proofs
                   FROM session s CROSS JOIN jsonb_array_elements(s.proofs) proof
                   WHERE s.account_id = $1 AND s.ended_at IS NULL
                     AND s.proofs @> jsonb_build_array(jsonb_build_object('organization', $2::text))
                   GROUP BY s.session_id) others
             WHERE session.account_id = $1 AND session.session_id = others.session_id AND session.ended_at IS NULL
               AND session.proofs <> others.proofs
             RETURNING session.session_id, ended_at IS NOT NULL AS ended",
            &[&account.uuid(), &organization.to_string(), &identity.to_string(), &epoch],
        )
        .await?;
    let ended: Vec<_> = rows.into_iter().filter(|row| row.get::<_, bool>("ended")).collect();
    ids(&ended)
}
