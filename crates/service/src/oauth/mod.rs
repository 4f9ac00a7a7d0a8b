//! The authorization server: one folder per standard.

pub mod access_token;
pub mod acting;
pub mod apis;
pub mod authorization;
pub mod binding;
pub mod challenge;
pub mod client_auth;
pub mod client_credentials;
pub mod clients;
pub mod code_grant;
pub mod details;
pub mod device;
pub mod directory;
pub mod discovery;
pub mod grants;
pub mod introspection;
pub mod key_credentials;
pub mod keys;
pub mod logout;
pub mod pushed_authorization;
pub mod refresh;
pub mod registration;
pub mod revocation;
pub mod scopes;
pub mod token;
pub mod userinfo;
