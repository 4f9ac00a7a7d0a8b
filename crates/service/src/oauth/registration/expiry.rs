//! Expiry of unused self-registered clients: they end, and later their rows are deleted (docs/decisions/0079).

use std::time::Duration;

use serde_json::json;

use super::store;
use crate::{
    App,
    jobs::JobKind,
    security_log::{self, EventKind},
    store::StoreError,
};

/// The job that runs it.
pub const EXPIRY: JobKind<App> =
    JobKind::new("clients.expire", |app, _| Box::pin(async move { Ok(expire(&app).await.map(|_| ())?) }))
        .lease(Duration::from_mins(5))
        .every(|_| 3_600);

const AT_A_TIME: i64 = 500;

/// Ends unused clients, and deletes ended ones. Returns how many ended now.
pub async fn expire(app: &App) -> Result<usize, StoreError> {
    let mut ended = 0;
    loop {
        let names = end_some(app).await?;
        for name in &names {
            app.directory.forget(name);
        }
        ended += names.len();
        if names.len() < usize::try_from(AT_A_TIME).unwrap_or_default() {
            break;
        }
    }
    store::sweep(&app.store).await?;
    Ok(ended)
}

async fn end_some(app: &App) -> Result<Vec<String>, StoreError> {
    app.store
        .run_tx("registration.expire", async |tx| {
            let names = store::end_unused(&tx, AT_A_TIME).await?;
            for name in &names {
                let payload = json!({"client_id": name});
                let event = security_log::Event {
                    kind: EventKind::ClientExpired,
                    subject: uuid::Uuid::nil(),
                    payload,
                };
                security_log::record_unasked(&tx, app.clock.now(), &*app.entropy, event).await?;
            }
            Ok(names)
        })
        .await
}
