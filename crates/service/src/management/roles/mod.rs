//! Roles of an organization, made and changed by whoever holds all they permit.

pub mod decide;
mod endpoint;
pub mod impact;
mod shaping;
mod store;

pub(super) use endpoint::impact_answer;
pub use endpoint::routes;
pub use shaping::{Wanted, change, create, rehearse_change, rehearse_removal, remove};
