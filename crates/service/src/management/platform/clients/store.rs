use porteiro_protocol::{
    client_metadata::ClientMetadata,
    id::{Id, OrganizationId},
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    oauth::clients::{OrganizationMode, Profile, Trust},
    store::{Conditions, Decode, Reader, RowError, StoreError, Tx},
};

/// A client as the platform sees it, enabled or not.
#[derive(Debug, Clone)]
pub struct Found {
    pub id: String,
    pub trust: Trust,
    pub profile: Profile,
    pub metadata: ClientMetadata,
    pub has_secret: bool,
    /// Whether it registered itself, and can change its registration.
    pub registered_itself: bool,
    pub organization_mode: OrganizationMode,
    pub organization: Option<OrganizationId>,
    pub created_at: OffsetDateTime,
    pub changed_at: OffsetDateTime,
    pub disabled_at: Option<OffsetDateTime>,
}

impl Found {
    pub fn version(&self) -> i64 {
        version(self.changed_at)
    }
}

/// The version of the row: the time of its last change.
pub(super) fn version(changed_at: OffsetDateTime) -> i64 {
    i64::try_from(changed_at.unix_timestamp_nanos() / 1_000).unwrap_or_default()
}

const CLIENTS: &str = "SELECT client_id, trust, profile, metadata, secret_hash IS NOT NULL AS has_secret,
        registration_hash IS NOT NULL AS registered_itself, organization_mode, organization_id, created_at,
        changed_at, disabled_at FROM client";

impl TryFrom<&Row> for Found {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (client, id) = Decode::keyed::<String>("client", "client_id", row)?;
        Ok(Self {
            id,
            trust: client.parsed("trust")?,
            profile: client.parsed("profile")?,
            metadata: client.json("metadata")?,
            has_secret: client.get("has_secret")?,
            registered_itself: client.get("registered_itself")?,
            organization_mode: client.parsed("organization_mode")?,
            organization: client.get::<Option<Uuid>>("organization_id")?.map(Into::into),
            created_at: client.get("created_at")?,
            changed_at: client.get("changed_at")?,
            disabled_at: client.get("disabled_at")?,
        })
    }
}

/// Which clients to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter {
    pub trust: Option<Trust>,
    pub created_after: Option<OffsetDateTime>,
}

/// Oldest first, after the given position.
pub(super) async fn list(
    reader: &impl Reader,
    filter: &Filter,
    after: Option<&(OffsetDateTime, String)>,
    most: i64,
) -> Result<Vec<Found>, StoreError> {
    let trust = filter.trust.map(Trust::as_str);
    let mut conditions = Conditions::new("true", &[])
        .and_if("trust = ?", trust.as_ref())
        .and_if("created_at > ?", filter.created_after.as_ref());
    if let Some((at, id)) = after {
        conditions = conditions.and("(created_at, client_id) > (?, ?)", &[at, id]);
    }
    let (sql, params) = conditions.finish(CLIENTS, &format!("ORDER BY created_at, client_id LIMIT {most}"));
    let rows = reader.rows("platform.clients", &sql, params).await?;
    rows.iter().map(Found::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

pub(super) async fn find(reader: &impl Reader, id: &str) -> Result<Option<Found>, StoreError> {
    let sql = format!("{CLIENTS} WHERE client_id = $1");
    let rows = reader.rows("platform.client", &sql, &[&id]).await?;
    rows.first().map(Found::try_from).transpose().map_err(Into::into)
}

/// Locks the client and returns its row.
pub(super) async fn lock(tx: &Tx, id: &str) -> Result<Option<Found>, StoreError> {
    let sql = format!("{CLIENTS} WHERE client_id = $1 FOR UPDATE");
    let rows = tx.query(&sql, &[&id]).await?;
    rows.first().map(Found::try_from).transpose().map_err(Into::into)
}

#[derive(Debug)]
pub(super) struct New<'a> {
    pub id: &'a str,
    pub trust: Trust,
    pub profile: Profile,
    pub metadata: &'a ClientMetadata,
    pub secret_hash: Option<&'a [u8]>,
    pub organization_mode: OrganizationMode,
    pub organization: Option<OrganizationId>,
}

pub(super) async fn insert(tx: &Tx, new: &New<'_>) -> Result<(), StoreError> {
    let metadata =
        serde_json::to_value(new.metadata).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    tx.execute(
        "INSERT INTO client (client_id, trust, profile, metadata, secret_hash, organization_mode, organization_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[
            &new.id,
            &new.trust.as_str(),
            &new.profile.as_str(),
            &metadata,
            &new.secret_hash,
            &new.organization_mode.as_str(),
            &new.organization.map(Id::uuid),
        ],
    )
    .await
    .map(|_| ())
}
