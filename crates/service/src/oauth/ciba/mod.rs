//! Client-initiated backchannel authentication (OpenID CIBA Core 1.0): the standard by which a client asks for an approval.
//!
//! 1. The client authenticates and sends the request ([`begin`]), which it signs if it registered so, or follows FAPI
//!    ([`object`]). One hint names the person; who is unknown and who delegated nothing look the same ([`hint`]).
//! 2. `approvals` asks the person. The client gets `auth_req_id`, and a number that it shows to the person.
//! 3. The client polls ([`grant`]). An answer that nothing changed costs one read. A client that polls too often gets
//!    `slow_down`, from the memory of this node ([`polls`]): that bounds reads, not authority, so nodes need not agree.
//!
//! There is no push mode: a token is issued only to a client that presents its handle (docs/decisions/0094).

mod begin;
mod decide;
mod endpoint;
mod grant;
mod hint;
mod object;
mod polls;

pub use grant::GRANT;
pub use polls::Polls;

use crate::http::Route;

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// CIBA Core §7.3: the initial interval between two polls, in seconds.
const INTERVAL: i64 = 5;
