//! Clients: applications, services and agents. Their registration, trust and credentials.

mod console;
mod keys;
mod last_use;
mod methods;
pub mod profile;
mod store;
mod subject;

use porteiro_protocol::{
    client_metadata::{Allowed, ClientMetadata, MetadataError},
    entropy::Entropy,
    error::ErrorCode,
    id::{Id, OrganizationId},
    scope::Scope,
    secret::{Kind, Plain},
};
use serde_json::Value;
use subtle::ConstantTimeEq;

pub use console::{create_at_console, disable_at_console, set_trust_at_console};
pub use keys::{
    FetchedKeys, Jwks, NoKeys, UNAVAILABLE, Unverified, client_keys, newer_client_keys, verify_signed,
};
pub use last_use::LastUse;
use methods::NAMES as METHOD_NAMES;
pub use methods::{AuthMethod, METHODS, is_served};
pub use store::{
    Client, NewClient, OrganizationMode, Profile, Trust, disable, disable_in, enable, enable_in, find,
    insert, set_trust,
};
pub use subject::subject;

use super::grant_types;
use crate::{
    App,
    store::{Store, StoreError},
};

/// A client's shared secret. Shown once.
#[derive(Debug)]
pub enum ClientSecretKind {}
impl Kind for ClientSecretKind {
    const PREFIX: &'static str = "pt_cs";
}
pub type ClientSecret = Plain<ClientSecretKind>;

impl Client {
    pub fn is_public(&self) -> bool {
        self.metadata.is_public()
    }

    /// Whether an administrator has checked the client. Any other client may have been registered by an anonymous
    /// caller.
    pub const fn is_verified(&self) -> bool {
        match self.trust {
            Trust::Unverified => false,
            Trust::Verified | Trust::FirstParty => true,
        }
    }

    /// Whether this is the client's secret: 256 random bits, compared as hashes.
    pub fn has_secret(&self, presented: &str) -> bool {
        let (Some(stored), Ok(secret)) = (&self.secret_hash, ClientSecret::parse(presented)) else {
            return false;
        };
        stored.as_slice().ct_eq(secret.hash().as_bytes().as_slice()).into()
    }

    /// The maximum scope: the registered one, for a verified or first-party client. The registration of an unverified
    /// client is only a default (decision record 0055).
    pub fn ceiling(&self) -> Option<&Scope> {
        match self.trust {
            Trust::Unverified => None,
            Trust::Verified | Trust::FirstParty => self.metadata.scope.as_ref(),
        }
    }

    /// Whether an organization may know that the client exists: private clients of other organizations are hidden.
    pub fn is_known_to(&self, organization: OrganizationId) -> bool {
        self.organization.is_none_or(|own| own == organization)
    }

    pub fn may_use_grant(&self, grant: &str) -> bool {
        self.metadata.has_grant(grant)
    }
}

/// Whether a change of trust and mode reduces what a client may do. Then its grants end: they must not become valid
/// again when the change is undone.
pub const fn narrows(before: (Trust, OrganizationMode), after: (Trust, OrganizationMode)) -> bool {
    let trust = match (before.0, after.0) {
        (Trust::FirstParty, Trust::Verified | Trust::Unverified) | (Trust::Verified, Trust::Unverified) => {
            true
        }
        (Trust::FirstParty, Trust::FirstParty)
        | (Trust::Verified, Trust::Verified | Trust::FirstParty)
        | (Trust::Unverified, Trust::Unverified | Trust::Verified | Trust::FirstParty) => false,
    };
    let mode = match (before.1, after.1) {
        (OrganizationMode::Optional, OrganizationMode::None | OrganizationMode::Required)
        | (OrganizationMode::Required, OrganizationMode::None)
        | (OrganizationMode::None, OrganizationMode::Required) => true,
        (OrganizationMode::Optional, OrganizationMode::Optional)
        | (OrganizationMode::None, OrganizationMode::None | OrganizationMode::Optional)
        | (OrganizationMode::Required, OrganizationMode::Required | OrganizationMode::Optional) => false,
    };
    trust || mode
}

/// Records that tokens were issued to this client. One statement per day and node, for any number of tokens; a
/// failure does not affect the tokens.
pub async fn used(app: &App, client: &Client) {
    if !client.last_use.is_due(app.clock.now()) {
        return;
    }
    if let Err(error) = store::remember_use(&app.store, &client.id).await {
        tracing::warn!(%error, "the last use of a client could not be recorded");
        client.last_use.forget();
    }
}

/// What the registers support: a client cannot register anything else.
pub const ALLOWED: Allowed<'static> = Allowed {
    auth_methods: METHOD_NAMES,
    grant_types: grant_types::NAMES,
    default_grant_types: &["authorization_code"],
    response_types: grant_types::RESPONSE_TYPES,
    signing_algs: &["ES256", "EdDSA", "RS256", "PS256"],
};

#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error("{}", .0.detail)]
    Metadata(MetadataError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A new client; the only copy of its secret is here.
#[derive(Debug)]
pub struct Created {
    pub client_id: String,
    pub secret: Option<ClientSecret>,
}

/// Creates a client from its metadata (RFC 7591 §2), with the given trust.
pub async fn create(
    store: &Store,
    entropy: &dyn Entropy,
    metadata: &Value,
    trust: Trust,
) -> Result<Created, CreateError> {
    create_under(store, entropy, metadata, trust, Profile::Default).await
}

/// The same with a profile.
pub async fn create_under(
    store: &Store,
    entropy: &dyn Entropy,
    metadata: &Value,
    trust: Trust,
    profile: Profile,
) -> Result<Created, CreateError> {
    let made = new(entropy, metadata, profile)?;
    insert(store, &made.row(trust, profile)).await?;
    Ok(made.shown())
}

/// A client that is ready to be stored.
struct Ready {
    id: String,
    metadata: ClientMetadata,
    secret: Option<ClientSecret>,
    secret_hash: Option<[u8; 32]>,
}

impl Ready {
    fn row(&self, trust: Trust, profile: Profile) -> NewClient<'_> {
        let secret_hash = self.secret_hash.as_ref().map(<[u8; 32]>::as_slice);
        NewClient { id: &self.id, trust, profile, metadata: &self.metadata, secret_hash }
    }

    fn shown(self) -> Created {
        Created { client_id: self.id, secret: self.secret }
    }
}

fn new(entropy: &dyn Entropy, metadata: &Value, profile: Profile) -> Result<Ready, CreateError> {
    let metadata = ClientMetadata::parse(metadata, &ALLOWED).map_err(CreateError::Metadata)?;
    check(profile, &metadata).map_err(CreateError::Metadata)?;
    let id = Id::<Client>::random(entropy).to_string();
    let secret = needs_secret(&metadata).then(|| ClientSecret::generate(entropy));
    let secret_hash = secret.as_ref().map(|secret| *secret.hash().as_bytes());
    Ok(Ready { id, metadata, secret, secret_hash })
}

/// Rules for every registration.
pub(crate) fn check(profile: Profile, metadata: &ClientMetadata) -> Result<(), MetadataError> {
    subject::check(metadata)?;
    profile::check(profile, metadata)
        .map_err(|detail| MetadataError { code: ErrorCode::InvalidClientMetadata, detail })
}

/// Whether the method uses a secret that we generate.
pub(crate) fn needs_secret(metadata: &ClientMetadata) -> bool {
    matches!(metadata.token_endpoint_auth_method.as_str(), "client_secret_basic" | "client_secret_post")
}
