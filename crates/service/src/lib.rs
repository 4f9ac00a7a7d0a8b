//! Porteiro's features, one folder per standard or concept. [`table`] lists all routes.
//!
//! Inside a folder: `endpoint.rs` (HTTP only) → `mod.rs` (use case) → `decide.rs` (pure) and `store.rs` (SQL only),
//! never back. `cargo xtask tidy` checks it.

mod account_api;
pub mod accounts;
pub mod api_keys;
pub mod approvals;
pub mod audit_trail;
pub mod bootstrap;
pub mod branding;
pub mod client_policies;
pub mod connections;
pub mod credentials;
pub mod directories;
pub mod domains;
pub mod endings;
pub mod federation;
pub mod flow;
pub mod groups;
pub mod health;
pub mod http;
pub mod impersonation;
pub mod invitations;
pub mod management;
pub mod members;
pub mod oauth;
pub mod organization_sign_in;
pub mod organizations;
pub mod permissions;
pub mod personal_data;
pub mod platform;
pub mod refusals;
pub mod registers;
pub mod roles;
pub mod scim;
pub mod security_log;
pub mod sessions;
mod state;
pub mod trusts;
pub mod web_push;

use std::sync::Arc;

use axum::Router;

pub use porteiro_base::{Core, api, dns, fetch, jobs, limits, mail, secrets, settings, sms, store};
pub use registers::Registers;
pub use state::{App, Parts};

/// All routes. Every route declares who may call it.
pub fn table() -> Vec<http::Route> {
    [
        health::routes(),
        oauth::discovery::routes(),
        oauth::keys::routes(),
        oauth::authorization::routes(),
        oauth::pushed_authorization::routes(),
        oauth::device::routes(),
        oauth::ciba::routes(),
        oauth::challenge::routes(),
        oauth::token::routes(),
        oauth::userinfo::routes(),
        oauth::introspection::routes(),
        oauth::revocation::routes(),
        oauth::logout::routes(),
        oauth::registration::routes(),
        credentials::passkey::routes(),
        federation::routes(),
        flow::routes(),
        account_api::routes(),
        personal_data::routes(),
        management::api_keys::routes(),
        management::approvals::routes(),
        web_push::routes(),
        management::invitations::routes(),
        management::routes(),
        management::organizations::routes(),
        management::branding::routes(),
        management::audit_trail::routes(),
        management::refusals::routes(),
        management::platform::routes(),
        management::impersonation::routes(),
        management::members::routes(),
        management::roles::routes(),
        management::groups::routes(),
        management::provisioning::routes(),
        management::client_policies::routes(),
        management::connections::routes(),
        management::delegations::routes(),
        management::authorization_servers::routes(),
        management::assertion_issuers::routes(),
        management::external_identities::routes(),
        management::domains::routes(),
        scim::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The service without screens.
pub fn router(app: Arc<App>) -> Router {
    router_of(app, table())
}

/// The service with these routes.
pub fn router_of(app: Arc<App>, routes: Vec<http::Route>) -> Router {
    http::build(app, routes, management::guard)
}
