//! The first administrator: one key, shown once, good for a short while, spent once.
//!
//! While no key was spent, an expired one may be replaced. A spent one is the end: nothing arms it again.

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

/// How long the key is good for.
pub const LIFETIME_SECONDS: u32 = 3_600;

#[derive(Debug)]
pub enum Armed {
    Key {
        key: Plain<BootstrapKey>,
        expires_at: OffsetDateTime,
    },
    /// A key is out there and still good.
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
