//! From rows to signing and verifying keys. A fault in one row concerns only that row.

use std::{collections::BTreeMap, sync::Arc};

use porteiro_protocol::jose::{Algorithm, PublicJwk, SigningKey};

use super::{
    signer::{LocalSigner, Signer},
    store::{self, KeyRecord, KeyState},
};
use crate::{
    secrets::MasterKey,
    store::{Store, StoreError},
};

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("signing key {kid} cannot be used: {reason}")]
    Unusable { kid: String, reason: String },
}

/// The keys at one read of the database.
#[derive(Default)]
pub(super) struct Seen {
    pub published: Vec<PublicJwk>,
    pub retired: Vec<PublicJwk>,
    pub active: BTreeMap<Algorithm, Arc<dyn Signer>>,
    /// A key that cannot be decrypted does not sign; a row that cannot be read is omitted.
    pub faults: Vec<LoadError>,
}

pub(super) async fn see(store: &Store, master: &MasterKey) -> Result<Seen, StoreError> {
    let mut seen = Seen::default();
    for row in store::rows(store).await? {
        match row {
            Ok(key) => seen.add(key, master),
            Err(error) => seen.faults.push(LoadError::Store(error.into())),
        }
    }
    Ok(seen)
}

impl Seen {
    fn add(&mut self, key: KeyRecord, master: &MasterKey) {
        match key.state {
            KeyState::Active => match open(&key, master) {
                Ok(opened) => {
                    self.active.insert(key.algorithm, Arc::new(LocalSigner::new(opened)));
                }
                Err(fault) => self.faults.push(fault),
            },
            // Decrypted as a check: a fault must be found before the key has to sign.
            KeyState::Next => self.faults.extend(open(&key, master).err()),
            KeyState::Retiring => {}
            KeyState::Retired => return self.retired.push(key.public),
        }
        self.published.push(key.public);
    }
}

pub(super) fn open(key: &KeyRecord, master: &MasterKey) -> Result<SigningKey, LoadError> {
    let unusable = |reason: String| LoadError::Unusable { kid: key.public.kid.clone(), reason };
    let sealed = key.sealed.as_deref().ok_or_else(|| unusable("its private key is missing".into()))?;
    let pkcs8 = master
        .open(&store::sealing_context(&key.public), sealed)
        .map_err(|error| unusable(error.to_string()))?;
    let opened =
        SigningKey::from_pkcs8(key.algorithm, &pkcs8).map_err(|error| unusable(error.to_string()))?;
    if opened.public() != &key.public {
        return Err(unusable("its public and private keys do not match".into()));
    }
    Ok(opened)
}

/// Whether the signing keys are encrypted under this master key: no node could decrypt a key that was created under
/// another one. One active key that can be decrypted suffices, so that a damaged one can still be rotated.
pub(super) fn recognise(keys: &[KeyRecord], master: &MasterKey) -> Result<(), LoadError> {
    let mut fault = None;
    for key in keys.iter().filter(|key| key.state == KeyState::Active) {
        match open(key, master) {
            Ok(_) => return Ok(()),
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    fault.map_or(Ok(()), Err)
}
