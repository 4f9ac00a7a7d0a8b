//! Roles of an organization. A caller creates and changes only roles whose permissions it holds.

pub mod decide;
mod endpoint;
pub mod impact;
mod shaping;
mod store;

pub(super) use endpoint::impact_answer;
pub use endpoint::routes;
pub use shaping::{Wanted, change, create, dry_run_change, dry_run_removal, remove};
