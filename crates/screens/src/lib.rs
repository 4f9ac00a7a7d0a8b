//! Hosted screens: a client of the service like any other, which can be left out. `service` cannot import this crate.
//!
//! 1. A page's form becomes a JSON call that any client may make, sent through the same router in process ([`call`]).
//!    The screens have no other access: no database handle, no privileged trait.
//! 2. At `/connect/authorize` and `/connect/logout`, browsers get a page where the service would answer with JSON
//!    ([`doors`]).
//! 3. The answers of flows and of the account API become pages ([`flow`], [`account`]), in the person's language.

mod account;
mod assets;
mod call;
mod deployment;
mod doors;
mod flow;
mod form;
mod invitation;
mod language;
mod look;
mod page;
mod visit;

use std::sync::Arc;

use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{any, get},
};

pub use deployment::{Deployment, Logo};

use assets::Assets;
use language::Catalogues;

/// The target of mailed links.
pub const LINK_PAGE: &str = "/ui/link";
/// The target of an invitation's link.
pub const INVITATION_PAGE: &str = "/ui/invitation";

/// Where other OpenID providers send people back, with the connection after it.
pub const FEDERATION_PAGE: &str = "/ui/federation";

/// Where people type the code that a device shows.
pub const DEVICE_PAGE: &str = "/device";

pub(crate) struct Screens {
    service: Router,
    deployment: Deployment,
    /// The host in the browser's address bar.
    host: String,
    catalogues: Catalogues,
    assets: Assets,
}

impl Screens {
    fn is_https(&self) -> bool {
        self.deployment.issuer.starts_with("https:")
    }
}

/// Puts the screens in front of the service: their own pages, and pages where browsers would see JSON.
pub fn mount(service: Router, deployment: Deployment) -> Router {
    let host = deployment.issuer.split("://").nth(1).unwrap_or_default().to_owned();
    let assets = Assets::of(&deployment);
    let catalogues = Catalogues::read(deployment.pseudo_languages);
    let surroundings = deployment.surroundings.clone();
    let screens = Screens { service, deployment, host, catalogues, assets };
    let screens = Arc::new(screens);
    let mut pages = pages();
    let mut doors = Router::new()
        .route("/connect/authorize", any(doors::authorize))
        .route("/connect/logout", any(doors::logout));
    if let Some(surroundings) = surroundings {
        pages = surroundings.around(pages);
        doors = surroundings.net(doors);
    }
    let broken = from_fn_with_state(Arc::clone(&screens), doors::broken);
    pages.merge(doors).route_layer(broken).fallback(doors::pass).with_state(screens)
}

/// The routes of the screens.
fn pages() -> Router<Arc<Screens>> {
    Router::new()
        .route("/", get(doors::home))
        .route("/.well-known/change-password", get(doors::change_password))
        .route("/.well-known/passkey-endpoints", get(doors::passkey_endpoints))
        .route("/ui/sign-in", get(flow::sign_in))
        .route("/o/{organization}", get(flow::organization))
        .route("/ui/register", get(flow::register))
        .route("/ui/recover", get(flow::recover))
        .route("/ui/step-up", get(flow::step_up))
        .route(DEVICE_PAGE, get(flow::device))
        .route("/ui/flow/{id}", get(flow::show).post(flow::act))
        .route(LINK_PAGE, get(flow::link))
        .route("/ui/federation/{connection}", get(flow::federation))
        .route(INVITATION_PAGE, get(invitation::show).post(invitation::act))
        .merge(account::routes())
        .route("/ui/assets/{version}/{file}", get(assets::serve))
        .route("/ui/worker.js", get(assets::worker))
        .route("/ui/look/{colours}", get(look::serve))
}
