//! The rings in memory: loaded whole, swapped at once.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use porteiro_protocol::jose::{Algorithm, Jwks, SigningKey};

use super::{
    master_key::MasterKey,
    signer::{LocalSigner, SignError, Signer},
    store::{self, KeyRecord, KeyState},
};
use crate::{
    http::Document,
    settings::Settings,
    store::{Store, StoreError},
};

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("signing key {kid} cannot be used: {reason}")]
    Unusable { kid: String, reason: String },
}

/// What is said in public with these keys, written when it is first asked for. It is made of the rings and the settings,
/// which stay as they are while the process runs: other rings begin without.
#[derive(Debug, Default)]
pub struct Documents {
    pub keys: OnceLock<Document>,
    pub server: OnceLock<Document>,
    pub resource: OnceLock<Document>,
}

/// What is published and what signs, as of one look at the database.
pub struct Rings {
    pub documents: Documents,
    pub published: Jwks,
    /// The same keys, as verifying wants them.
    verifying: Vec<serde_json::Value>,
    active: BTreeMap<Algorithm, Arc<dyn Signer>>,
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
    /// A node that could not look at the keys for half of `key_verify_seconds` stops signing: elsewhere they may be
    /// unpublished before its tokens are dead. No token may live longer than the other half.
    max_age: Duration,
}

impl Keys {
    pub async fn load(store: &Store, master: Arc<MasterKey>, settings: &Settings) -> Result<Self, LoadError> {
        let max_age = Duration::from_secs(u64::from(settings.key_verify_seconds) / 2);
        let rings = read(store, &master, max_age).await?;
        Ok(Self { master, rings: ArcSwap::from_pointee(rings), max_age })
    }

    pub async fn reload(&self, store: &Store) -> Result<(), LoadError> {
        self.rings.store(Arc::new(read(store, &self.master, self.max_age).await?));
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
    /// Who signs with this algorithm now.
    pub fn signer(&self, algorithm: Algorithm) -> Result<Arc<dyn Signer>, SignError> {
        if self.loaded_at.elapsed() > self.max_age {
            return Err(SignError::Stale);
        }
        self.active.get(&algorithm).cloned().ok_or(SignError::NoKey(algorithm))
    }

    /// What tokens of ours verify with.
    pub fn verifying_keys(&self) -> &[serde_json::Value] {
        &self.verifying
    }

    pub fn age(&self) -> Duration {
        self.loaded_at.elapsed()
    }
}

async fn read(store: &Store, master: &MasterKey, max_age: Duration) -> Result<Rings, LoadError> {
    // Before the read: the view is at least as old as this.
    let loaded_at = Instant::now();
    let keys = store::list(store).await?;
    let mut active: BTreeMap<Algorithm, Arc<dyn Signer>> = BTreeMap::new();
    for key in &keys {
        match key.state {
            KeyState::Active => {
                active.insert(key.algorithm, Arc::new(LocalSigner::new(open(key, master)?)));
            }
            // Opened to see that it can be: better to hear of it now than when it must sign.
            KeyState::Next => drop(open(key, master)?),
            KeyState::Retiring | KeyState::Retired => {}
        }
    }
    let published =
        keys.into_iter().filter(|key| key.state != KeyState::Retired).map(|key| key.public).collect();
    let published = Jwks { keys: published };
    let verifying = published.keys.iter().filter_map(|key| serde_json::to_value(key).ok()).collect();
    Ok(Rings { documents: Documents::default(), published, verifying, active, loaded_at, max_age })
}

fn open(key: &KeyRecord, master: &MasterKey) -> Result<SigningKey, LoadError> {
    let unusable = |reason: String| LoadError::Unusable { kid: key.public.kid.clone(), reason };
    let sealed = key.sealed.as_deref().ok_or_else(|| unusable("its private part is missing".into()))?;
    let pkcs8 = master
        .open(&store::sealing_context(&key.public), sealed)
        .map_err(|error| unusable(error.to_string()))?;
    let opened =
        SigningKey::from_pkcs8(key.algorithm, &pkcs8).map_err(|error| unusable(error.to_string()))?;
    if opened.public() != &key.public {
        return Err(unusable("its public and private parts differ".into()));
    }
    Ok(opened)
}
