//! The rows.

pub mod identities;
pub mod issuers;
pub mod servers;
