//! Notifies clients of the end of a session (OpenID Connect Back-Channel Logout 1.0 §2.4).

use std::{collections::BTreeSet, sync::Arc};

use porteiro_protocol::{
    id::{Id, JobId, SessionId},
    jose::Algorithm,
    time::numeric_date,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::{
    clients::{self, Client},
    keys::SignError,
};
use crate::{
    App,
    fetch::Destination,
    jobs::{self, JobError, JobKind},
    store::{StoreError, Tx},
};

const JOB: &str = "logout.tell";
/// The job that notifies one client.
pub const NOTIFICATION: JobKind<App> =
    JobKind::new(JOB, |app, payload| Box::pin(deliver(app, payload))).attempts(8).per_host();
/// §2.6: short, since it is used at once.
const SECONDS: i64 = 120;
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

#[derive(Debug, Serialize, Deserialize)]
struct Ended {
    client_id: String,
    /// The subject of the client's tokens.
    subject: Uuid,
    session: SessionId,
}

/// Type of the ids of logout tokens.
enum Token {}

/// Enqueues the notification of clients that registered for it; sorted by client, so that each is looked up once.
pub(super) async fn tell_all(
    app: &App,
    tx: &Tx,
    ended: BTreeSet<(&str, Uuid, SessionId)>,
) -> Result<(), StoreError> {
    let mut known: Option<(&str, Option<String>)> = None;
    for (client_id, subject, session) in ended {
        let address = match known {
            Some((id, address)) if id == client_id => address,
            Some(_) | None => {
                let client = clients::find(tx, client_id).await?;
                client.and_then(|client| client.metadata.backchannel_logout_uri)
            }
        };
        if let Some(address) = &address {
            let job: JobId = Id::ordered(app.clock.now(), &*app.entropy);
            let payload = Ended { client_id: client_id.to_owned(), subject, session };
            jobs::enqueue_to(tx, job, JOB, (address, client_id), &payload).await?;
        }
        known = Some((client_id, address));
    }
    Ok(())
}

async fn deliver(app: Arc<App>, payload: Value) -> Result<(), JobError> {
    let ended: Ended =
        serde_json::from_value(payload).map_err(|error| JobError::Hopeless(error.to_string()))?;
    let Some(client) = clients::find(&app.store, &ended.client_id).await? else { return Ok(()) };
    let Some(uri) = &client.metadata.backchannel_logout_uri else { return Ok(()) };
    let failed = |error: SignError| JobError::Failed(error.to_string());
    let token = token(&app, &client, ended.subject, ended.session).await.map_err(failed)?;
    let status = app
        .fetcher
        .post_form(Destination::Strangers, uri, None, &[("logout_token", &token)])
        .await
        .map_err(|error| JobError::Failed(error.to_string()))?;
    match status {
        200..=299 => Ok(()),
        // §2.8: the client understood, and could not or would not comply. A redirect is never followed.
        300..=499 => Err(JobError::Hopeless(format!("the client answered {status}"))),
        _ => Err(JobError::Failed(format!("the client answered {status}"))),
    }
}

/// A logout token (§2.4). Without nonce: it must not be accepted as an ID token.
pub async fn token(
    app: &App,
    client: &Client,
    subject: Uuid,
    session: SessionId,
) -> Result<String, SignError> {
    let now = numeric_date(app.clock.now());
    let claims = json!({
        "iss": app.issuer(),
        "aud": client.id,
        "iat": now,
        "exp": now + SECONDS,
        "jti": Id::<Token>::random(&*app.entropy),
        "events": {EVENT: {}},
        "sub": subject,
        "sid": app.secrets.sid(session, &client.id, subject),
    });
    let algorithm = client.metadata.id_token_signed_response_alg.unwrap_or(Algorithm::Rs256);
    app.keys.current().signer(algorithm)?.jwt("logout+jwt", &claims).await
}
