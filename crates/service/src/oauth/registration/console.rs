//! Changes of clients on the command line, by the rules of registration (docs/decisions/0050, docs/decisions/0090).

use porteiro_protocol::{client_metadata::MetadataError, entropy::Entropy, time::OffsetDateTime};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    super::{
        apis,
        clients::{Client, ClientSecret},
    },
    administer::{self, Change},
    rules::Rules,
};
use crate::{
    security_log::{self, Event, EventKind},
    settings::Settings,
    store::{Store, StoreError, Tx, TxError},
};

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("unknown client")]
    Unknown,
    #[error("{}", .0.detail)]
    Metadata(MetadataError),
    #[error("the client does not authenticate with a secret")]
    NoSecret,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<TxError<Self>> for ChangeError {
    fn from(error: TxError<Self>) -> Self {
        match error {
            TxError::Store(error) => Self::Store(error),
            TxError::Refused(error) | TxError::Recorded(error) => error,
        }
    }
}

/// The result of a change of the metadata.
#[derive(Debug)]
pub struct Edited {
    pub members: Vec<&'static str>,
    /// The client needs a secret before it can authenticate.
    pub lacks_secret: bool,
}

/// Applies a merge patch (RFC 7396) to the metadata of a client.
pub async fn edit_at_console(
    store: &Store,
    settings: &Settings,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    client_id: &str,
    patch: &Map<String, Value>,
) -> Result<Edited, ChangeError> {
    let apis = apis::list(store).await?;
    let rules = Rules { settings, apis: &apis };
    let edited = store.try_tx("registration.edit_at_console", |tx| async move {
        let before = held(&tx, client_id).await?;
        let (trust, organization_mode) = (before.trust, before.organization_mode);
        let change = Change { trust, organization_mode, metadata: patch };
        let decided = administer::decide(&before, change, rules)
            .map_err(|error| TxError::Refused(ChangeError::Metadata(error)))?;
        administer::apply(&tx, &before, &decided).await?;
        let payload = json!({"client_id": client_id, "by": "console", "members": decided.members});
        note(&tx, now, entropy, EventKind::ClientAdministered, payload).await?;
        Ok(Edited { lacks_secret: decided.lacks_secret(&before), members: decided.members })
    });
    Ok(edited.await?)
}

/// Replaces the secret of a client. The new secret is only returned here.
pub async fn rotate_secret_at_console(
    store: &Store,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    client_id: &str,
) -> Result<ClientSecret, ChangeError> {
    let secret = ClientSecret::generate(entropy);
    let new = &secret;
    let rotated = store.try_tx("registration.rotate_secret_at_console", |tx| async move {
        let before = held(&tx, client_id).await?;
        if !administer::replace_secret(&tx, &before, new).await? {
            return Err(TxError::Refused(ChangeError::NoSecret));
        }
        let payload = json!({"client_id": client_id, "by": "console"});
        Ok(note(&tx, now, entropy, EventKind::ClientSecretRotated, payload).await?)
    });
    rotated.await?;
    Ok(secret)
}

async fn held(tx: &Tx, client_id: &str) -> Result<Client, TxError<ChangeError>> {
    administer::lock(tx, client_id).await?.ok_or(TxError::Refused(ChangeError::Unknown))
}

async fn note(
    tx: &Tx,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    kind: EventKind,
    payload: Value,
) -> Result<(), StoreError> {
    let event = Event { kind, subject: Uuid::nil(), payload };
    security_log::record_at_console(tx, now, entropy, event).await
}
