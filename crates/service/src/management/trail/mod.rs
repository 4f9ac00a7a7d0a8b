//! The audit trail of an organization, for whoever may read it: its pages and its export.

mod endpoint;
mod export;

pub use endpoint::routes;
