//! The management API: `/v1/organizations`, `/v1/platform` and what they share (`docs/management-api.md`).
//!
//! 1. Who calls and what they may do is decided before any handler runs: [`caller`].
//! 2. What holds around every operation, next: [`contract`].
//! 3. An [`Operation`] at the route says what it takes and gives; the OpenAPI document is written from it.

mod administering;
mod answer;
mod caller;
pub mod changes;
mod contract;
mod endpoint;
mod exceeded;
mod list;
pub mod openapi;
mod operation;
mod patch;
mod presented;
mod query;
mod rates;
mod refused;
mod repeat;
mod standing;
mod turned;
mod version;

pub use answer::{Time, created, created_with_secret, one};
pub use caller::{By, Caller, Guard, REASON, require};
pub use contract::{Contract, keep};
pub use endpoint::routes;
pub use list::Listing;
pub use operation::{Given, Operation, Parameter, Shape, Taken};
pub use patch::Patch;
pub use presented::Presented;
pub use query::Query;
pub use standing::held_now;
pub use version::{Seen, stale, tag};
