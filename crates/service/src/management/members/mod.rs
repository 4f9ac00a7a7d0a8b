//! Changes members of an organization.
//!
//! 1. A change takes the organization's lock and reads the caller's permissions again ([`super::standing`]).
//! 2. A caller gives only what it holds, and changes no member with more permissions; an organization keeps an owner
//!    ([`decide`]).
//! 3. Ending a membership ends everything that depends on it; a new membership starts with nothing ([`cut`]).

mod changing;
pub mod cut;
pub mod decide;
mod endpoint;
mod grants;
mod identities;
mod store;

pub use changing::{Who, add, change, dry_run, enable, end, leave, may_end};
pub use store::{Enabled, End, Undo, invalidate_account, invalidate_client, lock};

use crate::http::Route;

pub fn routes() -> Vec<Route> {
    [endpoint::routes(), grants::routes(), identities::routes()].into_iter().flatten().collect()
}
