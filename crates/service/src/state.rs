//! What every request can reach. Nothing here is per person: nodes are stateless.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use porteiro_protocol::{entropy::Entropy, time::Clock};

use crate::{
    credentials::{hashing::Hasher, passkey::RelyingParty},
    fetch::Fetcher,
    http::Document,
    limits::Empty,
    mail::Mailer,
    oauth::{
        access_token::Signatures, client_auth::ClientAuthorities, clients::FetchedKeys, details::Details,
        directory::Directory, grants::Presenter, keys::Keys,
    },
    secrets::Secrets,
    settings::Checked,
    sms::SmsProvider,
    store::Store,
};

pub struct App {
    pub checked: Checked,
    pub store: Store,
    pub keys: Keys,
    pub directory: Directory,
    pub details: Details,
    pub presenter: Presenter,
    pub signatures: Signatures,
    pub client_keys: FetchedKeys,
    /// `None`: no certificate proves a client by its subject.
    pub client_authorities: Option<ClientAuthorities>,
    pub secrets: Secrets,
    pub empty: Empty,
    pub hasher: Hasher,
    pub passkeys: RelyingParty,
    pub mailer: Mailer,
    pub sms: SmsProvider,
    pub fetcher: Fetcher,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// What the management API says of itself: written when it is first asked for, the same until the next release.
    pub described: OnceLock<Document>,
    /// Set when the node is asked to stop: not ready any more, still answering.
    pub draining: AtomicBool,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<porteiro at {}>", self.checked.issuer)
    }
}

/// What an application is made of, besides what follows from it.
pub struct Parts {
    pub checked: Checked,
    pub store: Store,
    pub keys: Keys,
    pub mailer: Mailer,
    pub sms: SmsProvider,
    pub fetcher: Fetcher,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<parts>")
    }
}

impl App {
    /// # Errors
    /// In words, which setting is wrong.
    pub fn new(parts: Parts) -> Result<Self, String> {
        let settings = &parts.checked.settings;
        let passkeys = RelyingParty::new(
            &parts.checked.issuer,
            settings.passkey_domain.as_deref(),
            &settings.passkey_origins,
        )
        .map_err(|error| format!("passkey_domain: {error}"))?;
        let client_authorities = settings
            .mtls_ca_file
            .as_deref()
            .map(ClientAuthorities::from_file)
            .transpose()
            .map_err(|error| format!("mtls_ca_file: {error}"))?;
        Ok(Self {
            secrets: Secrets::derive(parts.keys.master()).map_err(|error| error.to_string())?,
            hasher: Hasher::new(&*parts.entropy).map_err(|error| error.to_string())?,
            directory: Directory::default(),
            details: Details::default(),
            described: OnceLock::new(),
            empty: Empty::default(),
            presenter: Presenter::new(settings.group_statements),
            signatures: Signatures::default(),
            client_keys: FetchedKeys::default(),
            client_authorities,
            passkeys,
            checked: parts.checked,
            store: parts.store,
            keys: parts.keys,
            mailer: parts.mailer,
            sms: parts.sms,
            fetcher: parts.fetcher,
            clock: parts.clock,
            entropy: parts.entropy,
            draining: AtomicBool::new(false),
        })
    }

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
