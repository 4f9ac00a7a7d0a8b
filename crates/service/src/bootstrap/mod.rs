//! The first administrator: one key, shown once, valid for an hour, used once.
//!
//! Until a key is used, an expired one may be replaced. Once a key was used, no other is ever issued.

mod store;

use porteiro_protocol::{
    entropy::Entropy,
    secret::{Kind, Plain},
    time::OffsetDateTime,
};

pub use store::{is_good, spend};

use crate::store::{Store, StoreError};

#[derive(Debug)]
pub enum BootstrapKey {}
impl Kind for BootstrapKey {
    const PREFIX: &'static str = "porteiro_bootstrap";
}

/// How long the key is valid.
pub const LIFETIME_SECONDS: u32 = 3_600;

#[derive(Debug)]
pub enum Armed {
    Key {
        key: Plain<BootstrapKey>,
        expires_at: OffsetDateTime,
    },
    /// A key was issued and is still valid.
    StillGood {
        expires_at: OffsetDateTime,
    },
    /// The first administrator exists.
    Spent,
}

pub async fn arm(store: &Store, entropy: &dyn Entropy) -> Result<Armed, StoreError> {
    let key = Plain::generate(entropy);
    if let Some(expires_at) = store::arm(store, &key.hash(), LIFETIME_SECONDS).await? {
        return Ok(Armed::Key { key, expires_at });
    }
    Ok(match store::expiry_of_unspent(store).await? {
        Some(expires_at) => Armed::StillGood { expires_at },
        None => Armed::Spent,
    })
}
