//! Changes of clients by administrators, through the management API and on the command line (docs/decisions/0090). The
//! caller locks the row ([`lock`]) and writes the log entry.

use porteiro_protocol::{
    client_metadata::{ClientMetadata, MetadataError},
    error::ErrorCode,
};
use serde_json::{Map, Value};

pub use super::store::lock;
use super::{
    super::clients::{self, ALLOWED, Client, ClientSecret, OrganizationMode, Trust},
    narrowing,
    rules::Rules,
    store,
};
use crate::store::{StoreError, Tx};

/// What an administrator changes.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    pub trust: Trust,
    pub organization_mode: OrganizationMode,
    /// A merge patch of its metadata (RFC 7396).
    pub metadata: &'a Map<String, Value>,
}

/// A change that follows the rules, ready to be stored.
#[derive(Debug)]
pub struct Decided {
    trust: Trust,
    organization_mode: OrganizationMode,
    metadata: ClientMetadata,
    /// Everything issued to the client earlier becomes invalid.
    ends: bool,
    /// The members of the metadata that change.
    pub members: Vec<&'static str>,
}

impl Decided {
    /// Whether the client needs a secret that it does not have.
    pub fn lacks_secret(&self, before: &Client) -> bool {
        clients::needs_secret(&self.metadata) && before.secret_hash.is_none()
    }
}

/// # Errors
/// The rule that the metadata would break.
pub fn decide(before: &Client, change: Change<'_>, rules: Rules<'_>) -> Result<Decided, MetadataError> {
    let Change { trust, organization_mode, metadata: patch } = change;
    if before.organization.is_some() && organization_mode == OrganizationMode::None {
        let detail = "organization_mode must not be none for a client that belongs to an organization";
        return Err(MetadataError { code: ErrorCode::InvalidClientMetadata, detail: detail.into() });
    }
    // A change without metadata is not checked: trust can always be lowered.
    let metadata = if patch.is_empty() {
        before.metadata.clone()
    } else {
        let metadata = before.metadata.patched(patch, &ALLOWED)?;
        rules.check(before.profile, trust, &metadata)?;
        metadata
    };
    let ends = clients::narrows((before.trust, before.organization_mode), (trust, organization_mode))
        || narrowing::ends_grants(&before.metadata, &metadata);
    let members = before.metadata.differences(&metadata);
    Ok(Decided { trust, organization_mode, metadata, ends, members })
}

/// Stores the change. The secret is kept if the method of authentication uses one, and deleted otherwise.
pub async fn apply(tx: &Tx, before: &Client, decided: &Decided) -> Result<(), StoreError> {
    let row = store::Administered {
        trust: decided.trust,
        organization_mode: decided.organization_mode,
        metadata: &decided.metadata,
        keeps_secret: clients::needs_secret(&decided.metadata),
        ends: decided.ends,
    };
    store::administer(tx, before, &row).await
}

/// Replaces the secret of the client; `false` if it does not authenticate with one. Grants stay valid: without the new secret
/// they cannot be used.
pub async fn replace_secret(tx: &Tx, before: &Client, secret: &ClientSecret) -> Result<bool, StoreError> {
    if !clients::needs_secret(&before.metadata) {
        return Ok(false);
    }
    store::set_secret(tx, before, secret.hash().as_bytes()).await?;
    Ok(true)
}
