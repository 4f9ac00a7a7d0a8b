//! The audit trail of an organization: its pages and its export.

mod endpoint;
mod export;

pub use endpoint::routes;
