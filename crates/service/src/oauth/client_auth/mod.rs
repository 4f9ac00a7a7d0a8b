//! How clients prove who they are. One line in [`METHODS`], and discovery and registration follow.
//!
//! 1. What was presented is read: a Basic header, a secret in the form, a signed assertion, or only a name.
//! 2. Two ways at once are refused (RFC 6749 §2.3).
//! 3. The way must be the one the client registered; then it is checked. Every failure is `invalid_client` with one text:
//!    an unknown client, a wrong secret and a wrong method look alike.

mod assertion;
mod secret;
mod store;

use std::sync::Arc;

use porteiro_protocol::{error::ErrorCode, form::Parameters};

use super::clients::Client;
use crate::{
    App,
    http::{OAuthError, RequestContext},
    limits::{self, Bucket, CLIENT_SECRET, network},
};

/// One `token_endpoint_auth_method` (RFC 7591 §2, OpenID Connect Core §9).
#[derive(Debug)]
pub struct Method {
    pub name: &'static str,
}

/// Every method that is served.
pub const METHODS: &[Method] = &[
    Method { name: "none" },
    Method { name: "client_secret_basic" },
    Method { name: "client_secret_post" },
    Method { name: "private_key_jwt" },
];

/// Their names, for registration.
pub const NAMES: &[&str] = &["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];

/// A client that has proved itself. Only [`authenticate`] makes one.
#[derive(Debug)]
pub struct AuthenticatedClient {
    pub client: Arc<Client>,
}

/// What a request brings to prove a client.
enum Presented {
    Name(String),
    Basic { id: String, secret: String },
    Post { id: String, secret: String },
    Assertion { id: String, assertion: String },
}

impl Presented {
    fn id(&self) -> &str {
        match self {
            Self::Name(id) | Self::Basic { id, .. } | Self::Post { id, .. } | Self::Assertion { id, .. } => {
                id
            }
        }
    }

    const fn method(&self) -> &'static str {
        match self {
            Self::Name(_) => "none",
            Self::Basic { .. } => "client_secret_basic",
            Self::Post { .. } => "client_secret_post",
            Self::Assertion { .. } => "private_key_jwt",
        }
    }
}

fn refused(context: &RequestContext) -> OAuthError {
    let basic = context.authorization.as_ref().is_some_and(|(scheme, _)| scheme == "basic");
    OAuthError::new(ErrorCode::InvalidClient, "client authentication failed")
        .challenge(basic.then_some("Basic"))
}

fn present(context: &RequestContext, form: &Parameters) -> Result<Presented, OAuthError> {
    let twice =
        || OAuthError::new(ErrorCode::InvalidRequest, "use one client authentication method, not several");
    let named = form.get("client_id");
    let basic = context.authorization.as_ref().filter(|(scheme, _)| scheme == "basic");
    match (basic, form.get("client_secret"), form.get("client_assertion")) {
        (Some((_, credentials)), None, None) => {
            let (id, secret) = secret::basic(credentials).ok_or_else(|| refused(context))?;
            if named.is_some_and(|named| named != id) {
                return Err(twice());
            }
            Ok(Presented::Basic { id, secret })
        }
        (None, Some(secret), None) => {
            let id = named.ok_or_else(|| refused(context))?.to_owned();
            Ok(Presented::Post { id, secret: secret.to_owned() })
        }
        (None, None, Some(assertion)) => {
            if form.get("client_assertion_type") != Some(assertion::TYPE) {
                return Err(OAuthError::new(
                    ErrorCode::InvalidRequest,
                    "client_assertion_type is not jwt-bearer",
                ));
            }
            let id = assertion::claimed_client(assertion).ok_or_else(|| refused(context))?;
            if named.is_some_and(|named| named != id) {
                return Err(refused(context));
            }
            Ok(Presented::Assertion { id, assertion: assertion.to_owned() })
        }
        (None, None, None) => {
            let id = named.ok_or_else(|| refused(context))?.to_owned();
            Ok(Presented::Name(id))
        }
        (_, _, _) => Err(twice()),
    }
}

pub async fn authenticate(
    app: &Arc<App>,
    context: &RequestContext,
    form: &Parameters,
) -> Result<AuthenticatedClient, OAuthError> {
    let presented = present(context, form)?;
    // Secrets are 256 bits, so guessing is hopeless; the bucket keeps it from being loud.
    let whom = [network(context.address).as_slice(), presented.id().as_bytes()].concat();
    let bucket = Bucket { rule: CLIENT_SECRET, key: app.secrets.limit_key(CLIENT_SECRET.name, &whom) };
    let client = app.directory.client(&app.store, presented.id()).await?;
    let proved = match &client {
        Some(client) if client.metadata.token_endpoint_auth_method == presented.method() => {
            prove(app, client, &presented).await?
        }
        Some(_) | None => false,
    };
    if let (true, Some(client)) = (proved, client) {
        return Ok(AuthenticatedClient { client });
    }
    if limits::take(&app.store, std::slice::from_ref(&bucket)).await?.is_some() {
        return Err(OAuthError::slow_down());
    }
    Err(refused(context))
}

async fn prove(app: &Arc<App>, client: &Client, presented: &Presented) -> Result<bool, OAuthError> {
    match presented {
        Presented::Name(_) => Ok(true),
        Presented::Basic { secret, .. } | Presented::Post { secret, .. } => Ok(client.has_secret(secret)),
        Presented::Assertion { assertion, .. } => assertion::verify(app, client, assertion).await,
    }
}
