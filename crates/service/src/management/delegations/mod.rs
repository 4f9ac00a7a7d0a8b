//! Delegations: people make and revoke their own, administrators those of an organization.

mod endpoint;
mod make;

pub use endpoint::routes;
