//! Porteiro's features, one folder per standard or concept. [`table`] is the table of contents.
//!
//! Inside a folder: `endpoint.rs` (HTTP only) → `mod.rs` (use case) → `decide.rs` (pure) and `store.rs` (SQL
//! only), never back. `cargo xtask tidy` holds the code to it.

pub mod bootstrap;
pub mod health;
pub mod http;
pub mod jobs;
pub mod mail;
pub mod oauth;
pub mod settings;
mod state;
pub mod store;

use std::sync::Arc;

use axum::Router;

pub use state::App;

/// Every route there is. A route cannot exist without saying who may call it.
pub fn table() -> Vec<http::Route> {
    [health::routes(), oauth::discovery::routes(), oauth::keys::routes()].into_iter().flatten().collect()
}

/// The service, bare: what it answers with the screens switched off.
pub fn router(app: Arc<App>) -> Router {
    http::build(app, table())
}
