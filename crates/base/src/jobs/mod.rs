//! Work that is done later: a transactional outbox and its runner.
//!
//! 1. [`enqueue`] writes the job in the transaction of the change that needs it: both happen or neither.
//! 2. A runner on any node leases due jobs with `FOR UPDATE SKIP LOCKED`, from every lane as many as it has room for;
//!    each lease counts an attempt. A lane is a kind, or a kind and a host where clients choose the host ([`Lanes`]).
//! 3. Done: the row is deleted, and an outcome is kept for a week. Failed: tried again later. If a node is killed, its
//!    lease expires and another node takes the job. So a job runs *at least* once, and must tolerate being repeated.
//! 4. After too many attempts it is parked: visible in `porteiro jobs list`, `doctor` and the metrics, and tried again
//!    only when an operator requests it.

mod lanes;
mod runner;
mod schedule;
mod store;

use std::{pin::Pin, sync::Arc, time::Duration};

use porteiro_protocol::id::JobId;
use serde::Serialize;
use serde_json::Value;

pub use lanes::Lanes;
pub use runner::{run_due, run_until};
pub use schedule::{maintenance, sweep};
pub use store::{Parked, count_waiting, parked, retry_parked};

use self::lanes::Lane;
use crate::{
    Core,
    settings::Settings,
    store::{StoreError, Tx},
};

/// The future of an attempt.
pub type Attempt = Pin<Box<dyn Future<Output = Result<(), JobError>> + Send>>;

/// The application whose jobs run.
pub trait Host: Send + Sync + Sized + 'static {
    fn core(&self) -> &Core;
    /// All kinds of jobs.
    fn job_kinds(&self) -> &'static [JobKind<Self>];
}

/// One kind of job.
pub struct JobKind<A: 'static> {
    pub name: &'static str,
    /// It is parked after this many attempts.
    pub max_attempts: i32,
    /// How long one attempt may take; a node that needs longer is presumed dead.
    pub lease: Duration,
    /// Which jobs wait for each other.
    pub lanes: Lanes,
    /// How often it recurs; `None`: only when enqueued.
    pub every_seconds: Option<fn(&Settings) -> u32>,
    pub work: fn(Arc<A>, Value) -> Attempt,
}

impl<A> JobKind<A> {
    /// Five attempts of at most a minute each, when enqueued.
    pub const fn new(name: &'static str, work: fn(Arc<A>, Value) -> Attempt) -> Self {
        let lease = Duration::from_mins(1);
        Self { name, max_attempts: 5, lease, lanes: Lanes::One, every_seconds: None, work }
    }

    #[must_use]
    pub const fn attempts(mut self, most: i32) -> Self {
        self.max_attempts = most;
        self
    }

    #[must_use]
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    #[must_use]
    pub const fn per_host(mut self) -> Self {
        self.lanes = Lanes::PerHost;
        self
    }

    #[must_use]
    pub const fn every(mut self, seconds: fn(&Settings) -> u32) -> Self {
        self.every_seconds = Some(seconds);
        self
    }
}

impl<A> std::fmt::Debug for JobKind<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Why an attempt failed. The text is stored and shown to operators: it never contains a secret or personal data.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error("{0}")]
    Failed(String),
    /// Another attempt cannot help.
    #[error("{0}")]
    Hopeless(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Enqueues a job in the caller's transaction.
pub async fn enqueue<P: Serialize>(
    tx: &Tx,
    job_id: JobId,
    kind: &'static str,
    payload: &P,
) -> Result<(), StoreError> {
    store::insert(tx, job_id, &Lane::of_kind(kind), &stored(payload)?, 0.0).await
}

/// The same for a job that is not due before so many seconds.
pub async fn enqueue_later<P: Serialize>(
    tx: &Tx,
    job_id: JobId,
    kind: &'static str,
    payload: &P,
    seconds: f64,
) -> Result<(), StoreError> {
    store::insert(tx, job_id, &Lane::of_kind(kind), &stored(payload)?, seconds).await
}

/// The same for a job to a client-chosen address, for kinds with [`Lanes::PerHost`]. `whose` separates clients that
/// name the same host: a client need not own the host it names.
pub async fn enqueue_to<P: Serialize>(
    tx: &Tx,
    job_id: JobId,
    kind: &'static str,
    (address, whose): (&str, &str),
    payload: &P,
) -> Result<(), StoreError> {
    let lane = Lane { kind, destination: lanes::destination(address, whose) };
    store::insert(tx, job_id, &lane, &stored(payload)?, 0.0).await
}

fn stored(payload: &impl Serialize) -> Result<Value, StoreError> {
    serde_json::to_value(payload).map_err(|error| StoreError::Inconsistent(error.to_string()))
}
