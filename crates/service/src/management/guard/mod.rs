//! Runs the check that a route's access requires, before its handler. The route table passes [`guard`] to `http`, which
//! knows no feature.
//!
//! 1. [`admit`] identifies the caller and its permissions; or [`session`], if a person manages their own account.
//! 2. [`contract`] then checks what all operations have in common.

mod administering;
mod admit;
mod contract;
mod rates;
mod refused;
mod session;
mod suspended;
mod turned;

use std::sync::Arc;

use axum::middleware::{from_fn, from_fn_with_state};

pub(super) use administering::administer;
pub use session::{TokenClient, require_fresh};

use crate::{
    App,
    http::{Access, Route, present_scim_errors},
    permissions::Reach,
};
use admit::Guard;
use contract::Contract;

/// Puts the route behind the check that its access requires.
pub fn guard(route: Route, app: &Arc<App>) -> Route {
    let (access, operation) = (route.access, route.operation.clone());
    let route = match operation {
        None => route,
        Some(operation) => {
            let contract = Contract { app: Arc::clone(app), operation };
            route.wrapped(|handler| handler.layer(from_fn_with_state(contract, contract::keep)))
        }
    };
    match access {
        Access::Session => {
            let check = from_fn_with_state(Arc::clone(app), session::require_session);
            route.wrapped(|handler| handler.layer(check))
        }
        Access::Organization(permission) => required(route, app, permission, Reach::Organization, false),
        Access::Platform(permission) => required(route, app, permission, Reach::Platform, false),
        Access::Provisioning(permission) => required(route, app, permission, Reach::Organization, true)
            .wrapped(|handler| handler.layer(from_fn(present_scim_errors))),
        Access::Public(_)
        | Access::FlowOwner
        | Access::Client
        | Access::RegistrationToken
        | Access::Token(_) => route,
    }
}

fn required(route: Route, app: &Arc<App>, permission: &'static str, reach: Reach, provisions: bool) -> Route {
    let guard = Guard { app: Arc::clone(app), permission, reach, provisions };
    route.wrapped(|handler| handler.layer(from_fn_with_state(guard, admit::require)))
}
