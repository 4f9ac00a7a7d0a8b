//! Tells the person that something waits, never what: in their browsers, and by mail at most once in five minutes.

use std::sync::Arc;

use porteiro_protocol::id::{AccountId, Id, JobId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::store;
use crate::{
    App, flow,
    jobs::{self, JobError, JobKind},
    limits::{self, APPROVAL_MAIL, Bucket},
    mail::templates,
    store::{StoreError, Tx},
    web_push,
};

const JOB: &str = "approvals.remind";
/// Sends the mail that was too soon, if anything still waits.
pub const REMIND: JobKind<App> = JobKind::new(JOB, |app, payload| Box::pin(remind(app, payload)));

#[derive(Serialize, Deserialize)]
struct Later {
    account: AccountId,
}

/// In the transaction that writes a request.
pub(super) async fn person(app: &App, tx: &Tx, account: AccountId, seconds: i32) -> Result<(), StoreError> {
    // What waits already was announced, and is seen together with it.
    if store::count_waiting(tx, account).await? != 1 {
        return Ok(());
    }
    web_push::announce(app, tx, account, seconds).await?;
    let Some(limited) = limits::take_in(tx, &[bucket(app, account)]).await? else {
        return send(app, tx, account).await;
    };
    let job: JobId = Id::ordered(app.clock.now(), &*app.entropy);
    jobs::enqueue_later(tx, job, JOB, &Later { account }, limited.seconds.into()).await
}

fn bucket(app: &App, account: AccountId) -> Bucket {
    let key = app.secrets.limit_key(APPROVAL_MAIL.name, account.uuid().as_bytes());
    Bucket { rule: APPROVAL_MAIL, key }
}

async fn send(app: &App, tx: &Tx, account: AccountId) -> Result<(), StoreError> {
    let what = flow::happening(app, None);
    flow::tell(app, tx, account, "en", |locale| templates::approval_waiting(locale, &what)).await
}

async fn remind(app: Arc<App>, payload: Value) -> Result<(), JobError> {
    let Later { account } =
        serde_json::from_value(payload).map_err(|error| JobError::Hopeless(error.to_string()))?;
    let app = &app;
    let work = |tx| async move {
        // A mail that was sent meanwhile was about the same.
        let waits = store::count_waiting(&tx, account).await? > 0;
        if waits && limits::take_in(&tx, &[bucket(app, account)]).await?.is_none() {
            send(app, &tx, account).await?;
        }
        Ok(())
    };
    Ok(app.store.run_tx("approvals.remind", work).await?)
}
