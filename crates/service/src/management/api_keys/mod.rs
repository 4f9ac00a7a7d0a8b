//! API keys, made and revoked by people for themselves, by administrators of an organization, and by the platform.

mod endpoint;
mod make;

pub use endpoint::routes;
