//! Recorded refusals, for callers who may read them.

mod endpoint;

pub use endpoint::routes;
