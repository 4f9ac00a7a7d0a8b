//! The installation itself: who may do what to it. Given by name, on the command line first; nobody gives what they do
//! not hold.

mod accounts;
mod apis;
mod clients;
mod log;
mod store;

pub use store::{held, set};

use crate::http::Route;

pub fn routes() -> Vec<Route> {
    [accounts::routes(), apis::routes(), clients::routes(), log::routes()].into_iter().flatten().collect()
}
