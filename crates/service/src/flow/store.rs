use porteiro_protocol::{id::FlowId, time::OffsetDateTime};
use serde_json::Value;

use super::state::State;
use crate::connections::Offered;
use crate::store::{Decode, Reader, StoreError, Tx};

/// A flow as stored, and whether it has expired by the database's clock.
#[derive(Debug)]
pub struct Loaded {
    pub id: FlowId,
    pub step: i32,
    pub binding_hash: Vec<u8>,
    pub state: State,
    pub expires_at: OffsetDateTime,
    pub expired: bool,
    pub finished: bool,
    /// The response of the completed flow, kept for a minute in case the first one was lost.
    pub result: Option<Value>,
    /// Connections by which a person may sign in.
    pub connections: Vec<Offered>,
    pub now: OffsetDateTime,
}

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
                    CASE WHEN finished_at > now() - interval '60 seconds' THEN result END AS result,
                    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', connection_id, 'name', name) ORDER BY name), '[]')
                     FROM connection WHERE enabled) AS connections
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
        connections: flow.json("connections")?,
        now: flow.get("now")?,
    }))
}

/// The database's time; inside a transaction, the time of its start.
pub async fn now(reader: &impl Reader) -> Result<OffsetDateTime, StoreError> {
    let rows = reader.rows("flow.now", "SELECT now() AS now", &[]).await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("SELECT now() returned no row".into()))?;
    Ok(Decode::new("now", "now", row).get("now")?)
}

/// Claims the step; a stale or parallel call changes nothing.
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

/// Writes the result of the claimed step; with a result, the flow ends.
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
