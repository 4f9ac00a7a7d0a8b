//! What a connection's provider publishes: its metadata and its keys.
//!
//! Both are fetched together, through the guarded fetcher, and kept for ten minutes. A sign-in that names an unknown key
//! fetches them again, at most twice a minute; after a failure the next attempt waits a few seconds. So anonymous callers
//! cannot make us flood a provider, and one slow provider delays only its own sign-ins.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as Brief, PoisonError},
};

use porteiro_protocol::{
    id::ConnectionId,
    relying_party::{MetadataError, Provider},
    time::{Duration, OffsetDateTime},
};
use serde_json::Value;
use tokio::sync::Mutex;

use super::{Connection, Owner, decide::is_own_endpoint};
use crate::App;

const BELIEVED: Duration = Duration::minutes(10);
const BETWEEN_SEARCHES: Duration = Duration::seconds(30);
const AFTER_FAILURE: Duration = Duration::seconds(5);
pub(super) const LARGEST: usize = 64 * 1024;
const MOST_KEYS: usize = 50;
/// So many are kept, unless they are in use.
const MOST_SLOTS: usize = 2_000;

/// What is known of a provider.
#[derive(Debug)]
pub struct Known {
    pub provider: Provider,
    pub keys: Arc<Vec<Value>>,
}

/// Why a provider cannot be used now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    Metadata,
    Unfit(MetadataError),
    /// The named endpoint is not the directory's own.
    Elsewhere(&'static str),
    Keys,
    /// It was tried a moment ago.
    JustTried,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// What is kept, while it is fresh.
    Kept,
    /// A key is missing from it.
    Newer,
}

/// Kept metadata and keys, by connection.
#[derive(Debug, Default)]
pub struct Providers {
    slots: Brief<HashMap<ConnectionId, Arc<Mutex<Slot>>>>,
}

/// Locked during a fetch: one fetch per connection at a time.
#[derive(Debug, Default)]
struct Slot {
    version: i64,
    known: Option<(OffsetDateTime, Arc<Known>)>,
    tried: Option<OffsetDateTime>,
}

impl Providers {
    pub(super) async fn get(
        &self,
        app: &App,
        connection: &Connection,
        want: Want,
    ) -> Result<Arc<Known>, Unusable> {
        let slot = self.slot(connection.id);
        let mut slot = slot.lock().await;
        if slot.version != connection.version {
            *slot = Slot { version: connection.version, ..Slot::default() };
        }
        let now = app.clock.now();
        let pause = match want {
            Want::Kept => {
                if let Some((at, known)) = &slot.known
                    && now - *at < BELIEVED
                {
                    return Ok(Arc::clone(known));
                }
                AFTER_FAILURE
            }
            Want::Newer => BETWEEN_SEARCHES,
        };
        if slot.tried.is_some_and(|tried| now - tried < pause) {
            return Err(Unusable::JustTried);
        }
        slot.tried = Some(now);
        let known = Arc::new(read(app, connection).await?);
        slot.known = Some((now, Arc::clone(&known)));
        Ok(known)
    }

    fn slot(&self, id: ConnectionId) -> Arc<Mutex<Slot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MOST_SLOTS {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        Arc::clone(slots.entry(id).or_default())
    }
}

async fn read(app: &App, connection: &Connection) -> Result<Known, Unusable> {
    let document = metadata(app, connection).await?;
    let provider = fit(&document, connection)?;
    let keys = Arc::new(keys(app, connection, &provider).await?);
    Ok(Known { provider, keys })
}

/// Discovery §4: the address of the metadata.
pub(super) fn metadata_url(connection: &Connection) -> String {
    format!("{}/.well-known/openid-configuration", connection.issuer.trim_end_matches('/'))
}

pub(super) async fn metadata(app: &App, connection: &Connection) -> Result<Value, Unusable> {
    let fetched = app.fetcher.get_json(connection.destination(), &metadata_url(connection), LARGEST).await;
    fetched.map_err(|_| Unusable::Metadata)
}

pub(super) fn fit(document: &Value, connection: &Connection) -> Result<Provider, Unusable> {
    let mut provider =
        Provider::parse(document, &connection.issuer, connection.algorithm).map_err(Unusable::Unfit)?;
    let endpoints = [
        ("authorization_endpoint", &provider.authorization_endpoint),
        ("token_endpoint", &provider.token_endpoint),
        ("jwks_uri", &provider.jwks_uri),
    ];
    // The operator knows the endpoints of the deployment's connections.
    let is_own = |endpoint: &String| match connection.owner {
        Owner::Deployment => true,
        Owner::Organization(_, _) => is_own_endpoint(&connection.issuer, endpoint),
    };
    if let Some((name, _)) = endpoints.into_iter().find(|(_, endpoint)| !is_own(endpoint)) {
        return Err(Unusable::Elsewhere(name));
    }
    // Directories work without it: those of Microsoft and Google have it under another domain.
    provider.userinfo_endpoint = provider.userinfo_endpoint.filter(is_own);
    Ok(provider)
}

/// The keys of its set (RFC 7517 §5). Symmetric ones are dropped: a published key is not a shared secret.
pub(super) async fn keys(
    app: &App,
    connection: &Connection,
    provider: &Provider,
) -> Result<Vec<Value>, Unusable> {
    let set = app.fetcher.get_json(connection.destination(), &provider.jwks_uri, LARGEST).await;
    let set = set.map_err(|_| Unusable::Keys)?;
    let keys = set["keys"].as_array().filter(|keys| keys.len() <= MOST_KEYS).ok_or(Unusable::Keys)?;
    Ok(keys.iter().filter(|key| key.is_object() && key["kty"] != "oct").cloned().collect())
}
