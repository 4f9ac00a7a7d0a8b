//! Whether the node is alive, and whether it is ready for requests.

mod endpoint;
mod store;

use std::time::Duration;

use porteiro_protocol::time::OffsetDateTime;

use crate::{
    App,
    http::Route,
    store::{
        Store, StoreError,
        migrations::{self, SchemaState},
    },
};

/// The largest difference between the node's clock and the database's: beyond it, expiry would differ between nodes.
pub const MAX_CLOCK_SKEW: time::Duration = time::Duration::seconds(2);

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// The difference between our clock and the database's.
pub async fn clock_skew(
    store: &Store,
    now: impl Fn() -> OffsetDateTime,
) -> Result<time::Duration, StoreError> {
    let before = now();
    let theirs = store::clock(store).await?;
    let after = now();
    // A time within the round trip counts as equal.
    Ok(if theirs < before {
        before - theirs
    } else if theirs > after {
        theirs - after
    } else {
        time::Duration::ZERO
    })
}

/// The reasons why this node is not ready; empty if it is.
async fn obstacles(app: &App) -> Vec<String> {
    let mut found = Vec::new();
    if app.is_draining() {
        found.push("the node is shutting down".to_owned());
    }
    match tokio::time::timeout(Duration::from_secs(2), database(app)).await {
        Ok(Ok(mut database)) => found.append(&mut database),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the node is not ready");
            found.push("the database does not respond".to_owned());
        }
        Err(_) => found.push("the database does not respond in time".to_owned()),
    }
    if app.keys.current().signer(porteiro_protocol::jose::Algorithm::Es256).is_err() {
        found.push("no usable signing key".to_owned());
    }
    found
}

async fn database(app: &App) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    let skew = clock_skew(&app.store, || app.clock.now()).await?;
    if skew > MAX_CLOCK_SKEW {
        found.push(format!("the clock differs from the database's by {:.1} s", skew.as_seconds_f64()));
    }
    let schema = migrations::state(&app.store).await?;
    if schema != SchemaState::Expected {
        found.push(schema.to_string());
    }
    Ok(found)
}
