//! A cache of clients and APIs, so that frequent reads cost the database nothing.
//!
//! 1. The cache is used only if the database reported changes within the last second ([`LATEST`]). If the database
//!    does not answer, the cache does not either.
//! 2. The first request later than [`SOON`] after the last check reads the changes: one statement per node and
//!    quarter of a second under any load, and none without load.
//! 3. A check returns rows and their change times; cached rows with another time are removed and read again when
//!    needed.
//!
//! So every node notices a change within a second. Missing clients are not cached.

mod store;

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use porteiro_protocol::time::OffsetDateTime;
use tokio::sync::Mutex;

use self::store::Dated;
use super::{
    apis::{self, Apis},
    clients::{self, Client},
};
use crate::store::{Store, StoreError};

const SOON: Duration = Duration::from_millis(250);
const LATEST: Duration = Duration::from_secs(1);
/// An entry has about two kilobytes.
const MOST_CLIENTS: usize = 10_000;

#[derive(Debug, Default)]
pub struct Directory {
    known: RwLock<Known>,
    /// Held during a check: one at a time.
    looking: Mutex<Looking>,
}

#[derive(Debug, Default)]
struct Known {
    /// When the last successful check began.
    looked: Option<Instant>,
    clients: HashMap<String, Arc<Client>>,
    apis: Option<KnownApis>,
}

#[derive(Debug)]
struct KnownApis {
    dates: Vec<Dated>,
    apis: Arc<Apis>,
}

#[derive(Debug, Default)]
struct Looking {
    /// The database's time at the last successful check.
    since: Option<OffsetDateTime>,
    /// When the last check failed.
    failed: Option<Instant>,
}

impl Directory {
    /// An enabled client; see [`clients::find`].
    pub async fn client(&self, store: &Store, id: &str) -> Result<Option<Arc<Client>>, StoreError> {
        self.refresh(store).await?;
        if let Some(client) = self.read(|known| known.clients.get(id).cloned()) {
            return Ok(Some(client));
        }
        let found = clients::find(store, id).await?.map(Arc::new);
        if let Some(client) = &found {
            self.change(|known| known.remember(Arc::clone(client)));
        }
        Ok(found)
    }

    /// Every API, in the order of their identifiers.
    pub async fn apis(&self, store: &Store) -> Result<Arc<Apis>, StoreError> {
        self.refresh(store).await?;
        if let Some(apis) = self.read(|known| known.apis.as_ref().map(|known| Arc::clone(&known.apis))) {
            return Ok(apis);
        }
        let listed = apis::list_dated(store).await?;
        let dates = listed.iter().map(|(api, changed_at)| (api.identifier.clone(), *changed_at)).collect();
        let apis = Arc::new(Apis::new(listed));
        self.change(|known| known.apis = Some(KnownApis { dates, apis: Arc::clone(&apis) }));
        Ok(apis)
    }

    /// For the node that changes a client: it need not wait for the next check.
    pub fn forget(&self, id: &str) {
        self.change(|known| drop(known.clients.remove(id)));
    }

    async fn refresh(&self, store: &Store) -> Result<(), StoreError> {
        let arrived = Instant::now();
        let age = |known: &Known| known.looked.map(|looked| arrived.saturating_duration_since(looked));
        let mut looking = match self.read(age) {
            Some(age) if age <= SOON => return Ok(()),
            Some(age) if age <= LATEST => match self.looking.try_lock() {
                Ok(looking) => looking,
                // Another task is checking; the cache is recent enough to use.
                Err(_) => return Ok(()),
            },
            Some(_) | None => self.looking.lock().await,
        };
        // Another task checked while this one waited, or tried to: repeating it would only add load.
        if self.read(|known| known.looked).is_some_and(|looked| looked + SOON >= arrived) {
            return Ok(());
        }
        if looking.failed.is_some_and(|failed| failed >= arrived) {
            return Err(StoreError::Unavailable("changed clients and APIs could not be read".into()));
        }
        let begun = Instant::now();
        let look = match store::look(store, looking.since).await {
            Ok(look) => look,
            Err(error) => {
                looking.failed = Some(Instant::now());
                return Err(error);
            }
        };
        self.change(|known| known.apply(begun, &look));
        looking.since = Some(look.at);
        Ok(())
    }

    fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        change(&mut self.known.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Known {
    fn remember(&mut self, client: Arc<Client>) {
        if self.clients.len() >= MOST_CLIENTS
            && let Some(any) = self.clients.keys().next().cloned()
        {
            self.clients.remove(&any);
        }
        self.clients.insert(client.id.clone(), client);
    }

    fn apply(&mut self, begun: Instant, look: &store::Look) {
        for (id, changed_at) in &look.clients {
            if self.clients.get(id).is_some_and(|known| known.changed_at != *changed_at) {
                self.clients.remove(id);
            }
        }
        if self.apis.as_ref().is_some_and(|known| known.dates != look.apis) {
            self.apis = None;
        }
        self.looked = Some(begun);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::clients::Profile, super::clients::Trust, *};

    fn client(id: &str) -> Arc<Client> {
        Arc::new(Client {
            id: id.to_owned(),
            trust: Trust::Unverified,
            profile: Profile::Default,
            metadata: porteiro_protocol::client_metadata::ClientMetadata::default(),
            secret_hash: None,
            created_at: OffsetDateTime::UNIX_EPOCH,
            changed_at: OffsetDateTime::UNIX_EPOCH,
            grants_from: OffsetDateTime::UNIX_EPOCH,
            last_use: super::clients::LastUse::default(),
            organization_mode: super::super::clients::OrganizationMode::Optional,
            organization: None,
        })
    }

    #[test]
    fn memory_is_bounded() {
        let mut known = Known::default();
        for number in 0..MOST_CLIENTS + 10 {
            known.remember(client(&number.to_string()));
        }
        assert_eq!(known.clients.len(), MOST_CLIENTS);
        assert!(known.clients.contains_key(&(MOST_CLIENTS + 9).to_string()), "the newest is there");
    }

    #[test]
    fn a_look_forgets_what_has_another_date_and_nothing_else() {
        let mut known = Known::default();
        let later = OffsetDateTime::UNIX_EPOCH + porteiro_protocol::time::Duration::SECOND;
        known.remember(client("changed"));
        known.remember(client("same"));
        known.remember(client("unmentioned"));
        let clients = vec![
            ("changed".to_owned(), later),
            ("same".to_owned(), OffsetDateTime::UNIX_EPOCH),
            ("unknown".to_owned(), later),
        ];
        known.apply(Instant::now(), &store::Look { at: later, clients, apis: Vec::new() });
        let mut left: Vec<&str> = known.clients.keys().map(String::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["same", "unmentioned"]);
    }
}
