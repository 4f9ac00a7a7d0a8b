//! Tells a client that the person decided, or that nobody did in time (CIBA Core §10.2); it then fetches the outcome like
//! a client that polls.

use std::sync::Arc;

use porteiro_protocol::id::{AccountId, ApprovalId, Id, JobId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::store;
use crate::{
    App,
    fetch::Destination,
    jobs::{self, JobError, JobKind},
    oauth::clients,
    secrets::MasterKeyError,
    store::{StoreError, Tx},
};

const JOB: &str = "approvals.ping";
/// The job that tells one client.
pub const PING: JobKind<App> =
    JobKind::new(JOB, |app, payload| Box::pin(deliver(app, payload))).attempts(5).per_host();

/// What the client gave us for this request, and the handle that it knows the request by.
#[derive(Serialize, Deserialize)]
struct Letter {
    token: String,
    auth_req_id: String,
}

#[derive(Serialize, Deserialize)]
struct Told {
    client_id: String,
    approval: ApprovalId,
    sealed: Vec<u8>,
}

fn context(id: ApprovalId) -> Vec<u8> {
    [b"approval ping ".as_slice(), id.uuid().as_bytes()].concat()
}

/// Encrypts what is needed to tell the client.
pub(super) fn seal(app: &App, id: ApprovalId, token: &str, handle: &str) -> Result<Vec<u8>, MasterKeyError> {
    let letter = json!({"token": token, "auth_req_id": handle});
    app.secrets.seal(&context(id), letter.to_string().as_bytes(), &*app.entropy)
}

/// In the transaction of the decision.
pub(super) async fn enqueue(app: &App, tx: &Tx, account: AccountId) -> Result<(), StoreError> {
    let letters = store::take_letters(tx, account).await?;
    post(app, tx, letters).await
}

async fn post(app: &App, tx: &Tx, letters: Vec<store::Untold>) -> Result<(), StoreError> {
    for (approval, client_id, sealed) in letters {
        let client = clients::find(tx, &client_id).await?;
        let address = client.and_then(|client| client.metadata.backchannel_client_notification_endpoint);
        if let Some(address) = &address {
            let job: JobId = Id::ordered(app.clock.now(), &*app.entropy);
            let told = Told { client_id: client_id.clone(), approval, sealed };
            jobs::enqueue_to(tx, job, JOB, (address, &client_id), &told).await?;
        }
    }
    Ok(())
}

/// Tells clients of requests that nobody decided in time, or that ended before.
pub const TELL_EXPIRED: JobKind<App> =
    JobKind::<App>::new("approvals.tell_expired", |app, _| Box::pin(tell_expired(app))).every(|_| 15);

async fn tell_expired(app: Arc<App>) -> Result<(), JobError> {
    loop {
        let app = &app;
        let told = app.store.run_tx("approvals.tell_expired", |tx| async move {
            let letters = store::take_expired_letters(&tx).await?;
            let full = letters.len() >= store::LETTERS_AT_ONCE as usize;
            post(app, &tx, letters).await?;
            Ok(full)
        });
        if !told.await? {
            return Ok(());
        }
    }
}

async fn deliver(app: Arc<App>, payload: Value) -> Result<(), JobError> {
    let hopeless = |text: &str| JobError::Hopeless(text.to_owned());
    let told: Told = serde_json::from_value(payload).map_err(|_| hopeless("the payload is unreadable"))?;
    let plain = app.secrets.open(&context(told.approval), &told.sealed);
    let plain = plain.map_err(|_| hopeless("the letter does not open"))?;
    let letter: Letter = serde_json::from_slice(&plain).map_err(|_| hopeless("the letter is unreadable"))?;
    let Some(client) = clients::find(&app.store, &told.client_id).await? else { return Ok(()) };
    let Some(uri) = &client.metadata.backchannel_client_notification_endpoint else { return Ok(()) };
    let body = json!({"auth_req_id": letter.auth_req_id});
    let status = app
        .fetcher
        .post_json(Destination::Strangers, uri, Some(&letter.token), &body)
        .await
        .map_err(|error| JobError::Failed(error.to_string()))?;
    match status {
        200..=299 => Ok(()),
        // §10.2: a redirect is not followed. The client refused, and is not asked again: it can still poll.
        300..=499 => Err(JobError::Hopeless(format!("the client answered {status}"))),
        _ => Err(JobError::Failed(format!("the client answered {status}"))),
    }
}
