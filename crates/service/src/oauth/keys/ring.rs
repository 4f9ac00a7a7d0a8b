//! The rings in memory: loaded completely, replaced at once.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use porteiro_protocol::jose::{Algorithm, Jwks, PublicJwk};
use serde_json::Value;

use super::{
    read::{LoadError, Seen, see},
    signer::{SignError, Signer},
};
use crate::{
    http::Document,
    secrets::MasterKey,
    settings::Settings,
    store::{Store, StoreError},
};

/// Published documents that are signed with these keys, created at the first request. They depend on the rings and on
/// the settings, which do not change while the process runs; new rings start without documents.
#[derive(Debug, Default)]
pub struct Documents {
    pub keys: OnceLock<Document>,
    pub server: Versioned,
    pub resource: OnceLock<Document>,
}

/// A document that also depends on the APIs, with the version of the APIs that it was created from.
#[derive(Debug, Default)]
pub struct Versioned(RwLock<Option<(i64, Document)>>);

impl Versioned {
    /// The document for this version of the APIs; the last one, where the version is not known.
    pub fn get(&self, version: Option<i64>) -> Option<Document> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(of, _)| version.is_none_or(|version| version == *of)).map(|(_, it)| it.clone())
    }

    pub fn keep(&self, version: i64, document: Document) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some((version, document));
    }
}

/// The published and the signing keys, at one read of the database.
pub struct Rings {
    pub documents: Documents,
    pub published: Jwks,
    /// The same keys, in the form for verification.
    verifying: Vec<Value>,
    /// Keys that no longer verify: their signature only shows that a token is outdated, not forged.
    retired: Vec<Value>,
    active: BTreeMap<Algorithm, Arc<dyn Signer>>,
    /// The faults of the keys that were omitted.
    faults: Vec<String>,
    loaded_at: Instant,
    max_age: Duration,
}

impl std::fmt::Debug for Rings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.published.keys.iter().map(|key| &key.kid)).finish()
    }
}

/// The node's view of the keys.
#[derive(Debug)]
pub struct Keys {
    master: Arc<MasterKey>,
    rings: ArcSwap<Rings>,
    /// A node that could not read the keys for half of `key_verify_seconds` stops signing: elsewhere they may be
    /// unpublished before its tokens expire. No token may be valid longer than the other half.
    max_age: Duration,
}

impl Keys {
    pub async fn load(store: &Store, master: Arc<MasterKey>, settings: &Settings) -> Result<Self, LoadError> {
        let max_age = Duration::from_secs(u64::from(settings.key_verify_seconds) / 2);
        let loaded_at = Instant::now();
        let mut seen = see(store, &master).await?;
        if !seen.faults.is_empty() {
            return Err(seen.faults.swap_remove(0));
        }
        Ok(Self { master, rings: ArcSwap::from_pointee(Rings::new(seen, loaded_at, max_age)), max_age })
    }

    /// A fault in one key does not keep the others from being updated: if the old rings were kept, a key that leaked
    /// and was retired would continue to sign (decision record 0087).
    pub async fn reload(&self, store: &Store) -> Result<(), StoreError> {
        // Taken before the read, so that the age of the keys is never underestimated.
        let loaded_at = Instant::now();
        let rings = Rings::new(see(store, &self.master).await?, loaded_at, self.max_age);
        if rings.faults != self.current().faults {
            rings
                .faults
                .iter()
                .for_each(|fault| tracing::error!(fault, "a signing key cannot be used and is ignored"));
        }
        self.rings.store(Arc::new(rings));
        Ok(())
    }

    pub fn current(&self) -> Arc<Rings> {
        self.rings.load_full()
    }

    pub const fn master(&self) -> &Arc<MasterKey> {
        &self.master
    }
}

impl Rings {
    fn new(seen: Seen, loaded_at: Instant, max_age: Duration) -> Self {
        let published = Jwks { keys: seen.published };
        Self {
            documents: Documents::default(),
            verifying: values(&published.keys),
            retired: values(&seen.retired),
            published,
            active: seen.active,
            faults: seen.faults.iter().map(ToString::to_string).collect(),
            loaded_at,
            max_age,
        }
    }

    fn is_stale(&self) -> bool {
        self.loaded_at.elapsed() > self.max_age
    }

    /// The current signer of this algorithm.
    pub fn signer(&self, algorithm: Algorithm) -> Result<Arc<dyn Signer>, SignError> {
        if self.is_stale() {
            return Err(SignError::Stale);
        }
        self.active.get(&algorithm).cloned().ok_or(SignError::NoKey(algorithm))
    }

    /// The keys that verify our tokens; none if the keys are stale, since one may have been retired.
    pub fn verifying_keys(&self) -> &[Value] {
        if self.is_stale() { &[] } else { &self.verifying }
    }

    /// The keys that distinguish an outdated token from a forged one. The claims of such a token must not be used.
    pub fn retired_keys(&self) -> &[Value] {
        &self.retired
    }

    /// How many keys were omitted because of a fault.
    pub const fn faults(&self) -> usize {
        self.faults.len()
    }

    pub fn age(&self) -> Duration {
        self.loaded_at.elapsed()
    }
}

fn values(keys: &[PublicJwk]) -> Vec<Value> {
    keys.iter().filter_map(|key| serde_json::to_value(key).ok()).collect()
}
