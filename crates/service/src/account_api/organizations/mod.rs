//! `/v1/account/organizations`: where a person belongs, and how they leave. What they are in each is that organization's
//! own; nothing here tells one about another.

mod endpoint;

use crate::http::Route;

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}
