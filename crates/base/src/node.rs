//! The parts of a running node that this crate needs. Nothing here belongs to a person: nodes are stateless.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use porteiro_protocol::{entropy::Entropy, time::Clock};

use crate::{
    fetch::Fetcher,
    limits::{Empty, Stock},
    mail::Mailer,
    secrets::Secrets,
    settings::Checked,
    sms::SmsProvider,
    store::Store,
};

/// The application contains one and adds what its features need.
pub struct Core {
    pub checked: Checked,
    pub store: Store,
    pub secrets: Secrets,
    pub empty: Empty,
    pub stock: Stock,
    pub mailer: Mailer,
    pub sms: SmsProvider,
    pub fetcher: Fetcher,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// Set when the node is told to stop: no longer ready, but still answering.
    pub draining: AtomicBool,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<porteiro at {}>", self.checked.issuer)
    }
}

impl Core {
    /// Byte for byte the same wherever it appears (RFC 8414 §3.3, RFC 9207 §2.4).
    pub fn issuer(&self) -> &str {
        &self.checked.issuer
    }

    pub fn start_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}
