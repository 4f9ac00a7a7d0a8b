//! The management API: `/v1/organizations`, `/v1/platform` and what they share (`docs/management-api.md`).
//!
//! [`guard`] finds out who calls and what they may do before any handler runs, and hands on a [`Caller`]. What they hold is
//! asked once more in the transaction that acts on it ([`standing`]). A folder for each resource has its endpoints and use
//! cases; what is stored of it, and what others may ask of it, is the module of the same name outside.

pub mod api_keys;
pub mod branding;
mod caller;
pub mod changes;
pub mod client_policies;
mod endpoint;
mod guard;
pub mod impersonation;
pub mod invitations;
pub mod members;
pub mod organizations;
pub mod platform;
mod presented;
pub mod refusals;
pub mod roles;
pub mod standing;
pub mod trail;
mod transaction;

pub use caller::{By, Caller};
pub use endpoint::routes;
pub use guard::{guard, require_fresh};
pub use presented::Presented;
pub use transaction::{change, explained};
