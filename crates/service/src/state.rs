//! What every request can reach. Nothing here is per person: nodes are stateless.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use porteiro_protocol::{entropy::Entropy, time::Clock};

use crate::{mail::Mailer, oauth::keys::Keys, settings::Checked, store::Store};

pub struct App {
    pub checked: Checked,
    pub store: Store,
    pub keys: Keys,
    pub mailer: Mailer,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// Set when the node is asked to stop: not ready any more, still answering.
    pub draining: AtomicBool,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<porteiro at {}>", self.checked.issuer)
    }
}

impl App {
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
