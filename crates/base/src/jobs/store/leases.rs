//! Leases jobs and stores their ends: SQL only.

use std::time::Duration;

use porteiro_protocol::id::{Id, JobId};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::lanes::{Host, LONGEST_PAUSE_SECONDS, Lane, TOLERATED};
use crate::store::{Decode, RowError, Store, StoreError};

/// The type of runner ids: one process that runs jobs.
#[derive(Debug)]
pub enum Runner {}
pub type RunnerId = Id<Runner>;

#[derive(Debug)]
pub(in crate::jobs) struct Leased {
    pub job_id: JobId,
    pub kind: String,
    pub destination: String,
    pub payload: Value,
    pub attempts: i32,
}

impl TryFrom<&Row> for Leased {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (job, key) = Decode::keyed::<Uuid>("job", "job_id", row)?;
        Ok(Self {
            job_id: key.into(),
            kind: job.get("kind")?,
            destination: job.get("destination")?,
            payload: job.get("payload")?,
            attempts: job.get("attempts")?,
        })
    }
}

/// A number of jobs of a lane, and the duration of their leases.
#[derive(Debug)]
pub(in crate::jobs) struct Wanted {
    pub lane: Lane,
    pub lease: Duration,
    pub most: usize,
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Leases due jobs of these lanes, in their order, at most `most` in total.
pub(in crate::jobs) async fn lease(
    store: &Store,
    runner: RunnerId,
    wanted: &[Wanted],
    most: usize,
) -> Result<Vec<Leased>, StoreError> {
    let kinds: Vec<&str> = wanted.iter().map(|wanted| wanted.lane.kind).collect();
    let destinations: Vec<&str> = wanted.iter().map(|wanted| wanted.lane.destination.as_str()).collect();
    let seconds: Vec<i32> =
        wanted.iter().map(|wanted| i32::try_from(wanted.lease.as_secs()).unwrap_or(i32::MAX)).collect();
    let each: Vec<i32> = wanted.iter().map(|wanted| count(wanted.most)).collect();
    let rows = store
        .write(
            "jobs.lease",
            // A CTE that locks rows runs once, whatever the plan.
            "WITH due AS (
                 SELECT first.job_id, lane.seconds
                 FROM unnest($2::text[], $3::text[], $4::int[], $5::int[]) AS lane (kind, destination, seconds, most)
                 CROSS JOIN LATERAL (
                     SELECT job_id FROM job
                     WHERE job.kind = lane.kind AND job.destination = lane.destination AND parked_at IS NULL
                       AND run_at <= now() AND (leased_until IS NULL OR leased_until < now())
                     ORDER BY run_at LIMIT lane.most FOR UPDATE SKIP LOCKED) first
                 LIMIT $6)
             UPDATE job SET attempts = attempts + 1, leased_by = $1,
                    leased_until = now() + make_interval(secs => due.seconds)
             FROM due WHERE job.job_id = due.job_id
             RETURNING job.job_id, kind, destination, payload, attempts",
            &[&runner.uuid(), &kinds, &destinations, &seconds, &each, &i64::from(count(most))],
        )
        .await?;
    rows.iter().map(|row| Leased::try_from(row).map_err(StoreError::from)).collect()
}

/// The hosts after `after` with waiting jobs of a kind, in order. One index probe for each, however many jobs wait for
/// it.
pub(in crate::jobs) async fn hosts(
    store: &Store,
    kind: &str,
    after: &str,
    most: usize,
) -> Result<Vec<Host>, StoreError> {
    let rows = store
        .read(
            "jobs.hosts",
            "WITH RECURSIVE seen AS (
                 (SELECT destination, run_at, 1 AS place FROM job
                  WHERE kind = $1 AND destination > $2 AND parked_at IS NULL
                  ORDER BY destination, run_at LIMIT 1)
                 UNION ALL
                 SELECT next.destination, next.run_at, seen.place + 1
                 FROM seen CROSS JOIN LATERAL (
                     SELECT destination, run_at FROM job
                     WHERE kind = $1 AND destination > seen.destination AND parked_at IS NULL
                     ORDER BY destination, run_at LIMIT 1) next
                 WHERE seen.place < $3)
             SELECT seen.destination, coalesce(pause.failures, 0) AS failures,
                    seen.run_at <= now() AND coalesce(pause.resume_at <= now(), true) AS open
             FROM seen LEFT JOIN job_pause pause ON pause.kind = $1 AND pause.destination = seen.destination
             ORDER BY seen.place",
            &[&kind, &after, &count(most)],
        )
        .await?;
    let host = |row| {
        let (host, destination) = Decode::keyed::<String>("job", "destination", row)?;
        Ok(Host { destination, open: host.get("open")?, failures: host.get("failures")? })
    };
    rows.iter().map(host).collect()
}

/// Deletes the job if this attempt still holds its lease, and stores the outcome. Resets the failures of its host.
pub(in crate::jobs) async fn done(store: &Store, runner: RunnerId, job: &Leased) -> Result<bool, StoreError> {
    let rows = store
        .write(
            "jobs.done",
            "WITH done AS (
                 DELETE FROM job WHERE job_id = $1 AND leased_by = $2 AND attempts = $3
                 RETURNING job_id, kind, destination, attempts),
             well AS (
                 DELETE FROM job_pause USING done
                 WHERE job_pause.kind = done.kind AND job_pause.destination = done.destination)
             INSERT INTO job_outcome (job_id, kind, attempts) SELECT job_id, kind, attempts FROM done
             RETURNING job_id",
            &[&job.job_id.uuid(), &runner.uuid(), &job.attempts],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// How an attempt failed.
#[derive(Debug)]
pub(in crate::jobs) struct Failure<'a> {
    pub error: &'a str,
    /// `None` parks.
    pub again_after: Option<Duration>,
    /// The host caused it: other jobs of its lane would fail too.
    pub host: bool,
}

/// Tries again later, or parks the job. A host that fails repeatedly is paused as a whole, so that its jobs use up
/// neither attempts nor time.
pub(in crate::jobs) async fn failed(
    store: &Store,
    runner: RunnerId,
    job: &Leased,
    failure: &Failure<'_>,
) -> Result<(), StoreError> {
    let seconds = failure.again_after.map(|wait| wait.as_secs_f64());
    store
        .write(
            "jobs.failed",
            "WITH failed AS (
                 UPDATE job SET leased_by = NULL, leased_until = NULL, last_error = $4,
                        run_at = now() + make_interval(secs => coalesce($5::float8, 0)),
                        parked_at = CASE WHEN $5::float8 IS NULL THEN now() END
                 WHERE job_id = $1 AND leased_by = $2 AND attempts = $3 RETURNING kind, destination)
             INSERT INTO job_pause AS pause (kind, destination, failures, resume_at)
             SELECT kind, destination, 1, now() FROM failed WHERE $6 AND destination <> ''
             ON CONFLICT (kind, destination) DO UPDATE SET failures = least(pause.failures + 1, 30),
                 resume_at = now() + make_interval(secs => CASE WHEN pause.failures + 1 < $7 THEN 0
                     ELSE least(power(2, pause.failures + 1), $8) END)",
            &[
                &job.job_id.uuid(),
                &runner.uuid(),
                &job.attempts,
                &failure.error,
                &seconds,
                &failure.host,
                &TOLERATED,
                &LONGEST_PAUSE_SECONDS,
            ],
        )
        .await
        .map(|_| ())
}
