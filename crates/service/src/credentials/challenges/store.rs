use porteiro_protocol::id::{ChallengeId, FlowId};
use uuid::Uuid;

use super::{super::KINDS, Challenge, NewChallenge};
use crate::store::{Decode, Reader, Store, StoreError, Tx};

/// Pending challenges: not consumed, not expired, attempts left.
pub async fn find_challenges(reader: &impl Reader, id: FlowId) -> Result<Vec<Challenge>, StoreError> {
    let rows = reader
        .rows(
            "flow.challenges",
            "SELECT challenge_id, module, purpose, body, created_at FROM challenge
             WHERE flow_id = $1 AND consumed_at IS NULL AND expires_at > now() AND attempts < max_attempts
             ORDER BY created_at",
            &[&id.uuid()],
        )
        .await?;
    rows.iter()
        .map(|row| {
            let (challenge, key) = Decode::keyed::<Uuid>("challenge", "challenge_id", row)?;
            let module: String = challenge.get("module")?;
            let mut known = KINDS.iter().flat_map(|info| info.challenges).copied();
            let module = known.find(|known| *known == module);
            Ok(Challenge {
                id: key.into(),
                module: module.ok_or_else(|| challenge.wrong("module", "no such module"))?,
                purpose: challenge.parsed("purpose")?,
                body: challenge.get("body")?,
                created_at: challenge.get("created_at")?,
            })
        })
        .collect()
}

/// Replaces the module's previous challenge, whose code becomes invalid.
pub async fn replace_challenge(tx: &Tx, flow: FlowId, new: &NewChallenge) -> Result<(), StoreError> {
    drop_challenges(tx, flow, new.module).await?;
    tx.execute(
        "INSERT INTO challenge (flow_id, challenge_id, module, purpose, body, max_attempts, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))",
        &[
            &flow.uuid(),
            &new.id.uuid(),
            &new.module,
            &new.purpose.as_str(),
            &new.body,
            &new.max_attempts,
            &new.lifetime_seconds,
        ],
    )
    .await
    .map(|_| ())
}

pub async fn drop_challenges(tx: &Tx, flow: FlowId, module: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE challenge SET consumed_at = now() WHERE flow_id = $1 AND module = $2 AND consumed_at IS NULL",
        &[&flow.uuid(), &module],
    )
    .await
    .map(|_| ())
}

/// Counts an attempt before it is verified, in a statement of its own; `false` if none is left.
pub async fn attempt(store: &Store, flow: FlowId, challenge: ChallengeId) -> Result<bool, StoreError> {
    let rows = store
        .write(
            "flow.attempt",
            "UPDATE challenge SET attempts = attempts + 1
             WHERE flow_id = $1 AND challenge_id = $2 AND consumed_at IS NULL AND expires_at > now()
               AND attempts < max_attempts
             RETURNING challenge_id",
            &[&flow.uuid(), &challenge.uuid()],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Consumes a challenge exactly once, however many calls answer it concurrently. Attempts are not checked again: the
/// correct answer may have been the last one allowed.
pub async fn consume_challenge(tx: &Tx, flow: FlowId, challenge: ChallengeId) -> Result<bool, StoreError> {
    let consumed = tx
        .execute(
            "UPDATE challenge SET consumed_at = now()
             WHERE flow_id = $1 AND challenge_id = $2 AND consumed_at IS NULL AND expires_at > now()",
            &[&flow.uuid(), &challenge.uuid()],
        )
        .await?;
    Ok(consumed == 1)
}
