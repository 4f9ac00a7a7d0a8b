//! THE grant table. One line here, and discovery, registration and the per-client permission follow.

use std::{pin::Pin, sync::Arc};

use porteiro_protocol::form::Parameters;

use super::TokenResponse;
use crate::{
    App,
    http::OAuthError,
    oauth::{client_auth::AuthenticatedClient, client_credentials},
};

type Answer<'a> = Pin<Box<dyn Future<Output = Result<TokenResponse, OAuthError>> + Send + 'a>>;
type Run = for<'a> fn(&'a Arc<App>, &'a AuthenticatedClient, &'a Parameters) -> Answer<'a>;

/// One grant type.
pub struct Grant {
    /// The value of `grant_type`.
    pub name: &'static str,
    /// The `response_type` it needs at the authorization endpoint, if it begins there.
    pub response_type: Option<&'static str>,
    pub(super) run: Run,
}

impl std::fmt::Debug for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every grant that is served.
pub const GRANTS: &[Grant] = &[Grant {
    name: "client_credentials",
    response_type: None,
    run: |app, client, form| Box::pin(client_credentials::grant(app, client, form)),
}];

/// Their names, for what clients may ask for.
pub const NAMES: &[&str] = &["authorization_code", "refresh_token", "client_credentials"];
pub const RESPONSE_TYPES: &[&str] = &["code"];
