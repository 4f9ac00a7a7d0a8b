//! Ends what rests on the word of a directory that was disabled, a number of members at a time.
//!
//! All of it is invalid from the commit that ended the connection's epoch on: every check of a grant and of a session
//! compares the epoch. This job ends the sessions and revokes the grants, so that people see it and clients are notified.

use std::{sync::Arc, time::Duration};

use porteiro_protocol::id::{
    AccountId, ConnectionId, DirectoryIdentityId, Id, JobId, OrganizationId, RequestId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::store;
use crate::{
    App,
    endings::{self, Cause, Directory, Why},
    http::RequestContext,
    jobs::{self, JobError, JobKind},
    sessions::{self, Ended, Forget},
    store::{StoreError, Tx},
};

const JOB: &str = "directories.end";
pub const ENDING: JobKind<App> = JobKind::new(JOB, |app, payload| Box::pin(go_on(app, payload)))
    .attempts(16)
    .lease(Duration::from_mins(5));
/// Identities in one transaction.
const BATCH: i64 = 50;
/// Transactions per run of the job, so that it stays within its lease.
const BATCHES: usize = 50;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Rest {
    organization: OrganizationId,
    connection: ConnectionId,
    /// The epoch that is over. What the directory vouches for later stays.
    epoch: i64,
    /// How far the work is.
    reached: Uuid,
    /// The request that ended it, for the log.
    request: RequestId,
}

/// Enqueues the work, in the transaction that ended the epoch.
pub async fn end_epoch(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    organization: OrganizationId,
    connection: ConnectionId,
    epoch: i64,
) -> Result<(), StoreError> {
    let request = context.request_id;
    enqueue(app, tx, &Rest { organization, connection, epoch, reached: Uuid::nil(), request }).await
}

async fn enqueue(app: &App, tx: &Tx, rest: &Rest) -> Result<(), StoreError> {
    let job: JobId = Id::ordered(app.clock.now(), &*app.entropy);
    jobs::enqueue(tx, job, JOB, rest).await
}

async fn go_on(app: Arc<App>, payload: Value) -> Result<(), JobError> {
    let mut rest: Rest =
        serde_json::from_value(payload).map_err(|error| JobError::Hopeless(error.to_string()))?;
    for batch in 1..=BATCHES {
        let app = &app;
        let reached = app.store.run_tx("directories.end", |tx| async move {
            let reached = end_some(app, &tx, &rest).await?;
            if let Some(reached) = reached.filter(|_| batch == BATCHES) {
                enqueue(app, &tx, &Rest { reached, ..rest }).await?;
            }
            Ok(reached)
        });
        let Some(reached) = reached.await? else { break };
        rest.reached = reached;
    }
    Ok(())
}

/// Ends what rests on some identities; the last of them, if there may be more.
async fn end_some(app: &App, tx: &Tx, rest: &Rest) -> Result<Option<Uuid>, StoreError> {
    let context = RequestContext::of_job(rest.request);
    let some = store::after(tx, rest.organization, rest.connection, rest.reached, BATCH).await?;
    for (identity, account) in &some {
        end_one(app, tx, &context, rest.organization, (*identity, *account), Some(rest.epoch)).await?;
    }
    let full = some.last().filter(|_| i64::try_from(some.len()).is_ok_and(|number| number == BATCH));
    Ok(full.map(|(identity, _)| identity.uuid()))
}

/// Ends what rests on one identity: in this epoch and before, or whenever.
pub(super) async fn end_one(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    organization: OrganizationId,
    (identity, account): (DirectoryIdentityId, AccountId),
    epoch: Option<i64>,
) -> Result<(), StoreError> {
    let reason = Ended::DirectoryEnded;
    let which = Forget { organization, identity: identity.uuid(), epoch, sid: None, reason };
    let gone = sessions::forget_identity(tx, account, which).await?;
    endings::sessions_ended(app, tx, context, account, &gone.ended, reason).await?;
    let why = Why::DirectoryEnded;
    let gone = Directory { account, identity, epoch, sessions: None, offline_too: true, why };
    endings::end(app, tx, context, Cause::Directory(gone)).await.map(|_| ())
}
