//! The token endpoint (OAuth 2.1 §3.2).

pub mod grants;
