//! Leases due jobs lane by lane, runs them concurrently, and stores the end of each. No job waits for the slowest: a
//! lane is examined again as soon as it has room.

use std::{collections::HashMap, sync::Arc, time::Duration};

use porteiro_protocol::id::Id;
use tokio::{
    sync::watch,
    task::{self, JoinError, JoinSet},
};

use super::{
    Host, JobError, JobKind,
    lanes::{Lane, Lanes, UnderWay, WINDOW, next_after},
    schedule,
    store::leases::{self, Failure, Leased, RunnerId, Wanted},
};
use crate::{Core, store::StoreError};

/// How often a node looks for due jobs.
const POLL: Duration = Duration::from_millis(500);

/// Runs until told to stop. Running jobs finish; jobs that were only leased are taken over by another node when the
/// lease expires.
pub async fn run_until<A: Host>(app: Arc<A>, mut stop: watch::Receiver<bool>) {
    let mut runner = Runner::new(app);
    while !*stop.borrow() {
        if let Err(error) = runner.take().await {
            tracing::warn!(%error, "the job runner cannot reach the database");
        }
        tokio::select! {
            () = runner.one_ended(), if !runner.tasks.is_empty() => {}
            () = tokio::time::sleep(POLL) => {}
            _ = stop.changed() => {}
        }
    }
    runner.finish().await;
}

/// Runs all jobs that are due now, for tests and commands.
pub async fn run_due<A: Host>(app: &Arc<A>) -> Result<usize, StoreError> {
    let mut runner = Runner::new(Arc::clone(app));
    let mut total = 0;
    loop {
        let taken = runner.take().await;
        if taken.is_err() {
            runner.finish().await;
        }
        let count = taken?;
        total += count;
        if count == 0 && runner.tasks.is_empty() && runner.after.values().all(String::is_empty) {
            return Ok(total);
        }
        runner.one_ended().await;
    }
}

struct Runner<A> {
    app: Arc<A>,
    id: RunnerId,
    tasks: JoinSet<()>,
    under_way: UnderWay<task::Id>,
    /// The host after which the next round of a kind starts.
    after: HashMap<&'static str, String>,
}

impl<A: Host> Runner<A> {
    fn new(app: Arc<A>) -> Self {
        let id = Id::random(&*app.core().entropy);
        Self { app, id, tasks: JoinSet::new(), under_way: UnderWay::new(), after: HashMap::new() }
    }

    /// Starts due jobs for which there is room; returns their number.
    async fn take(&mut self) -> Result<usize, StoreError> {
        schedule::enqueue_due(&*self.app).await?;
        let mut count = self.take_own().await?;
        for kind in self.app.job_kinds() {
            count += match kind.lanes {
                Lanes::One => 0,
                Lanes::PerHost => self.take_to_hosts(kind).await?,
            };
        }
        Ok(count)
    }

    /// From the kinds' own lanes. Kinds that this binary does not know are left for one that does.
    async fn take_own(&mut self) -> Result<usize, StoreError> {
        let wanted = |kind: &JobKind<A>| {
            let lane = Lane::of_kind(kind.name);
            let most = self.under_way.room(&lane, 0);
            (most > 0).then_some(Wanted { lane, lease: kind.lease, most })
        };
        let wanted: Vec<Wanted> = self.app.job_kinds().iter().filter_map(wanted).collect();
        let jobs = leases::lease(&self.app.core().store, self.id, &wanted, usize::MAX).await?;
        Ok(self.start(jobs))
    }

    /// From the lanes of hosts, in turn.
    async fn take_to_hosts(&mut self, kind: &'static JobKind<A>) -> Result<usize, StoreError> {
        let room = self.under_way.room_to_hosts();
        if room == 0 {
            return Ok(0);
        }
        let after = self.after.get(kind.name).map_or("", String::as_str);
        let seen = leases::hosts(&self.app.core().store, kind.name, after, WINDOW).await?;
        let wanted = seen.iter().filter(|host| host.open).filter_map(|host| {
            let lane = Lane { kind: kind.name, destination: host.destination.clone() };
            let most = self.under_way.room(&lane, host.failures);
            (most > 0).then_some(Wanted { lane, lease: kind.lease, most })
        });
        let wanted: Vec<Wanted> = wanted.collect();
        let jobs = match wanted.as_slice() {
            [] => Vec::new(),
            wanted => leases::lease(&self.app.core().store, self.id, wanted, room).await?,
        };
        let served: Vec<&str> = jobs.iter().map(|job| job.destination.as_str()).collect();
        self.after.insert(kind.name, next_after(&seen, &served, room));
        Ok(self.start(jobs))
    }

    fn start(&mut self, jobs: Vec<Leased>) -> usize {
        let mut count = 0;
        for job in jobs {
            let Some(kind) = self.app.job_kinds().iter().find(|kind| kind.name == job.kind) else { continue };
            let lane = Lane { kind: kind.name, destination: job.destination.clone() };
            let task = self.tasks.spawn(attempt(Arc::clone(&self.app), self.id, kind, job));
            self.under_way.started(task.id(), lane);
            count += 1;
        }
        count
    }

    /// Waits until a job ends, and frees the places of all that ended by then. Returns at once if none is running.
    async fn one_ended(&mut self) {
        let mut ended = self.tasks.join_next_with_id().await;
        while let Some(one) = ended {
            self.ended(one);
            ended = self.tasks.try_join_next_with_id();
        }
    }

    /// Waits for the running jobs.
    async fn finish(&mut self) {
        while !self.tasks.is_empty() {
            self.one_ended().await;
        }
    }

    fn ended(&mut self, ended: Result<(task::Id, ()), JoinError>) {
        let task = match ended {
            Ok((task, ())) => task,
            Err(error) => {
                tracing::error!(%error, "the task of a job ended abnormally; its lease will expire");
                error.id()
            }
        };
        self.under_way.ended(&task);
    }
}

async fn attempt<A: Host>(app: Arc<A>, runner: RunnerId, kind: &'static JobKind<A>, job: Leased) {
    let store = &app.core().store;
    let outcome = if job.attempts > kind.max_attempts {
        // It was leased max_attempts times, and no node stored its end.
        Err(JobError::Hopeless("every attempt ended with the node that ran it".into()))
    } else {
        run(kind, &app, &job).await
    };
    let label = if outcome.is_ok() { "done" } else { "failed" };
    metrics::counter!("porteiro_jobs_total", "kind" => kind.name, "outcome" => label).increment(1);
    let recorded = match outcome {
        Ok(()) => leases::done(store, runner, &job).await.map(|_| ()),
        Err(error) => failed(app.core(), runner, kind, &job, &error).await,
    };
    if let Err(error) = recorded {
        tracing::warn!(job = %job.job_id, %error, "the outcome of a job was not recorded; the job will run again");
    }
}

async fn failed<A>(
    core: &Core,
    runner: RunnerId,
    kind: &JobKind<A>,
    job: &Leased,
    error: &JobError,
) -> Result<(), StoreError> {
    let again_after = retry_after(error, kind, job.attempts);
    tracing::warn!(job = %job.job_id, kind = kind.name, attempts = job.attempts, %error,
        parked = again_after.is_none(), "a job failed");
    let host = match error {
        JobError::Failed(_) => true,
        // The host answered, or our own database failed.
        JobError::Hopeless(_) | JobError::Store(_) => false,
    };
    let failure = Failure { error: &error.to_string(), again_after, host };
    leases::failed(&core.store, runner, job, &failure).await
}

/// A panic and a timeout are failures too.
async fn run<A: Host>(kind: &'static JobKind<A>, app: &Arc<A>, job: &Leased) -> Result<(), JobError> {
    let work = tokio::spawn((kind.work)(Arc::clone(app), job.payload.clone()));
    let abort = work.abort_handle();
    // Shorter than the lease: no other node may start while this attempt runs.
    match tokio::time::timeout(kind.lease * 9 / 10, work).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(JobError::Failed("the job panicked".into())),
        Err(_) => {
            abort.abort();
            Err(JobError::Failed("the job took longer than its lease".into()))
        }
    }
}

/// Doubles from two seconds to an hour; `None` parks.
fn retry_after<A>(error: &JobError, kind: &JobKind<A>, attempts: i32) -> Option<Duration> {
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

    struct Nobody;

    impl Host for Nobody {
        fn core(&self) -> &Core {
            unreachable!("nothing runs")
        }

        fn job_kinds(&self) -> &'static [JobKind<Self>] {
            &[]
        }
    }

    #[test]
    fn waits_double_and_end_in_parking() {
        let kind = &schedule::sweep::<Nobody>();
        let failed = JobError::Failed(String::new());
        assert_eq!(retry_after(&failed, kind, 1), Some(Duration::from_secs(2)));
        assert_eq!(retry_after(&failed, kind, 2), Some(Duration::from_secs(4)));
        assert_eq!(retry_after(&failed, kind, kind.max_attempts), None);
        assert_eq!(retry_after(&JobError::Hopeless(String::new()), kind, 1), None);
    }
}
