//! HTTP, with routes whose handlers are handed this application.

pub use porteiro_base::http::*;

pub type Route = porteiro_base::http::Route<crate::App>;
