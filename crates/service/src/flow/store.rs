use porteiro_protocol::{
    id::{ChallengeId, FlowId},
    time::OffsetDateTime,
};
use serde_json::Value;
use uuid::Uuid;

use super::state::State;
use crate::store::{Decode, Reader, Store, StoreError, Tx, text_enum};

text_enum! {
    Purpose { Prove = "prove", Enrol = "enrol" }
}

/// A flow as stored, and whether its time has come, by the database's clock.
#[derive(Debug)]
pub struct Loaded {
    pub id: FlowId,
    pub step: i32,
    pub binding_hash: Vec<u8>,
    pub state: State,
    pub expires_at: OffsetDateTime,
    pub expired: bool,
    pub finished: bool,
    /// What the completed flow answers, for the minute in which a lost answer may be fetched again.
    pub result: Option<Value>,
    pub now: OffsetDateTime,
}

#[derive(Clone)]
pub struct Challenge {
    pub id: ChallengeId,
    pub module: &'static str,
    pub purpose: Purpose,
    pub body: Value,
    pub created_at: OffsetDateTime,
}

impl std::fmt::Debug for Challenge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{} challenge {}>", self.module, self.id)
    }
}

pub struct NewChallenge {
    pub id: ChallengeId,
    pub module: &'static str,
    pub purpose: Purpose,
    pub body: Value,
    pub max_attempts: i32,
    pub lifetime_seconds: f64,
}

impl std::fmt::Debug for NewChallenge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<new {} challenge>", self.module)
    }
}

/// Names of modules that keep challenges; anything else in the table is not ours.
pub const MODULES: &[&str] =
    &["passkey", "email_code", "sms_code", "totp_enrol", "passkey_enrol", "email_add", "phone_add"];

fn json(state: &State) -> Result<Value, StoreError> {
    serde_json::to_value(state).map_err(|error| StoreError::Inconsistent(error.to_string()))
}

#[derive(Debug, Clone, Copy)]
pub struct Lifetime {
    pub total_seconds: f64,
    pub idle_seconds: f64,
}

pub async fn insert(
    tx: &Tx,
    id: FlowId,
    binding_hash: &[u8; 32],
    state: &State,
    lifetime: Lifetime,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO flow (flow_id, binding_hash, state, expires_at, idle_expires_at)
         VALUES ($1, $2, $3, now() + make_interval(secs => $4), now() + make_interval(secs => $5))",
        &[
            &id.uuid(),
            &binding_hash.as_slice(),
            &json(state)?,
            &lifetime.total_seconds,
            &lifetime.idle_seconds.min(lifetime.total_seconds),
        ],
    )
    .await
    .map(|_| ())
}

pub async fn load(reader: &impl Reader, id: FlowId) -> Result<Option<Loaded>, StoreError> {
    let rows = reader
        .rows(
            "flow.load",
            "SELECT step, binding_hash, state, expires_at, finished_at IS NOT NULL AS finished, now() AS now,
                    expires_at <= now() OR idle_expires_at <= now() AS expired,
                    CASE WHEN finished_at > now() - interval '60 seconds' THEN result END AS result
             FROM flow WHERE flow_id = $1",
            &[&id.uuid()],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let flow = Decode::new("flow", id, row);
    Ok(Some(Loaded {
        id,
        step: flow.get("step")?,
        binding_hash: flow.get("binding_hash")?,
        state: flow.json("state")?,
        expires_at: flow.get("expires_at")?,
        expired: flow.get("expired")?,
        finished: flow.get("finished")?,
        result: flow.get("result")?,
        now: flow.get("now")?,
    }))
}

/// The database's time: of the transaction, inside one.
pub async fn now(reader: &impl Reader) -> Result<OffsetDateTime, StoreError> {
    let rows = reader.rows("flow.now", "SELECT now() AS now", &[]).await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("SELECT now() returned no row".into()))?;
    Ok(Decode::new("now", "now", row).get("now")?)
}

/// Takes the step, if nobody else did: a stale or parallel call changes nothing.
pub async fn claim(tx: &Tx, id: FlowId, step: i32) -> Result<bool, StoreError> {
    let claimed = tx
        .execute(
            "UPDATE flow SET step = step + 1
             WHERE flow_id = $1 AND step = $2 AND finished_at IS NULL
               AND expires_at > now() AND idle_expires_at > now()",
            &[&id.uuid(), &step],
        )
        .await?;
    Ok(claimed == 1)
}

/// Writes what the claimed step led to; with a result, the flow is over.
pub async fn save(
    tx: &Tx,
    id: FlowId,
    binding_hash: &[u8],
    state: &State,
    idle_seconds: f64,
    result: Option<&Value>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE flow SET binding_hash = $2, state = $3, result = $5,
                idle_expires_at = least(expires_at, now() + make_interval(secs => $4)),
                finished_at = CASE WHEN $5::jsonb IS NOT NULL THEN now() END
         WHERE flow_id = $1 AND finished_at IS NULL",
        &[&id.uuid(), &binding_hash, &json(state)?, &idle_seconds, &result],
    )
    .await
    .map(|_| ())
}

/// Live challenges: not consumed, not expired, attempts left.
pub async fn challenges(reader: &impl Reader, id: FlowId) -> Result<Vec<Challenge>, StoreError> {
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
            let module = MODULES.iter().copied().find(|known| **known == module);
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

/// A new challenge replaces the module's old one: an earlier code dies.
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

/// Counts an attempt before it is looked at, in a statement of its own; `false` when none is left.
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

/// Consumes a challenge exactly once, however many answer at the same moment. Attempts are not asked again: the one
/// that brought the right answer may have been the last.
pub async fn consume(tx: &Tx, flow: FlowId, challenge: ChallengeId) -> Result<bool, StoreError> {
    let consumed = tx
        .execute(
            "UPDATE challenge SET consumed_at = now()
             WHERE flow_id = $1 AND challenge_id = $2 AND consumed_at IS NULL AND expires_at > now()",
            &[&flow.uuid(), &challenge.uuid()],
        )
        .await?;
    Ok(consumed == 1)
}
