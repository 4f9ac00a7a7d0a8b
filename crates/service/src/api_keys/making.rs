//! Creates a key: its row, and the secret that is shown once. The command line creates keys here; people and callers in
//! `management/api_keys`.

use porteiro_protocol::{
    api_key::ApiKey,
    assurance::Level,
    entropy::Entropy,
    id::{MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use uuid::Uuid;

use super::{Key, NewKey, Wanted, Whose, logged, store};
use crate::{
    security_log::{self, EventKind},
    store::{Store, StoreError, Tx},
};

/// The organization and membership of a key.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub organization: Option<OrganizationId>,
    pub membership: Option<MembershipId>,
}

/// A new key; its secret is not stored anywhere.
#[derive(Debug)]
pub struct Made {
    pub key: Key,
    pub secret: ApiKey,
}

pub async fn write(
    tx: &Tx,
    place: Place,
    wanted: &Wanted,
    secret: &ApiKey,
    created_by: &str,
    level: Level,
) -> Result<Key, StoreError> {
    let hash = secret.hash();
    let new = NewKey {
        id: secret.id(),
        kind: wanted.kind,
        organization: place.organization,
        membership: place.membership,
        name: &wanted.name,
        hash: &hash,
        permissions: &wanted.permissions,
        level,
        allowed_networks: &wanted.allowed_networks,
        created_by,
        seconds: wanted.seconds,
    };
    store::insert(tx, &new).await?;
    let made = store::find(tx, secret.id(), &hash).await?;
    made.ok_or_else(|| StoreError::Inconsistent("a new API key was not found".into()))
}

/// Creates a platform key on the command line: the operator could read and write everything anyway.
pub async fn make_at_console(
    store: &Store,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    wanted: &Wanted,
) -> Result<Made, StoreError> {
    let secret = ApiKey::generate(entropy);
    let shown = &secret;
    let key = store
        .run_tx("api_keys.make_at_console", |tx| async move {
            let place = Place { organization: None, membership: None };
            let key = write(&tx, place, wanted, shown, "console", Level::None).await?;
            let event = logged(&key, Uuid::nil(), EventKind::ApiKeyCreated, None);
            security_log::record_at_console(&tx, now, entropy, event).await?;
            Ok(key)
        })
        .await?;
    Ok(Made { key, secret })
}

/// `false` if there is no such platform key.
pub async fn revoke_at_console(
    store: &Store,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    id: &str,
) -> Result<bool, StoreError> {
    store
        .run_tx("api_keys.revoke_at_console", |tx| async move {
            let Some(key) = store::show(&tx, Whose::Platform, id).await? else { return Ok(false) };
            if store::revoke(&tx, id, "console").await? {
                let event = logged(&key, Uuid::nil(), EventKind::ApiKeyRevoked, Some("console"));
                security_log::record_at_console(&tx, now, entropy, event).await?;
            }
            Ok(true)
        })
        .await
}
