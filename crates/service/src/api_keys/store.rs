use std::net::IpAddr;

use porteiro_protocol::{
    id::{MembershipId, OrganizationId},
    permission::Permission,
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::store::{Decode, Reader, RowError, Store, StoreError, Tx, text_enum};

text_enum! {
    KeyKind { Personal = "personal", Organization = "organization", Platform = "platform" }
}

#[derive(Debug, Clone)]
pub struct Key {
    pub id: String,
    pub kind: KeyKind,
    pub organization: Option<OrganizationId>,
    pub membership: Option<MembershipId>,
    pub name: String,
    pub permissions: Vec<Permission>,
    /// `address/length`; none: from anywhere.
    pub allowed_networks: Vec<String>,
    pub created_by: String,
    pub created_at: OffsetDateTime,
    pub expires_at: OffsetDateTime,
    pub last_used_at: Option<OffsetDateTime>,
    pub last_used_address: Option<IpAddr>,
    pub revoked_at: Option<OffsetDateTime>,
}

impl Key {
    /// Whether it may be used from this address.
    pub fn allows(&self, address: IpAddr) -> bool {
        let inside = |network: &String| {
            network.parse::<ipnet::IpNet>().is_ok_and(|network| network.contains(&address.to_canonical()))
        };
        self.allowed_networks.is_empty() || self.allowed_networks.iter().any(inside)
    }
}

impl TryFrom<&Row> for Key {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (key, id) = Decode::keyed::<String>("api_key", "key_id", row)?;
        let permissions: Vec<String> = key.get("permissions")?;
        let parse = |text: &String| Permission::parse(text).map_err(|error| key.wrong("permissions", error));
        Ok(Self {
            id,
            kind: key.parsed("kind")?,
            organization: key.get::<Option<Uuid>>("organization_id")?.map(Into::into),
            membership: key.get::<Option<Uuid>>("membership_id")?.map(Into::into),
            name: key.get("name")?,
            permissions: permissions.iter().map(parse).collect::<Result<_, _>>()?,
            allowed_networks: key.get("allowed_networks")?,
            created_by: key.get("created_by")?,
            created_at: key.get("created_at")?,
            expires_at: key.get("expires_at")?,
            last_used_at: key.get("last_used_at")?,
            last_used_address: key.get("last_used_address")?,
            revoked_at: key.get("revoked_at")?,
        })
    }
}

/// A key that is neither revoked nor expired, if this is its secret.
pub async fn find(reader: &impl Reader, id: &str, hash: &[u8; 32]) -> Result<Option<Key>, StoreError> {
    let rows = reader
        .rows(
            "api_keys.find",
            "SELECT key_id, kind, organization_id, membership_id, name, permissions, allowed_networks, created_by,
                    created_at, expires_at, last_used_at, last_used_address, revoked_at
             FROM api_key WHERE key_id = $1 AND secret_hash = $2 AND revoked_at IS NULL AND expires_at > now()",
            &[&id, &hash.as_slice()],
        )
        .await?;
    rows.first().map(Key::try_from).transpose().map_err(Into::into)
}

/// Every living personal key of a member; which they were.
pub async fn revoke_of_membership(
    tx: &Tx,
    organization: OrganizationId,
    membership: MembershipId,
    reason: &str,
) -> Result<Vec<String>, StoreError> {
    let rows = tx
        .query(
            "UPDATE api_key SET revoked_at = now(), revoke_reason = $3
             WHERE organization_id = $1 AND membership_id = $2 AND revoked_at IS NULL RETURNING key_id",
            &[&organization.uuid(), &membership.uuid(), &reason],
        )
        .await?;
    rows.iter().map(|row| Ok(Decode::new("api_key", membership, row).get("key_id")?)).collect()
}

#[derive(Debug)]
pub struct NewKey<'a> {
    pub id: &'a str,
    pub kind: KeyKind,
    pub organization: Option<OrganizationId>,
    pub membership: Option<MembershipId>,
    pub name: &'a str,
    pub hash: &'a [u8; 32],
    pub permissions: &'a [Permission],
    pub allowed_networks: &'a [String],
    pub created_by: &'a str,
    pub seconds: f64,
}

pub async fn insert(tx: &Tx, new: &NewKey<'_>) -> Result<(), StoreError> {
    let permissions: Vec<&str> = new.permissions.iter().map(Permission::as_str).collect();
    tx.execute(
        "INSERT INTO api_key (key_id, kind, organization_id, membership_id, name, secret_hash, permissions,
                allowed_networks, created_by, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $10))",
        &[
            &new.id,
            &new.kind.as_str(),
            &new.organization.map(porteiro_protocol::id::Id::uuid),
            &new.membership.map(porteiro_protocol::id::Id::uuid),
            &new.name,
            &new.hash.as_slice(),
            &permissions,
            &new.allowed_networks,
            &new.created_by,
            &new.seconds,
        ],
    )
    .await
    .map(|_| ())
}

/// Remembers that it was used, once a minute at most. `true` the very first time.
pub async fn touch(store: &Store, id: &str, address: IpAddr) -> Result<bool, StoreError> {
    let rows = store
        .write(
            "api_keys.touch",
            "UPDATE api_key k SET last_used_at = now(), last_used_address = $2
             FROM (SELECT key_id, last_used_at FROM api_key WHERE key_id = $1) before
             WHERE k.key_id = $1 AND (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute')
             RETURNING before.last_used_at IS NULL AS first",
            &[&id, &address],
        )
        .await?;
    Ok(rows.first().map(|row| Decode::new("api_key", id, row).get("first")).transpose()?.unwrap_or(false))
}
