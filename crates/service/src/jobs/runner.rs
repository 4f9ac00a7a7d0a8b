//! Leases due jobs, runs them side by side, and gives each a definite end.

use std::{sync::Arc, time::Duration};

use porteiro_protocol::id::Id;
use tokio::{sync::watch, task::JoinSet};

use super::{
    JobError, JobKind, KINDS, schedule,
    store::{self, Leased, RunnerId},
};
use crate::{App, store::StoreError};

/// How often a node looks for work.
const POLL: Duration = Duration::from_millis(500);
/// How many jobs one node takes at a time.
const BATCH: i64 = 8;

/// Runs until told to stop. What is under way when that happens finishes; what was only leased is taken over by
/// another node when the lease runs out.
pub async fn run_until(app: Arc<App>, mut stop: watch::Receiver<bool>) {
    let runner = Id::random(&*app.entropy);
    while !*stop.borrow() {
        let worked = match round(&app, runner).await {
            Ok(count) => count > 0,
            Err(error) => {
                tracing::warn!(%error, "job runner cannot reach the database");
                false
            }
        };
        if worked {
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep(POLL) => {}
            _ = stop.changed() => {}
        }
    }
}

/// Does everything that is due right now; how tests and commands run jobs without waiting.
pub async fn run_due(app: &Arc<App>) -> Result<usize, StoreError> {
    let runner = Id::random(&*app.entropy);
    let mut total = 0;
    loop {
        let count = round(app, runner).await?;
        if count == 0 {
            return Ok(total);
        }
        total += count;
    }
}

async fn round(app: &Arc<App>, runner: RunnerId) -> Result<usize, StoreError> {
    schedule::enqueue_due(app).await?;
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let leases: Vec<i32> =
        KINDS.iter().map(|kind| i32::try_from(kind.lease.as_secs()).unwrap_or(i32::MAX)).collect();
    let jobs = store::lease(&app.store, runner, &kinds, &leases, BATCH).await?;
    let count = jobs.len();
    let mut running = JoinSet::new();
    for job in jobs {
        running.spawn(attempt(Arc::clone(app), runner, job));
    }
    while let Some(ended) = running.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a job's task ended abnormally; its lease will run out");
        }
    }
    Ok(count)
}

async fn attempt(app: Arc<App>, runner: RunnerId, job: Leased) {
    let Some(kind) = KINDS.iter().find(|kind| kind.name == job.kind) else { return };
    let outcome = if job.attempts > kind.max_attempts {
        // It was taken max_attempts times and nobody lived to say how it ended.
        Err(JobError::Hopeless("every attempt ended with the node that made it".into()))
    } else {
        run(kind, &app, &job).await
    };
    let label = if outcome.is_ok() { "done" } else { "failed" };
    metrics::counter!("porteiro_jobs_total", "kind" => kind.name, "outcome" => label).increment(1);
    let recorded = match outcome {
        Ok(()) => store::done(&app.store, runner, &job).await.map(|_| ()),
        Err(error) => {
            let again_after = retry_after(&error, kind, job.attempts);
            tracing::warn!(job = %job.job_id, kind = kind.name, attempts = job.attempts, %error,
                parked = again_after.is_none(), "job failed");
            store::failed(&app.store, runner, &job, &error.to_string(), again_after).await
        }
    };
    if let Err(error) = recorded {
        tracing::warn!(job = %job.job_id, %error, "job outcome not recorded; it will run again");
    }
}

/// A panic and a hang are failures like any other.
async fn run(kind: &'static JobKind, app: &Arc<App>, job: &Leased) -> Result<(), JobError> {
    let work = tokio::spawn((kind.work)(Arc::clone(app), job.payload.clone()));
    let abort = work.abort_handle();
    // Shorter than the lease: nobody else may start while this attempt still runs.
    match tokio::time::timeout(kind.lease * 9 / 10, work).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(JobError::Failed("the job panicked".into())),
        Err(_) => {
            abort.abort();
            Err(JobError::Failed("the job took longer than its lease".into()))
        }
    }
}

/// Doubling from two seconds to an hour; `None` parks.
fn retry_after(error: &JobError, kind: &JobKind, attempts: i32) -> Option<Duration> {
    match error {
        JobError::Hopeless(_) => None,
        JobError::Failed(_) | JobError::Store(_) if attempts >= kind.max_attempts => None,
        JobError::Failed(_) | JobError::Store(_) => {
            let doublings = u32::try_from(attempts).unwrap_or(0).min(12);
            Some(Duration::from_secs((1 << doublings).min(3_600)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_end_in_parking() {
        let kind = &KINDS[0];
        let failed = JobError::Failed(String::new());
        assert_eq!(retry_after(&failed, kind, 1), Some(Duration::from_secs(2)));
        assert_eq!(retry_after(&failed, kind, 2), Some(Duration::from_secs(4)));
        assert_eq!(retry_after(&failed, kind, kind.max_attempts), None);
        assert_eq!(retry_after(&JobError::Hopeless(String::new()), kind, 1), None);
    }
}
