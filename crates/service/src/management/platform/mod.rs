//! `/v1/platform`: accounts, clients, APIs, connections and the security log, for platform administrators.

pub mod accounts;
mod apis;
pub(super) mod clients;
mod connections;
mod console;
mod log;

pub use console::{Change, change_at_console};

use crate::http::Route;

pub fn routes() -> Vec<Route> {
    [accounts::routes(), apis::routes(), clients::routes(), connections::routes(), log::routes()]
        .into_iter()
        .flatten()
        .collect()
}
