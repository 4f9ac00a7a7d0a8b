//! Clients that register themselves (RFC 7591, OpenID Connect Registration 1.0) and manage their registration (RFC
//! 7592).
//!
//! 1. Anyone may register, limited per hour and address. If there are many unused clients, each site has a small
//!    share, so that no site prevents others from registering.
//! 2. The metadata must be well-formed (`porteiro_protocol::client_metadata`) and allowed for an unverified client
//!    ([`decide::check`]).
//! 3. The response contains the whole registration, and, once, the token that reads, replaces and deletes it.
//! 4. A replacement is checked like a new registration and has its trust; its token is new as well.
//! 5. Administrators change a client by the same rules ([`administer`], [`Rules`]).
//! 6. An unused client ends: after a day if it was never used, otherwise after 90 ([`expire`]).
//!
//! A wrong token, an unknown client and an ended one give the same 401.

pub mod administer;
mod answer;
mod console;
mod decide;
mod endpoint;
mod expiry;
mod narrowing;
mod rules;
mod store;

use porteiro_protocol::{
    client_metadata::ClientMetadata,
    error::ErrorCode,
    id::Id,
    secret::{Kind, Plain},
};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

pub use self::{
    console::{ChangeError, Edited, edit_at_console, rotate_secret_at_console},
    expiry::{EXPIRY, expire},
    rules::Rules,
};
pub(super) use self::{
    decide::{SELF_REGISTERED, is_open_scope, weighty_changes},
    store::{New, ReadDocument, insert},
};

use self::answer::Registered;
use super::clients::{self, Client, ClientSecret, Profile};
use crate::{
    App,
    http::{OAuthError, RequestContext, Route},
    limits::{
        self, Bucket, REGISTER, REGISTER_DAY, REGISTER_SITE, REGISTRATION_CHANGE, REGISTRATION_TOKEN, Rule,
        network,
    },
    security_log::{self, EventKind},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// The registration access token of one client. Shown once per registration or replacement.
#[derive(Debug)]
enum RegistrationTokenKind {}
impl Kind for RegistrationTokenKind {
    const PREFIX: &'static str = "pt_reg";
}
type RegistrationToken = Plain<RegistrationTokenKind>;

/// Numbers of self-registered clients that were never used: from `MANY_UNUSED` on the log warns, from `CROWD.from` on
/// each site may have `CROWD.share`.
const MANY_UNUSED: i64 = 1_000;
pub(super) const CROWD: store::Crowd = store::Crowd { from: 5_000, share: 2 };

async fn register(app: &App, context: &RequestContext, request: &Value) -> Result<Registered, OAuthError> {
    let hourly = app.checked.settings.client_registrations_per_hour;
    if hourly == 0 {
        return Err(OAuthError::new(ErrorCode::AccessDenied, "dynamic client registration is disabled"));
    }
    let per = |rule: Rule, times: u32, seconds: f64| {
        let burst = hourly.saturating_mul(times);
        Rule { burst, interval_seconds: seconds / f64::from(burst), ..rule }
    };
    limit(app, context, &[per(REGISTER, 1, 3_600.0), per(REGISTER_DAY, 5, 86_400.0)]).await?;
    let site = limits::site(context.address);
    take(app, per(REGISTER_SITE, 25, 86_400.0), &site).await?;
    let registered_from = app.secrets.limit_key(REGISTER_SITE.name, &site);
    let mut metadata = ClientMetadata::parse(request, &decide::allowed(Profile::Default))?;
    settle(app, Profile::Default, &mut metadata).await?;
    let client_id = Id::<Client>::random(&*app.entropy).to_string();
    let secret = clients::needs_secret(&metadata).then(|| ClientSecret::generate(&*app.entropy));
    let secret_hash = secret.as_ref().map(Plain::hash);
    let token = RegistrationToken::generate(&*app.entropy);
    let registration_hash = token.hash();
    let new = store::New {
        client_id: &client_id,
        trust: decide::SELF_REGISTERED,
        metadata: &metadata,
        secret_hash: secret_hash.as_ref().map(|hash| hash.as_bytes().as_slice()),
        registration_hash: Some(registration_hash.as_bytes()),
        document: None,
    };
    let made = app
        .store
        .run_tx("registration.register", async |tx| {
            let made = store::insert(&tx, &new, &registered_from, CROWD).await?;
            if made.is_some() {
                note(app, &tx, context, EventKind::ClientRegistered, json!({"client_id": client_id})).await?;
            }
            Ok(made)
        })
        .await?;
    let Some(made) = made else {
        tracing::warn!("too many unused self-registered clients of this site");
        return Err(OAuthError::slow_down());
    };
    if made.unused >= MANY_UNUSED {
        tracing::warn!(clients = made.unused, "too many unused self-registered clients");
    }
    Ok(Registered {
        has_secret: secret.is_some(),
        client_id,
        created_at: made.created_at,
        metadata,
        secret: secret.map(|secret| secret.reveal()),
        token: token.reveal(),
    })
}

async fn read(app: &App, context: &RequestContext, client_id: &str) -> Result<Registered, OAuthError> {
    let (client, token) = open(app, context, client_id).await?;
    Ok(Registered {
        has_secret: client.secret_hash.is_some(),
        client_id: client.id,
        created_at: client.created_at,
        metadata: client.metadata,
        secret: None,
        // RFC 7592 §3 requires it in every response; the caller has just presented it.
        token: token.reveal(),
    })
}

async fn replace(
    app: &App,
    context: &RequestContext,
    client: &Client,
    token: &RegistrationToken,
    request: &Value,
) -> Result<Registered, OAuthError> {
    let update = ClientMetadata::parse_update(request, &client.id, &decide::allowed(client.profile))?;
    let mut metadata = update.metadata;
    settle(app, client.profile, &mut metadata).await?;
    if update.client_secret.is_some_and(|shown| !client.has_secret(&shown)) {
        let detail = "client_secret is not this client's";
        return Err(OAuthError::new(ErrorCode::InvalidClientMetadata, detail));
    }
    // Only accepted replacements count and are logged.
    take(app, REGISTRATION_CHANGE, client.id.as_bytes()).await?;
    let (held, next) = (token.hash(), RegistrationToken::generate(&*app.entropy));
    let (metadata, next_hash) = (&metadata, next.hash());
    let replaced = app
        .store
        .run_tx("registration.replace", async |tx| {
            let Some(before) = store::lock_held(&tx, &client.id, held.as_bytes()).await? else {
                return Ok(None);
            };
            let (secret, kept) = secret_after(app, &before, metadata);
            let new = store::New {
                client_id: &client.id,
                trust: decide::SELF_REGISTERED,
                metadata,
                secret_hash: kept.as_deref(),
                registration_hash: Some(next_hash.as_bytes()),
                document: None,
            };
            let members = decide::weighty_changes(&before.metadata, metadata);
            let mode = before.organization_mode;
            let ends = !members.is_empty() || clients::narrows((before.trust, mode), (new.trust, mode));
            if !store::replace(&tx, held.as_bytes(), &new, ends).await? {
                return Ok(None);
            }
            let payload = json!({"client_id": client.id, "members": members});
            note(app, &tx, context, EventKind::ClientChanged, payload).await?;
            Ok(Some((secret, kept.is_some())))
        })
        .await;
    app.directory.forget(&client.id);
    let (secret, has_secret) = replaced?.ok_or_else(not_yours)?;
    Ok(Registered {
        has_secret,
        client_id: client.id.clone(),
        created_at: client.created_at,
        metadata: metadata.clone(),
        secret: secret.map(|secret| secret.reveal()),
        token: next.reveal(),
    })
}

/// The secret that is created for the new metadata, if any, and the hash of the secret that the client then has.
fn secret_after(
    app: &App,
    before: &Client,
    metadata: &ClientMetadata,
) -> (Option<ClientSecret>, Option<Vec<u8>>) {
    match (clients::needs_secret(metadata), &before.secret_hash) {
        (true, Some(hash)) => (None, Some(hash.clone())),
        (true, None) => {
            let secret = ClientSecret::generate(&*app.entropy);
            let hash = secret.hash().as_bytes().to_vec();
            (Some(secret), Some(hash))
        }
        (false, Some(_) | None) => (None, None),
    }
}

async fn remove(app: &App, context: &RequestContext, client_id: &str) -> Result<(), OAuthError> {
    let (client, token) = open(app, context, client_id).await?;
    let hash = token.hash();
    let ended = app
        .store
        .run_tx("registration.remove", async |tx| {
            let ended = store::end(&tx, &client.id, hash.as_bytes()).await?;
            if ended {
                let payload = json!({"client_id": client.id});
                note(app, &tx, context, EventKind::ClientRemoved, payload).await?;
            }
            Ok(ended)
        })
        .await;
    app.directory.forget(&client.id);
    if ended? { Ok(()) } else { Err(not_yours()) }
}

/// The registration of the request's token.
async fn open(
    app: &App,
    context: &RequestContext,
    client_id: &str,
) -> Result<(Client, RegistrationToken), OAuthError> {
    limit(app, context, &[REGISTRATION_TOKEN]).await?;
    let token = match &context.authorization {
        Some((scheme, token)) if scheme == "bearer" => RegistrationToken::parse(token).ok(),
        Some(_) | None => None,
    };
    // Looked up even without a valid token, so that the duration reveals nothing.
    let is_token = |stored: &[u8]| {
        token.as_ref().is_some_and(|token| token.hash().as_bytes().as_slice().ct_eq(stored).into())
    };
    let client = store::held(&app.store, client_id, is_token).await?;
    client.zip(token).ok_or_else(not_yours)
}

/// Rules for every client that registers without authentication.
pub(super) async fn settle(
    app: &App,
    profile: Profile,
    metadata: &mut ClientMetadata,
) -> Result<(), OAuthError> {
    let apis = app.directory.apis(&app.store).await?;
    let rules = Rules { settings: &app.checked.settings, apis: &apis };
    rules.check(profile, decide::SELF_REGISTERED, metadata)?;
    decide::fill_in(metadata);
    Ok(())
}

async fn limit(app: &App, context: &RequestContext, rules: &[Rule]) -> Result<(), OAuthError> {
    let whom = network(context.address);
    let bucket = |rule: &Rule| Bucket { rule: *rule, key: app.secrets.limit_key(rule.name, &whom) };
    let buckets: Vec<Bucket> = rules.iter().map(bucket).collect();
    match limits::take(&app.store, &buckets).await? {
        Some(limited) => Err(limited.into()),
        None => Ok(()),
    }
}

async fn take(app: &App, rule: Rule, whom: &[u8]) -> Result<(), OAuthError> {
    let bucket = Bucket { rule, key: app.secrets.limit_key(rule.name, whom) };
    match limits::take(&app.store, &[bucket]).await? {
        Some(limited) => Err(limited.into()),
        None => Ok(()),
    }
}

async fn note(
    app: &App,
    tx: &crate::store::Tx,
    context: &RequestContext,
    kind: EventKind,
    payload: Value,
) -> Result<(), crate::store::StoreError> {
    security_log::record(app, tx, context, security_log::Event { kind, subject: uuid::Uuid::nil(), payload })
        .await
}

fn not_yours() -> OAuthError {
    OAuthError::new(ErrorCode::InvalidToken, "the registration access token is not valid for this client")
}
