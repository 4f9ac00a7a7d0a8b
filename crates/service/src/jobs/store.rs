use std::time::Duration;

use porteiro_protocol::{
    id::{Id, JobId},
    time::OffsetDateTime,
};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::store::{Decode, RowError, Store, StoreError, Tx};

/// One process that runs jobs, for as long as it lives.
#[derive(Debug)]
pub enum Runner {}
pub type RunnerId = Id<Runner>;

#[derive(Debug)]
pub(super) struct Leased {
    pub job_id: JobId,
    pub kind: String,
    pub payload: Value,
    pub attempts: i32,
}

/// A job that was tried too often, as operators see it.
#[derive(Debug, serde::Serialize)]
pub struct Parked {
    pub job_id: JobId,
    pub kind: String,
    pub attempts: i32,
    #[serde(with = "time::serde::rfc3339")]
    pub parked_at: OffsetDateTime,
    pub last_error: Option<String>,
}

impl TryFrom<&Row> for Leased {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (job, key) = Decode::keyed::<Uuid>("job", "job_id", row)?;
        Ok(Self {
            job_id: key.into(),
            kind: job.get("kind")?,
            payload: job.get("payload")?,
            attempts: job.get("attempts")?,
        })
    }
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
    kind: &str,
    payload: &Value,
    seconds: f64,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO job (job_id, kind, payload, run_at) VALUES ($1, $2, $3, now() + make_interval(secs => $4))",
        &[&job_id.uuid(), &kind, &payload, &seconds],
    )
    .await
    .map(|_| ())
}

/// Takes up to `most` due jobs. Kinds this binary does not know are left for one that does.
pub(super) async fn lease(
    store: &Store,
    runner: RunnerId,
    kinds: &[&str],
    leases: &[i32],
    most: i64,
) -> Result<Vec<Leased>, StoreError> {
    let rows = store
        .write(
            "jobs.lease",
            "UPDATE job SET attempts = attempts + 1, leased_by = $1,
                    leased_until = now() + make_interval(secs => k.seconds)
             FROM unnest($2::text[], $3::int[]) AS k(kind, seconds)
             WHERE job.kind = k.kind AND job.job_id IN (
                 SELECT job_id FROM job
                 WHERE parked_at IS NULL AND run_at <= now() AND kind = ANY($2)
                   AND (leased_until IS NULL OR leased_until < now())
                 ORDER BY run_at LIMIT $4 FOR UPDATE SKIP LOCKED)
             RETURNING job.job_id, job.kind, payload, attempts",
            &[&runner.uuid(), &kinds, &leases, &most],
        )
        .await?;
    rows.iter().map(|row| Leased::try_from(row).map_err(StoreError::from)).collect()
}

/// The job leaves if this attempt still holds it; the outcome is written from what left.
pub(super) async fn done(store: &Store, runner: RunnerId, job: &Leased) -> Result<bool, StoreError> {
    let rows = store
        .write(
            "jobs.done",
            "WITH done AS (
                 DELETE FROM job WHERE job_id = $1 AND leased_by = $2 AND attempts = $3
                 RETURNING job_id, kind, attempts)
             INSERT INTO job_outcome (job_id, kind, attempts) SELECT job_id, kind, attempts FROM done
             RETURNING job_id",
            &[&job.job_id.uuid(), &runner.uuid(), &job.attempts],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Later again, or never without a person's word.
pub(super) async fn failed(
    store: &Store,
    runner: RunnerId,
    job: &Leased,
    error: &str,
    again_after: Option<Duration>,
) -> Result<(), StoreError> {
    let seconds = again_after.map(|wait| wait.as_secs_f64());
    store
        .write(
            "jobs.failed",
            "UPDATE job SET leased_by = NULL, leased_until = NULL, last_error = $4,
                    run_at = now() + make_interval(secs => coalesce($5::float8, 0)),
                    parked_at = CASE WHEN $5::float8 IS NULL THEN now() END
             WHERE job_id = $1 AND leased_by = $2 AND attempts = $3",
            &[&job.job_id.uuid(), &runner.uuid(), &job.attempts, &error, &seconds],
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

/// Jobs waiting and parked, for the metrics.
pub async fn count_waiting(store: &Store) -> Result<(i64, i64), StoreError> {
    let rows = store
        .read(
            "jobs.count",
            "SELECT count(*) FILTER (WHERE parked_at IS NULL) AS waiting,
                    count(*) FILTER (WHERE parked_at IS NOT NULL) AS parked FROM job",
            &[],
        )
        .await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("count(*) returned no row".into()))?;
    let counts = Decode::new("job", "all", row);
    Ok((counts.get("waiting")?, counts.get("parked")?))
}

/// Gives parked jobs another full set of attempts.
pub async fn retry_parked(store: &Store, only: Option<JobId>) -> Result<u64, StoreError> {
    let rows = store
        .write(
            "jobs.retry",
            "UPDATE job SET parked_at = NULL, attempts = 0, run_at = now()
             WHERE parked_at IS NOT NULL AND ($1::uuid IS NULL OR job_id = $1) RETURNING job_id",
            &[&only.map(Id::uuid)],
        )
        .await?;
    Ok(rows.len() as u64)
}
