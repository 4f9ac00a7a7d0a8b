//! The management API: `/v1/organizations`, `/v1/platform` and what they share (`docs/management-api.md`).
//!
//! 1. Who calls and what they may do is decided before any handler runs: [`caller`].
//! 2. What holds around every operation, next: [`contract`].

mod administering;
mod caller;
pub mod changes;
mod contract;
mod endpoint;
mod exceeded;
mod presented;
mod rates;
mod refused;
mod standing;
mod turned;

pub use caller::{By, Caller, Guard, require};
pub use contract::{Contract, keep};
pub use endpoint::routes;
pub use presented::Presented;
pub use standing::held_now;
