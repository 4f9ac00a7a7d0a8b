//! Announces a new request to the operator's own app (setting `approval_webhook_url`), which may notify the person in its
//! own way. The message names the request and whom it is for, never what is asked.

use std::sync::Arc;

use porteiro_protocol::{
    id::{AccountId, ApprovalId, Id, JobId, MembershipId, OrganizationId},
    time::{Duration, OffsetDateTime},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::store::NewApproval;
use crate::{
    App,
    api::Time,
    fetch::{WebhookKey, WebhookMessage},
    jobs::{self, JobError, JobKind},
    settings::Sensitive,
    store::{StoreError, Tx},
};

const JOB: &str = "approvals.announce";
/// Its own queue, so that a receiver that does not answer delays nothing else.
pub const ANNOUNCE: JobKind<App> =
    JobKind::new(JOB, |app, payload| Box::pin(deliver(app, payload))).attempts(5).per_host();

#[derive(Serialize, Deserialize)]
struct Announced {
    approval: ApprovalId,
    account: AccountId,
    organization: Option<OrganizationId>,
    membership: Option<MembershipId>,
    client_id: String,
    created: i64,
    expires: i64,
}

/// In the transaction that writes the request.
pub(super) async fn enqueue(app: &App, tx: &Tx, new: &NewApproval<'_>) -> Result<(), StoreError> {
    let Some(address) = &app.checked.settings.approval_webhook_url else { return Ok(()) };
    let now = app.clock.now();
    let announced = Announced {
        approval: new.id,
        account: new.account,
        organization: new.organization,
        membership: new.membership,
        client_id: new.client_id.to_owned(),
        created: now.unix_timestamp(),
        expires: (now + Duration::seconds(new.seconds.into())).unix_timestamp(),
    };
    let job: JobId = Id::ordered(now, &*app.entropy);
    jobs::enqueue_to(tx, job, JOB, (address, "operator"), &announced).await
}

fn message(announced: &Announced, now: i64) -> Option<WebhookMessage> {
    let time = |seconds| OffsetDateTime::from_unix_timestamp(seconds).ok().map(Time);
    let body = json!({
        "type": "approval.requested",
        "timestamp": time(announced.created)?,
        "data": {
            "approval_id": announced.approval,
            "account_id": announced.account,
            "organization_id": announced.organization,
            "membership_id": announced.membership,
            "client_id": announced.client_id,
            "expires_at": time(announced.expires)?,
        },
    });
    // One message for each request, however often it is sent.
    Some(WebhookMessage { id: announced.approval.to_string(), timestamp: now, body: body.to_string() })
}

async fn deliver(app: Arc<App>, payload: Value) -> Result<(), JobError> {
    let hopeless = |text: &str| JobError::Hopeless(text.to_owned());
    let announced: Announced =
        serde_json::from_value(payload).map_err(|_| hopeless("the payload is unreadable"))?;
    let now = app.clock.now().unix_timestamp();
    let settings = &app.checked.settings;
    let key = settings.approval_webhook_secret.as_ref().map(Sensitive::expose).and_then(WebhookKey::parse);
    // Nobody waits for it any more, or the operator turned it off.
    let (Some(address), Some(key), true) = (&settings.approval_webhook_url, key, now < announced.expires)
    else {
        return Ok(());
    };
    let message = message(&announced, now).ok_or_else(|| hopeless("the payload is unreadable"))?;
    let status = app.fetcher.post_webhook(address, &key, &message).await;
    match status.map_err(|error| JobError::Failed(error.to_string()))? {
        200..=299 => Ok(()),
        status => Err(JobError::Failed(format!("the receiver answered {status}"))),
    }
}
