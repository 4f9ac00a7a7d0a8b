//! Client authentication, by the method that the client registered ([`METHODS`](super::clients::METHODS)).
//!
//! 1. The credentials are read: a Basic header, a secret in the form, a signed assertion, or only a client id, with
//!    which a certificate may come (RFC 8705).
//! 2. Two methods at once are refused (RFC 6749 §2.3). A certificate does not count: it may be there to bind a token.
//! 3. The method must be the registered one; then it is checked. Every failure is `invalid_client` with one text, for
//!    an unknown client, a wrong secret and a wrong method alike. If keys cannot be fetched, the client did not fail:
//!    it is asked to try again.

mod assertion;
mod authorities;
mod certificate;
mod secret;
mod store;

use std::{sync::Arc, time::Instant};

use porteiro_protocol::{error::ErrorCode, form::Parameters};

pub use authorities::ClientAuthorities;
pub use store::use_once;

use super::{
    clients::{AuthMethod, Client, UNAVAILABLE},
    verifying,
};
use crate::{
    App,
    http::{OAuthError, RequestContext},
    limits::{self, Bucket, CLIENT_FAILURE, CLIENT_SECRET, Rule, network},
};

/// An authenticated client. Only [`authenticate`] creates one.
#[derive(Debug)]
pub struct AuthenticatedClient {
    pub client: Arc<Client>,
}

/// The credentials in a request.
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
}

/// The credentials of a Basic header, if it is well-formed.
pub fn basic(context: &RequestContext) -> Option<(String, String)> {
    let (_, credentials) = context.authorization.as_ref().filter(|(scheme, _)| scheme == "basic")?;
    secret::basic(credentials)
}

fn refused(context: &RequestContext) -> OAuthError {
    let basic = context.authorization.as_ref().is_some_and(|(scheme, _)| scheme == "basic");
    OAuthError::new(ErrorCode::InvalidClient, "client authentication failed")
        .challenge(basic.then_some("Basic"))
}

/// The client was not refused. With `invalid_client`, clients would give up or register again.
fn keys_unavailable() -> OAuthError {
    OAuthError::new(ErrorCode::TemporarilyUnavailable, UNAVAILABLE)
}

fn present(context: &RequestContext, form: &Parameters) -> Result<Presented, OAuthError> {
    let twice = || OAuthError::new(ErrorCode::InvalidRequest, "use exactly one client authentication method");
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
                    "client_assertion_type must be urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
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
    let client = app.directory.client(&app.store, presented.id()).await?;
    let failures = failures(app, context, client.as_deref());
    let proved = match &client {
        Some(client) => {
            limit(app, context, client, &presented, &failures).await?;
            prove(app, context, client, &presented).await?
        }
        None => false,
    };
    if let (true, Some(client)) = (proved, client) {
        return Ok(AuthenticatedClient { client });
    }
    // A 256-bit secret cannot be guessed; the buckets bound the load of attempts.
    if let Some(limited) = limits::take(&app.store, &failures).await? {
        app.empty.note(&limited.bucket, Instant::now());
        return Err(limited.into());
    }
    Err(refused(context))
}

/// The buckets of failures. Never keyed by the presented text: anonymous callers could create a row for every text
/// (docs/decisions/0079).
fn failures(app: &App, context: &RequestContext, client: Option<&Client>) -> Vec<Bucket> {
    let network = network(context.address);
    let bucket = |rule: Rule, whom: &[u8]| Bucket { rule, key: app.secrets.limit_key(rule.name, whom) };
    let known = client.map(|client| [network.as_slice(), client.id.as_bytes()].concat());
    std::iter::once(bucket(CLIENT_FAILURE, &network))
        .chain(known.map(|whom| bucket(CLIENT_SECRET, &whom)))
        .collect()
}

/// An assertion costs a signature check, so the limit is taken before. For a verified client only failures count, so
/// that its own requests need no additional statement.
async fn limit(
    app: &App,
    context: &RequestContext,
    client: &Client,
    presented: &Presented,
    failures: &[Bucket],
) -> Result<(), OAuthError> {
    match presented {
        Presented::Name(_) | Presented::Basic { .. } | Presented::Post { .. } => return Ok(()),
        Presented::Assertion { .. } => {}
    }
    let now = Instant::now();
    let exhausted =
        failures.iter().any(|bucket| bucket.rule == CLIENT_SECRET && app.empty.is_known(bucket, now));
    if exhausted {
        return Err(OAuthError::slow_down());
    }
    if client.is_verified() {
        return Ok(());
    }
    verifying::take(app, context, &client.id).await?.map_or(Ok(()), |limited| Err(limited.into()))
}

/// The registered method decides. A certificate may accompany any request, so it authenticates only if no other
/// credential was sent and a certificate method is registered.
async fn prove(
    app: &Arc<App>,
    context: &RequestContext,
    client: &Client,
    presented: &Presented,
) -> Result<bool, OAuthError> {
    use AuthMethod::{None, PrivateKeyJwt, SecretBasic, SecretPost, SelfSignedTls, TlsClientAuth};
    let Ok(method) = client.metadata.token_endpoint_auth_method.parse::<AuthMethod>() else {
        return Ok(false);
    };
    match (method, presented) {
        (None, Presented::Name(_)) => Ok(true),
        (SecretBasic, Presented::Basic { secret, .. }) | (SecretPost, Presented::Post { secret, .. }) => {
            Ok(client.has_secret(secret))
        }
        (PrivateKeyJwt, Presented::Assertion { assertion, .. }) => {
            assertion::verify(app, client, assertion).await
        }
        (TlsClientAuth, Presented::Name(_)) => Ok(certificate::by_authority(app, context, client)),
        (SelfSignedTls, Presented::Name(_)) => certificate::by_key(app, context, client).await,
        (SecretBasic | SecretPost | PrivateKeyJwt, Presented::Name(_))
        | (None | SecretPost | PrivateKeyJwt | TlsClientAuth | SelfSignedTls, Presented::Basic { .. })
        | (None | SecretBasic | PrivateKeyJwt | TlsClientAuth | SelfSignedTls, Presented::Post { .. })
        | (None | SecretBasic | SecretPost | TlsClientAuth | SelfSignedTls, Presented::Assertion { .. }) => {
            Ok(false)
        }
    }
}
