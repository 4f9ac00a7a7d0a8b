//! HTTP, with routes whose handlers receive this application.

pub use porteiro_base::http::*;

pub type Route = porteiro_base::http::Route<crate::App>;
