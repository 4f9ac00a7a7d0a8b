//! Clients that were found in a document and are not used: their rows go (docs/decisions/0079).

use std::time::Duration;

use serde_json::json;

use super::store;
use crate::{
    App,
    jobs::JobKind,
    security_log::{self, Event, EventKind},
    store::StoreError,
};

/// The job that does it.
pub const EXPIRY: JobKind<App> = JobKind::new("client_documents.expire", |app, _| {
    Box::pin(async move { Ok(expire(&app).await.map(|_| ())?) })
})
.lease(Duration::from_mins(5))
.every(|_| 3_600);

const AT_A_TIME: i64 = 500;

/// The number of those that were deleted. What was granted to them is over; other nodes may remember one for a while.
pub async fn expire(app: &App) -> Result<usize, StoreError> {
    let mut deleted = 0;
    loop {
        let names = delete_some(app).await?;
        for name in &names {
            app.directory.forget(name);
        }
        deleted += names.len();
        if names.len() < usize::try_from(AT_A_TIME).unwrap_or_default() {
            return Ok(deleted);
        }
    }
}

async fn delete_some(app: &App) -> Result<Vec<String>, StoreError> {
    app.store
        .run_tx("client_documents.expire", async |tx| {
            let names = store::delete_unused(&tx, AT_A_TIME).await?;
            for name in &names {
                let event = Event {
                    kind: EventKind::ClientExpired,
                    subject: uuid::Uuid::nil(),
                    payload: json!({"client_id": name}),
                };
                security_log::record_unasked(&tx, app.clock.now(), &*app.entropy, event).await?;
            }
            Ok(names)
        })
        .await
}
