//! Sends the messages.

use std::sync::Arc;

use porteiro_protocol::id::{AccountId, Id, JobId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{SubscriptionId, is_on, store};
use crate::{
    App,
    jobs::{self, JobError, JobKind},
    store::{StoreError, Tx},
};

const JOB: &str = "web_push.send";
/// One message to one browser. People choose the address, so each has a lane of their own at each host.
pub const SENDING: JobKind<App> =
    JobKind::new(JOB, |app, payload| Box::pin(deliver(app, payload))).attempts(3).per_host();

#[derive(Serialize, Deserialize)]
struct Message {
    account: AccountId,
    subscription: SubscriptionId,
    /// Unix seconds after which nobody need be told.
    until: i64,
}

/// Tells every browser of a person, within so many seconds, in the transaction of what they are told about.
pub async fn announce(app: &App, tx: &Tx, account: AccountId, seconds: i32) -> Result<(), StoreError> {
    if !is_on(app) {
        return Ok(());
    }
    let now = app.clock.now();
    for one in store::list(tx, account).await? {
        let job: JobId = Id::ordered(now, &*app.entropy);
        let until = now.unix_timestamp() + i64::from(seconds);
        let message = Message { account, subscription: one.id, until };
        jobs::enqueue_to(tx, job, JOB, (&one.endpoint, &account.to_string()), &message).await?;
    }
    Ok(())
}

async fn deliver(app: Arc<App>, payload: Value) -> Result<(), JobError> {
    let hopeless = |text: &str| JobError::Hopeless(text.to_owned());
    let message: Message =
        serde_json::from_value(payload).map_err(|_| hopeless("the payload is unreadable"))?;
    let now = app.clock.now().unix_timestamp();
    let found = store::find(&app.store, message.account, message.subscription).await?;
    let (Some(one), true, seconds @ 1..) = (found, is_on(&app), message.until - now) else { return Ok(()) };
    let authorization = app.push_key.authorization(&one.endpoint, app.issuer(), now);
    let authorization = authorization.ok_or_else(|| hopeless("the message could not be signed"))?;
    let status = app.fetcher.post_push(&one.endpoint, &authorization, seconds).await;
    match status.map_err(|error| JobError::Failed(error.to_string()))? {
        200..=299 => Ok(()),
        // RFC 8030 §7.3: it is over. RFC 8292 §4.2: it was made for another key.
        401 | 403 | 404 | 410 => {
            store::remove(&app.store, message.account, message.subscription).await?;
            Ok(())
        }
        status @ (429 | 500..) => Err(JobError::Failed(format!("the push service answered {status}"))),
        status => Err(JobError::Hopeless(format!("the push service answered {status}"))),
    }
}
