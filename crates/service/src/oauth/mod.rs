//! The authorization server: one folder per standard.

pub mod apis;
pub mod authorization;
pub mod client_auth;
pub mod client_credentials;
pub mod clients;
pub mod directory;
pub mod discovery;
pub mod grants;
pub mod keys;
pub mod logout;
pub mod pushed_authorization;
pub mod registration;
pub mod scopes;
pub mod token;
