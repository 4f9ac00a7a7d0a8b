//! Infrastructure that all features use: PostgreSQL, settings, secrets, HTTP, limits, jobs, mail, text messages and
//! outgoing requests. It cannot name a feature, because the crate depends on none.

pub mod api;
pub mod dns;
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
