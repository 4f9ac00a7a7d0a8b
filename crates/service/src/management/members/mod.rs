//! Members of an organization, changed by those who may.
//!
//! 1. Whoever changes a member holds the organization's lock, and is asked once more what they hold
//!    ([`super::standing`]).
//! 2. Nobody gives what they do not hold, nor changes whoever may do more; an organization keeps an owner ([`decide`]).
//! 3. A membership ends for everything that hung on it at once, and comes back with nothing ([`cut`]).

mod changing;
pub mod cut;
pub mod decide;
mod endpoint;
mod grants;
mod store;

pub use changing::{Who, add, change, enable, end, leave, rehearse};
pub use store::{End, cut_account, cut_client};

use crate::http::Route;

pub fn routes() -> Vec<Route> {
    [endpoint::routes(), grants::routes()].into_iter().flatten().collect()
}
