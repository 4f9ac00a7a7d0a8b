//! Recurring jobs: one transaction moves the next run time and enqueues the job.

use std::time::Duration;

use porteiro_protocol::id::Id;

use super::{Host, JobError, JobKind};
use crate::{
    Core,
    store::{StoreError, partitions},
};

pub(super) async fn enqueue_due<A: Host>(app: &A) -> Result<(), StoreError> {
    let recurring = || app.job_kinds().iter().filter(|kind| kind.every_seconds.is_some());
    let kinds: Vec<&str> = recurring().map(|kind| kind.name).collect();
    let core = app.core();
    // One cheap read per poll; the transaction only if a job is due. Missing rows are due too.
    let due = core
        .store
        .read(
            "schedule.due",
            "SELECT k.kind FROM unnest($1::text[]) AS k(kind) LEFT JOIN schedule ON schedule.name = k.kind
             WHERE next_run_at IS NULL OR next_run_at <= now()",
            &[&kinds],
        )
        .await?;
    for row in due {
        let name: &str = row.get("kind");
        let Some(kind) = recurring().find(|kind| kind.name == name) else { continue };
        enqueue_one(core, kind).await?;
    }
    Ok(())
}

async fn enqueue_one<A>(core: &Core, kind: &JobKind<A>) -> Result<(), StoreError> {
    let Some(every) = kind.every_seconds else { return Ok(()) };
    let (name, every) = (kind.name, f64::from(every(&core.checked.settings)));
    let job_id = Id::ordered(core.clock.now(), &*core.entropy);
    let every = &every;
    core.store
        .run_tx("schedule.enqueue", |tx| async move {
            let moved = tx
                .execute(
                    "INSERT INTO schedule (name, next_run_at) VALUES ($1, now() + make_interval(secs => $2))
                     ON CONFLICT (name) DO UPDATE SET next_run_at = excluded.next_run_at
                     WHERE schedule.next_run_at <= now()",
                    &[&name, every],
                )
                .await?;
            if moved == 1 {
                super::enqueue(&tx, job_id, name, &serde_json::json!({})).await?;
            }
            Ok(())
        })
        .await
}

/// Creates partitions in advance and drops those whose retention is over.
pub const fn maintenance<A: Host>() -> JobKind<A> {
    JobKind::<A>::new("partitions.maintain", |app, _| {
        Box::pin(async move { maintain_partitions(app.core()).await })
    })
    .lease(Duration::from_mins(2))
    .every(|_| 3_600)
}

/// Gives up jobs for hosts that accepted nothing for a day.
pub const fn sweep<A: Host>() -> JobKind<A> {
    JobKind::<A>::new("jobs.sweep", |app, _| Box::pin(async move { give_up_jobs(app.core()).await }))
        .every(|_| 3_600)
}

async fn maintain_partitions(core: &Core) -> Result<(), JobError> {
    let done = partitions::maintain(&core.store).await?;
    tracing::info!(created = done.created, dropped = done.dropped, "partitions maintained");
    Ok(())
}

async fn give_up_jobs(core: &Core) -> Result<(), JobError> {
    let given_up = super::store::sweep(&core.store).await?;
    if given_up > 0 {
        tracing::warn!(given_up, "jobs were dropped because their hosts accepted none for a day");
        metrics::counter!("porteiro_jobs_given_up_total").increment(given_up);
    }
    Ok(())
}
