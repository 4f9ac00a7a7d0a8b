//! Hosted screens: a client of the service like any other, and removable. `service` cannot name this crate.

use axum::Router;

/// Puts the screens in front of the service. There are none yet, so it answers exactly as without them.
pub fn mount(service: Router) -> Router {
    service
}
