//! What all operations of the product's own APIs have in common (`docs/management-api.md`).
//!
//! 1. The [`Operation`] of a route describes its input and output; the OpenAPI document is generated from it.
//! 2. [`keep`] checks a request against its operation before the handler runs.
//! 3. Handlers read the request with [`Query`], [`Listing`], [`Patch`] and [`Seen`], and answer with [`one`],
//!    [`created`] and [`Listing::page`].

mod answer;
mod contract;
mod list;
pub mod openapi;
mod patch;
mod query;
mod repeat;
mod version;

pub use crate::http::{Given, Operation, Parameter, REASON, Shape, Taken};
pub use answer::{Time, created, created_with_secret, deleted, one};
pub use contract::{keep, writes};
pub use list::Listing;
pub use patch::Patch;
pub use query::Query;
pub use version::{Seen, stale, tag};
