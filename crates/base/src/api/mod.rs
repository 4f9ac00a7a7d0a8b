//! What every operation of the product's own APIs has in common, whichever feature it belongs to
//! (`docs/management-api.md`).
//!
//! 1. An [`Operation`] at the route says what it takes and gives; the OpenAPI document is written from it.
//! 2. [`keep`] holds a request to its operation before the handler runs.
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
pub use answer::{Time, created, created_with_secret, one};
pub use contract::{keep, writes};
pub use list::Listing;
pub use patch::Patch;
pub use query::Query;
pub use version::{Seen, stale, tag};
