use porteiro_protocol::{client_metadata::ClientMetadata, id::OrganizationId, time::OffsetDateTime};
use tokio_postgres::Row;
use uuid::Uuid;

use super::LastUse;
use crate::store::{Decode, Reader, RowError, Store, StoreError, Tx, text_enum};

text_enum! {
    /// The trust of a client. A client cannot raise its own trust.
    Trust { Unverified = "unverified", Verified = "verified", FirstParty = "first_party" }
}
text_enum! {
    /// The security profile of a client.
    Profile { Default = "default", Fapi2 = "fapi2" }
}

text_enum! {
    /// Whether a client's tokens are for organizations.
    OrganizationMode { None = "none", Optional = "optional", Required = "required" }
}

#[derive(Debug, Clone)]
pub struct Client {
    pub id: String,
    pub trust: Trust,
    pub profile: Profile,
    pub metadata: ClientMetadata,
    pub secret_hash: Option<Vec<u8>>,
    pub created_at: OffsetDateTime,
    /// Changes with every change of the row.
    pub changed_at: OffsetDateTime,
    /// Grants from before this time are invalid.
    pub grants_from: OffsetDateTime,
    pub last_use: LastUse,
    pub organization_mode: OrganizationMode,
    /// The organization it belongs to; it acts for no other.
    pub organization: Option<OrganizationId>,
}

impl TryFrom<&Row> for Client {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (client, id) = Decode::keyed::<String>("client", "client_id", row)?;
        Ok(Self {
            id,
            trust: client.parsed("trust")?,
            profile: client.parsed("profile")?,
            metadata: client.json("metadata")?,
            secret_hash: client.get("secret_hash")?,
            created_at: client.get("created_at")?,
            changed_at: client.get("changed_at")?,
            grants_from: client.get("grants_from")?,
            last_use: LastUse::at(client.get("last_used_at")?),
            organization_mode: client.parsed("organization_mode")?,
            organization: client.get::<Option<Uuid>>("organization_id")?.map(Into::into),
        })
    }
}

/// An enabled client. A disabled one is not found.
pub async fn find(reader: &impl Reader, client_id: &str) -> Result<Option<Client>, StoreError> {
    let rows = reader
        .rows(
            "clients.find",
            "SELECT client_id, trust, profile, metadata, secret_hash, created_at, changed_at,
                    grants_from, last_used_at, organization_mode, organization_id
             FROM client WHERE client_id = $1 AND disabled_at IS NULL",
            &[&client_id],
        )
        .await?;
    rows.first().map(Client::try_from).transpose().map_err(Into::into)
}

#[derive(Debug)]
pub struct NewClient<'a> {
    pub id: &'a str,
    pub trust: Trust,
    pub profile: Profile,
    pub metadata: &'a ClientMetadata,
    pub secret_hash: Option<&'a [u8]>,
}

pub async fn insert(store: &Store, client: &NewClient<'_>) -> Result<(), StoreError> {
    store.run_tx("clients.insert", |tx| async move { insert_in(&tx, client).await }).await
}

pub(super) async fn insert_in(tx: &Tx, client: &NewClient<'_>) -> Result<(), StoreError> {
    let metadata =
        serde_json::to_value(client.metadata).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    tx.execute(
        "INSERT INTO client (client_id, trust, profile, metadata, secret_hash) VALUES ($1, $2, $3, $4, $5)",
        &[&client.id, &client.trust.as_str(), &client.profile.as_str(), &metadata, &client.secret_hash],
    )
    .await
    .map(|_| ())
}

/// Grants from before a reduction of trust become invalid, and stay so when the trust is raised again
/// (docs/decisions/0074).
pub async fn set_trust(store: &Store, client_id: &str, trust: Trust) -> Result<bool, StoreError> {
    let before =
        store.run_tx("clients.set_trust", |tx| async move { set_trust_in(&tx, client_id, trust).await });
    Ok(before.await?.is_some())
}

/// Returns the trust before; `None` where there is no such client.
pub(super) async fn set_trust_in(
    tx: &Tx,
    client_id: &str,
    trust: Trust,
) -> Result<Option<Trust>, StoreError> {
    let rows = tx
        .query(
            "WITH known AS (
                 SELECT client_id, trust FROM client WHERE client_id = $1 AND disabled_at IS NULL FOR UPDATE
             ), changed AS (
                 UPDATE client c SET trust = $2,
                     grants_from = CASE WHEN array_position(ARRAY['unverified', 'verified', 'first_party'], c.trust)
                         > array_position(ARRAY['unverified', 'verified', 'first_party'], $2)
                         THEN clock_timestamp() ELSE c.grants_from END,
                     changed_at = greatest(clock_timestamp(), c.changed_at + interval '1 microsecond')
                 FROM known WHERE c.client_id = known.client_id
             )
             SELECT trust FROM known",
            &[&client_id, &trust.as_str()],
        )
        .await?;
    let before = rows.first().map(|row| Decode::new("client", client_id, row).parsed("trust"));
    before.transpose().map_err(Into::into)
}

pub async fn disable(store: &Store, client_id: &str) -> Result<bool, StoreError> {
    store.run_tx("clients.disable", |tx| async move { disable_in(&tx, client_id).await }).await
}

/// From this statement on the client is not found, and tokens of its own memberships are invalid. `false` when it was
/// disabled before.
pub async fn disable_in(tx: &Tx, client_id: &str) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "WITH gone AS (
                 UPDATE client SET disabled_at = now(), grants_from = clock_timestamp(),
                     changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
                 WHERE client_id = $1 AND disabled_at IS NULL RETURNING client_id
             ), cut AS (
                 UPDATE membership m SET grants_from = clock_timestamp(), version = m.version + 1
                 FROM gone WHERE m.client_id = gone.client_id
             )
             SELECT client_id FROM gone",
            &[&client_id],
        )
        .await?;
    Ok(!rows.is_empty())
}

pub async fn enable(store: &Store, client_id: &str) -> Result<bool, StoreError> {
    store.run_tx("clients.enable", |tx| async move { enable_in(&tx, client_id).await }).await
}

/// Enables the client. Earlier grants stay ended, including any that were written while other nodes had not yet
/// noticed that it was disabled. `false` when it was enabled.
pub async fn enable_in(tx: &Tx, client_id: &str) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "WITH back AS (
                 UPDATE client SET disabled_at = NULL, grants_from = clock_timestamp(),
                     changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
                 WHERE client_id = $1 AND disabled_at IS NOT NULL RETURNING client_id
             ), cut AS (
                 UPDATE membership m SET grants_from = clock_timestamp(), version = m.version + 1
                 FROM back WHERE m.client_id = back.client_id
             )
             SELECT client_id FROM back",
            &[&client_id],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Stores that the client was used, unless a use within the last day is stored. `changed_at` stays: no copy is
/// outdated by this.
pub(super) async fn remember_use(store: &Store, client_id: &str) -> Result<(), StoreError> {
    store
        .write(
            "clients.remember_use",
            "UPDATE client SET last_used_at = now()
             WHERE client_id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 day')
             RETURNING client_id",
            &[&client_id],
        )
        .await
        .map(|_| ())
}
