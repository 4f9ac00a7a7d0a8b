//! The HTTP of SCIM: `/scim/v2/{organization}`.

mod discovery;
mod door;
mod query;
mod resources;

use crate::http::Route;

pub fn routes() -> Vec<Route> {
    [discovery::routes(), resources::routes()].into_iter().flatten().collect()
}
