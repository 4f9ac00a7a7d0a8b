//! The outbox: waiting, parked and given-up jobs. [`leases`] leases and ends jobs.

pub(super) mod leases;

use porteiro_protocol::{
    id::{Id, JobId},
    time::OffsetDateTime,
};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use super::lanes::Lane;
use crate::store::{Decode, RowError, Store, StoreError, Tx};

/// A job with too many attempts, as operators see it.
#[derive(Debug, serde::Serialize)]
pub struct Parked {
    pub job_id: JobId,
    pub kind: String,
    pub attempts: i32,
    #[serde(with = "time::serde::rfc3339")]
    pub parked_at: OffsetDateTime,
    pub last_error: Option<String>,
}

impl TryFrom<&Row> for Parked {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (job, key) = Decode::keyed::<Uuid>("job", "job_id", row)?;
        Ok(Self {
            job_id: key.into(),
            kind: job.get("kind")?,
            attempts: job.get("attempts")?,
            parked_at: job.get("parked_at")?,
            last_error: job.get("last_error")?,
        })
    }
}

pub(super) async fn insert(
    tx: &Tx,
    job_id: JobId,
    lane: &Lane,
    payload: &Value,
    seconds: f64,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO job (job_id, kind, destination, payload, run_at)
         VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5))",
        &[&job_id.uuid(), &lane.kind, &lane.destination, &payload, &seconds],
    )
    .await
    .map(|_| ())
}

pub async fn parked(store: &Store) -> Result<Vec<Parked>, StoreError> {
    let rows = store
        .read(
            "jobs.parked",
            "SELECT job_id, kind, attempts, parked_at, last_error FROM job
             WHERE parked_at IS NOT NULL ORDER BY parked_at LIMIT 1000",
            &[],
        )
        .await?;
    rows.iter().map(|row| Parked::try_from(row).map_err(StoreError::from)).collect()
}

/// Jobs waiting and parked, for the metrics. Jobs for hosts that unauthenticated callers chose do not count as parked: an
/// alarm on parked jobs must not be theirs to raise.
pub async fn count_waiting(store: &Store) -> Result<(i64, i64), StoreError> {
    let rows = store
        .read(
            "jobs.count",
            "SELECT count(*) FILTER (WHERE parked_at IS NULL) AS waiting,
                    count(*) FILTER (WHERE parked_at IS NOT NULL AND destination = '') AS parked FROM job",
            &[],
        )
        .await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("count(*) returned no row".into()))?;
    let counts = Decode::new("job", "all", row);
    Ok((counts.get("waiting")?, counts.get("parked")?))
}

/// Gives parked jobs a new set of attempts, due at once, even if their host is paused.
pub async fn retry_parked(store: &Store, only: Option<JobId>) -> Result<u64, StoreError> {
    let rows = store
        .write(
            "jobs.retry",
            "WITH again AS (
                 UPDATE job SET parked_at = NULL, attempts = 0, run_at = now(), enqueued_at = now()
                 WHERE parked_at IS NOT NULL AND ($1::uuid IS NULL OR job_id = $1)
                 RETURNING job_id, kind, destination),
             resumed AS (
                 DELETE FROM job_pause WHERE (kind, destination) IN (SELECT kind, destination FROM again))
             SELECT job_id FROM again",
            &[&only.map(Id::uuid)],
        )
        .await?;
    Ok(rows.len() as u64)
}

/// Gives up jobs that no host accepted in time. Clients choose the hosts, so the waiting jobs must not grow without
/// bound. Parked jobs of such lanes are kept for a week, for operators to look at; those of other lanes until an
/// operator decides.
pub(super) async fn sweep(store: &Store) -> Result<u64, StoreError> {
    let given_up = store
        .sweep(
            "jobs.sweep",
            "DELETE FROM job WHERE job_id IN (
                 SELECT job_id FROM job
                 WHERE destination <> '' AND (leased_until IS NULL OR leased_until < now())
                   AND enqueued_at < now() - CASE WHEN parked_at IS NULL THEN interval '1 day' ELSE interval '7 days' END
                 LIMIT $1 FOR UPDATE SKIP LOCKED)
             RETURNING 1 AS swept",
        )
        .await?;
    store
        .sweep(
            "jobs.sweep_pauses",
            "DELETE FROM job_pause WHERE (kind, destination) IN (
                 SELECT kind, destination FROM job_pause WHERE resume_at < now() - interval '1 day' LIMIT $1)
             RETURNING 1 AS swept",
        )
        .await?;
    Ok(given_up)
}
