//! The authorization server: one folder per standard.

pub mod client_auth;
pub mod discovery;
pub mod keys;
pub mod scopes;
pub mod token;
