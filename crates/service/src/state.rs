//! The state that every handler receives. Nothing here belongs to a person: nodes are stateless.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock, atomic::AtomicBool},
};

use porteiro_protocol::{entropy::Entropy, time::Clock};

use crate::{
    Core,
    connections::Providers,
    credentials::{hashing::Hasher, passkey::RelyingParty},
    dns::Dns,
    fetch::Fetcher,
    http::Document,
    limits::{Empty, Stock},
    mail::Mailer,
    oauth::{
        access_token::Signatures, ciba::Polls, client_auth::ClientAuthorities, clients::FetchedKeys,
        details::Details, directory::Directory, grants::Presenter, keys::Keys,
    },
    registers::{REGISTERS, Registers},
    secrets::Secrets,
    settings::Checked,
    sms::SmsProvider,
    store::Store,
    web_push::PushKey,
};

/// The core, and what each feature keeps in memory. It dereferences to the core (`app.store`).
pub struct App {
    pub core: Arc<Core>,
    pub keys: Keys,
    pub directory: Directory,
    pub details: Details,
    pub presenter: Presenter,
    pub signatures: Signatures,
    pub client_keys: FetchedKeys,
    /// Of other servers whose assertions are redeemed here.
    pub issuer_keys: FetchedKeys,
    /// What the providers of connections publish.
    pub providers: Providers,
    /// `None`: no client can authenticate with the subject of a certificate.
    pub client_authorities: Option<ClientAuthorities>,
    /// Looks up the records of domains.
    pub dns: Dns,
    pub hasher: Hasher,
    pub passkeys: RelyingParty,
    pub push_key: PushKey,
    /// When clients last asked for the outcome of an approval.
    pub polls: Polls,
    /// The OpenAPI document: generated at the first request, and the same until the next release.
    pub described: OnceLock<Document>,
    pub registers: Registers,
}

impl Deref for App {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl AsRef<Arc<Core>> for App {
    fn as_ref(&self) -> &Arc<Core> {
        &self.core
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<porteiro at {}>", self.issuer())
    }
}

/// The parts of an application; the rest is derived from them.
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
    /// The setting that is wrong, in words.
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
        let push_key = PushKey::derive(parts.keys.master())?;
        let secrets = Secrets::derive(parts.keys.master()).map_err(|error| error.to_string())?;
        let presenter = Presenter::new(settings.group_statements);
        let dns = Dns::new(&settings.dns_resolvers).map_err(|error| format!("dns_resolvers: {error}"))?;
        Ok(Self {
            dns,
            hasher: Hasher::new(&*parts.entropy).map_err(|error| error.to_string())?,
            directory: Directory::default(),
            details: Details::default(),
            described: OnceLock::new(),
            registers: REGISTERS,
            presenter,
            signatures: Signatures::default(),
            polls: Polls::default(),
            client_keys: FetchedKeys::default(),
            issuer_keys: FetchedKeys::default(),
            providers: Providers::default(),
            client_authorities,
            passkeys,
            push_key,
            keys: parts.keys,
            core: Arc::new(Core {
                secrets,
                empty: Empty::default(),
                stock: Stock::default(),
                checked: parts.checked,
                store: parts.store,
                mailer: parts.mailer,
                sms: parts.sms,
                fetcher: parts.fetcher,
                clock: parts.clock,
                entropy: parts.entropy,
                draining: AtomicBool::new(false),
            }),
        })
    }
}
