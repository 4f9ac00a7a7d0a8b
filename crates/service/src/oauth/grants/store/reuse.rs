//! Reuse of a superseded code or refresh token, which ends the grant.

use super::super::Superseded;
use crate::{
    security_log::EventKind,
    store::{Store, StoreError},
};

/// Logs each reuse in `moved`, from what its UPDATE returned.
pub(super) fn logged() -> String {
    let reused = EventKind::GrantReused.as_str();
    format!(
        "logged AS (
             INSERT INTO security_log (entry_id, subject_id, kind, payload, request_id)
             SELECT entry_id, account_id, '{reused}', jsonb_build_object('client_id', client_id,
                    'grant_id', grant_id, 'generation', presented, 'current', generation), request_id
             FROM moved WHERE NOT moved
         ), logged_personal AS (
             INSERT INTO security_log_personal (entry_id, subject_id, personal)
             SELECT entry_id, account_id, personal FROM moved WHERE NOT moved
         )"
    )
}

/// Ends the grant of a superseded code or refresh token, and changes nothing if it is current. For requests that were
/// refused before presenting it; a code requires its verifier, as there.
pub async fn end_superseded(store: &Store, presented: &Superseded) -> Result<bool, StoreError> {
    let logged = logged();
    let sql = format!(
        "WITH moved AS (
             UPDATE oauth_grant g SET revoked_at = now(), revoke_reason = 'reuse', reuse_generation = $5::int
             WHERE g.grant_id = $1 AND g.account_id = $2 AND g.client_id = $3 AND g.current_hash <> $4
               AND g.revoked_at IS NULL AND g.expires_at > now() AND ($5::int > 0 OR g.code_challenge = $6::bytea)
             RETURNING g.grant_id, g.account_id, g.client_id, g.generation, false AS moved, $5::int AS presented,
                       $7::uuid AS entry_id, $8::uuid AS request_id, $9::jsonb AS personal
         ), {logged}
         SELECT grant_id FROM moved"
    );
    let rows = store
        .write(
            "grants.end_superseded",
            &sql,
            &[
                &presented.grant,
                &presented.account,
                &presented.client_id,
                &presented.hash.as_slice(),
                &presented.generation,
                &presented.challenge.as_ref().map(<[u8; 32]>::as_slice),
                &presented.log.id,
                &presented.log.request,
                &presented.log.personal,
            ],
        )
        .await?;
    Ok(!rows.is_empty())
}
