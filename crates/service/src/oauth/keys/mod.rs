//! Signing keys: a ring per algorithm (RFC 7517, RFC 7518, RFC 8037).
//!
//! 1. *next*: published, does not sign yet. It is published long enough that every cache has it.
//! 2. *active*: signs. One per algorithm.
//! 3. *retiring*: no longer signs, stays published until the last token it signed has expired.
//! 4. *retired*: unpublished; the private key is erased.
//!
//! Every step is a statement that names the state it starts from, so two concurrent rotations make one, and an
//! interrupted one makes none or all of it. Each node keeps the rings in memory and checks for changes every few
//! seconds; a node that cannot check stops signing before its keys could be unpublished elsewhere.

mod decide;
mod endpoint;
mod read;
mod ring;
mod signer;
mod store;

use std::sync::Arc;

use porteiro_protocol::jose::{Algorithm, SigningKey, generate_pkcs8};

pub use decide::{Rotation, RotationRefused, unfit_for_production};
pub use read::LoadError;
pub use ring::{Keys, Rings};
pub use signer::{LocalSigner, SignError, Signer};
pub use store::{KeyRecord, KeyState, Origin, erase_dev_keys, list};

use crate::{
    App,
    http::Route,
    jobs::{JobError, JobKind},
    secrets::MasterKey,
    settings::Settings,
    store::{Store, StoreError},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{algorithm}: {reason}")]
    Key { algorithm: Algorithm, reason: String },
    #[error(transparent)]
    Refused(#[from] RotationRefused),
    #[error("{0}; nothing was changed: use the master key of the running nodes")]
    OtherMaster(LoadError),
    #[error("{0}; nothing was changed: replace this next key first with: porteiro keys generate")]
    UnusableNext(LoadError),
}

/// Generates a key to be stored. Slow for RSA: not on an async thread.
fn fresh(algorithm: Algorithm, origin: Origin, master: &MasterKey) -> Result<store::NewKey, KeysError> {
    let failed = |reason: String| KeysError::Key { algorithm, reason };
    let pkcs8 = generate_pkcs8(algorithm).map_err(|error| failed(error.to_string()))?;
    let public = SigningKey::from_pkcs8(algorithm, &pkcs8)
        .map_err(|error| failed(error.to_string()))?
        .public()
        .clone();
    let sealed =
        master.seal(&store::sealing_context(&public), &pkcs8).map_err(|error| failed(error.to_string()))?;
    Ok(store::NewKey { public, origin, sealed })
}

async fn fresh_off_thread(
    algorithm: Algorithm,
    origin: Origin,
    master: &Arc<MasterKey>,
) -> Result<store::NewKey, KeysError> {
    let master = Arc::clone(master);
    tokio::task::spawn_blocking(move || fresh(algorithm, origin, &master))
        .await
        .map_err(|error| KeysError::Key { algorithm, reason: error.to_string() })?
}

/// Creates missing keys: for every algorithm an active key and a next one that can be decrypted. Returns their
/// number.
pub async fn generate(store: &Store, master: &Arc<MasterKey>, origin: Origin) -> Result<u32, KeysError> {
    let mut made = 0;
    let existing = store::list(store).await?;
    read::recognise(&existing, master).map_err(KeysError::OtherMaster)?;
    let (bad, good): (Vec<_>, Vec<_>) =
        existing.into_iter().partition(|key| key.state == KeyState::Next && read::open(key, master).is_err());
    for key in bad {
        store::discard_next(store, &key.public.kid).await?;
    }
    for &algorithm in Algorithm::ALL {
        for state in [KeyState::Active, KeyState::Next] {
            if good.iter().any(|key| key.algorithm == algorithm && key.state == state) {
                continue;
            }
            let key = fresh_off_thread(algorithm, origin, master).await?;
            made += u32::from(store::insert(store, &key, state).await?);
        }
    }
    Ok(made)
}

/// Rotates one ring: the next key signs, the active one is retiring, and a new next one is created.
pub async fn rotate(
    store: &Store,
    master: &Arc<MasterKey>,
    settings: &Settings,
    algorithm: Algorithm,
    how: Rotation,
) -> Result<(), KeysError> {
    let mut ring = store::list(store).await?;
    read::recognise(&ring, master).map_err(KeysError::OtherMaster)?;
    ring.retain(|key| key.algorithm == algorithm);
    let step = decide::rotation(&ring, settings, how)?;
    if let Some(next) = ring.iter().find(|key| key.public.kid == step.next) {
        read::open(next, master).map_err(KeysError::UnusableNext)?;
    }
    let new = fresh_off_thread(algorithm, step.origin, master).await?;
    if store::rotate(store, &step, &new).await? {
        tracing::info!(%algorithm, active = step.next, retiring = step.active, "signing key rotated");
        Ok(())
    } else {
        Err(RotationRefused::Overtaken.into())
    }
}

/// Unpublishes a replaced key and erases its private part.
pub async fn retire(store: &Store, settings: &Settings, kid: &str, how: Rotation) -> Result<(), KeysError> {
    let seconds = match how {
        Rotation::WhenDue => settings.key_verify_seconds,
        Rotation::Now => 0,
    };
    if store::retire(store, kid, seconds).await? { Ok(()) } else { Err(RotationRefused::NotRetirable.into()) }
}

/// Often enough that no step of a key's lifetime is late by more than a tenth.
pub const ROTATION: JobKind<App> =
    JobKind::new("keys.advance", |app, _| Box::pin(advance(app))).every(|settings| {
        let shortest = settings.key_rotation_seconds.min(settings.key_publish_lead_seconds);
        (shortest / 10).clamp(1, 3_600)
    });

/// The recurring job: rotates and retires keys that are due.
async fn advance(app: Arc<App>) -> Result<(), JobError> {
    let settings = &app.checked.settings;
    for key in store::list(&app.store).await? {
        if decide::is_due_for_rotation(&key, settings) {
            match rotate(&app.store, app.keys.master(), settings, key.algorithm, Rotation::WhenDue).await {
                // Not published long enough, or another node was faster: the next run tries again.
                Ok(()) | Err(KeysError::Refused(_)) => {}
                Err(KeysError::Store(error)) => return Err(error.into()),
                // The active key continues to sign, and the other rings are not affected.
                Err(error @ (KeysError::OtherMaster(_) | KeysError::UnusableNext(_))) => {
                    tracing::error!(%error, "a signing key could not be rotated");
                }
                Err(error @ KeysError::Key { .. }) => return Err(JobError::Failed(error.to_string())),
            }
        }
        if decide::is_due_for_retirement(&key, settings) {
            store::retire(&app.store, &key.public.kid, settings.key_verify_seconds).await?;
        }
    }
    Ok(app.keys.reload(&app.store).await?)
}
