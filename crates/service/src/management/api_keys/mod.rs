//! API keys: people create and revoke their own, administrators those of an organization or of the platform.

mod endpoint;
mod make;

pub use endpoint::routes;
