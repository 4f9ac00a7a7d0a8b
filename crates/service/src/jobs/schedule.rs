//! Recurring jobs: whoever moves the row's next time also enqueues the job, in one transaction.

use std::sync::Arc;

use porteiro_protocol::id::Id;

use super::JobError;
use crate::{
    App,
    settings::Settings,
    store::{StoreError, partitions},
};

pub(super) const PARTITIONS: &str = "partitions.maintain";
pub(super) const JOBS: &str = "jobs.sweep";
pub(super) const KEYS: &str = "keys.advance";
pub(super) const LIMITS: &str = "limits.sweep";
pub(super) const DEVICES: &str = "device_requests.sweep";
pub(super) const PUSHED: &str = "pushed_requests.sweep";
pub(super) const CLIENTS: &str = "clients.expire";
pub(super) const HOLDS: &str = "recovery.remind";

/// A job that recurs.
pub struct Schedule {
    pub kind: &'static str,
    pub every_seconds: fn(&Settings) -> u32,
}

impl std::fmt::Debug for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind)
    }
}

/// Every schedule there is.
pub const SCHEDULES: &[Schedule] = &[
    Schedule { kind: PARTITIONS, every_seconds: |_| 3_600 },
    Schedule { kind: HOLDS, every_seconds: |_| 86_400 },
    Schedule { kind: LIMITS, every_seconds: |_| 3_600 },
    Schedule { kind: JOBS, every_seconds: |_| 3_600 },
    Schedule { kind: DEVICES, every_seconds: |_| 600 },
    Schedule { kind: PUSHED, every_seconds: |_| 60 },
    Schedule { kind: CLIENTS, every_seconds: |_| 3_600 },
    // Often enough that no step of a key's life is late by more than a tenth.
    Schedule {
        kind: KEYS,
        every_seconds: |settings| {
            let shortest = settings.key_rotation_seconds.min(settings.key_publish_lead_seconds);
            (shortest / 10).clamp(1, 3_600)
        },
    },
];

pub(super) async fn enqueue_due(app: &Arc<App>) -> Result<(), StoreError> {
    let kinds: Vec<&str> = SCHEDULES.iter().map(|schedule| schedule.kind).collect();
    // One cheap read a poll; the transaction only when something is due. Absent rows are due too.
    let due = app
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
        let Some(schedule) = SCHEDULES.iter().find(|schedule| schedule.kind == name) else { continue };
        enqueue_one(app, schedule).await?;
    }
    Ok(())
}

async fn enqueue_one(app: &Arc<App>, schedule: &Schedule) -> Result<(), StoreError> {
    let every = f64::from((schedule.every_seconds)(&app.checked.settings));
    let job_id = Id::ordered(app.clock.now(), &*app.entropy);
    let every = &every;
    app.store
        .run_tx("schedule.enqueue", |tx| async move {
            let moved = tx
                .execute(
                    "INSERT INTO schedule (name, next_run_at) VALUES ($1, now() + make_interval(secs => $2))
                     ON CONFLICT (name) DO UPDATE SET next_run_at = excluded.next_run_at
                     WHERE schedule.next_run_at <= now()",
                    &[&schedule.kind, every],
                )
                .await?;
            if moved == 1 {
                super::enqueue(&tx, job_id, schedule.kind, &serde_json::json!({})).await?;
            }
            Ok(())
        })
        .await
}

pub(super) async fn maintain_partitions(app: Arc<App>) -> Result<(), JobError> {
    let done = partitions::maintain(&app.store).await?;
    tracing::info!(created = done.created, dropped = done.dropped, "partitions maintained");
    Ok(())
}

pub(super) async fn give_up_jobs(app: Arc<App>) -> Result<(), JobError> {
    let given_up = super::store::sweep(&app.store).await?;
    if given_up > 0 {
        tracing::warn!(given_up, "jobs for hosts that took nothing for a day were given up");
        metrics::counter!("porteiro_jobs_given_up_total").increment(given_up);
    }
    Ok(())
}
