//! The management API: `/v1/organizations`, `/v1/platform` and what they share (`docs/management-api.md`).
//!
//! [`guard`] finds out who calls and what they may do before any handler runs, and hands on a [`Caller`].

mod caller;
pub mod changes;
mod endpoint;
mod guard;
mod presented;
mod standing;

pub use caller::{By, Caller};
pub use endpoint::routes;
pub use guard::{guard, require_fresh};
pub use presented::Presented;
pub use standing::held_now;
