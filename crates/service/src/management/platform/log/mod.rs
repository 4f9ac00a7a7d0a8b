//! The security log, as the platform reads it.

mod endpoint;
mod store;

use uuid::Uuid;

pub use store::{Filter, Found};

use crate::{App, http::Route, store::StoreError};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

async fn list(app: &App, filter: &Filter, before: Option<Uuid>, most: i64) -> Result<Vec<Found>, StoreError> {
    store::list(&app.store, filter, before, most).await
}
