//! Approvals: people see what clients ask of them and decide; administrators see what is asked in an organization.

mod endpoint;
mod view;

pub use endpoint::routes;
