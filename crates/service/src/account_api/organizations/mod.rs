//! `/v1/account/organizations`: a person's memberships, and how to leave. Names and roles belong to each organization;
//! nothing here shows one organization to another.

mod endpoint;

use crate::http::Route;

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}
