//! The management API: `/v1/organizations`, `/v1/platform` and what they share (`docs/management-api.md`).
//!
//! [`guard`] identifies the caller and its permissions before any handler runs, and passes on a [`Caller`]. The
//! transaction that makes a change reads the permissions again ([`standing`]). Each resource has a folder with its
//! endpoints and use cases; the folder of the same name outside has its rows and what other features use.

pub mod api_keys;
pub mod approvals;
pub mod assertion_issuers;
pub mod audit_trail;
pub mod authorization_servers;
pub mod branding;
mod caller;
pub mod changes;
pub mod client_policies;
pub mod connections;
pub mod delegations;
pub mod domains;
mod endpoint;
pub mod external_identities;
pub mod groups;
mod guard;
pub mod impersonation;
pub mod invitations;
pub mod members;
pub mod organizations;
pub mod platform;
mod presented;
pub mod provisioning;
pub mod refusals;
pub mod roles;
pub mod standing;
mod transaction;

pub use caller::{By, Caller};
pub use endpoint::routes;
pub use guard::{TokenClient, guard, require_fresh};
pub use presented::Presented;
pub use transaction::{change, explained};
