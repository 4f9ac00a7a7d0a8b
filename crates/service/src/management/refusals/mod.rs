//! Why authority was refused, for whoever may know.

mod endpoint;

pub use endpoint::routes;
