//! Hosted screens: a client of the service like any other, and removable. `service` cannot name this crate.
//!
//! 1. A page's form is translated into the JSON call anybody may make, and sent through the same router in process
//!    ([`call`]). There is no other way in: no database handle, no privileged trait.
//! 2. A browser that comes to `/connect/authorize` or `/connect/logout` is answered with a page where the service
//!    would answer with JSON ([`doors`]).
//! 3. What a flow or the account API says becomes a page ([`flow`], [`account`]), in the person's language.

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

/// Where a mailed link leads.
pub const LINK_PAGE: &str = "/ui/link";
/// Where the link of an invitation leads.
pub const INVITATION_PAGE: &str = "/ui/invitation";

/// Where people type the code a device shows them.
pub const DEVICE_PAGE: &str = "/device";

pub(crate) struct Screens {
    service: Router,
    deployment: Deployment,
    /// The host people see in their address bar.
    host: String,
    catalogues: Catalogues,
    assets: Assets,
}

impl Screens {
    fn is_https(&self) -> bool {
        self.deployment.issuer.starts_with("https:")
    }
}

/// Puts the screens in front of the service: their own addresses, and pages where browsers would see JSON.
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

/// The addresses that are ours alone.
fn pages() -> Router<Arc<Screens>> {
    Router::new()
        .route("/", get(doors::home))
        .route("/.well-known/change-password", get(doors::change_password))
        .route("/.well-known/passkey-endpoints", get(doors::passkey_endpoints))
        .route("/ui/sign-in", get(flow::sign_in))
        .route("/ui/register", get(flow::register))
        .route("/ui/recover", get(flow::recover))
        .route(DEVICE_PAGE, get(flow::device))
        .route("/ui/flow/{id}", get(flow::show).post(flow::act))
        .route(LINK_PAGE, get(flow::link))
        .route(INVITATION_PAGE, get(invitation::show).post(invitation::act))
        .merge(account::routes())
        .route("/ui/assets/{version}/{file}", get(assets::serve))
        .route("/ui/look/{colours}", get(look::serve))
}
