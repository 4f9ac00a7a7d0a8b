//! What every feature stands on, and no feature: PostgreSQL, settings, secrets, HTTP, limits, jobs, mail, text messages and
//! outgoing requests. Nothing here can name a feature, because the crate does not depend on one.

pub mod api;
pub mod fetch;
pub mod http;
pub mod jobs;
pub mod limits;
pub mod mail;
mod node;
pub mod secrets;
pub mod settings;
pub mod sms;
pub mod store;

pub use node::Core;
