use std::net::IpAddr;

use porteiro_protocol::{
    assurance::Level,
    id::{AccountId, Id, MembershipId, OrganizationId},
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
    /// The level of the session that created a personal key.
    pub level: Level,
    /// `address/length`; empty: any network.
    pub allowed_networks: Vec<String>,
    pub created_by: String,
    pub created_at: OffsetDateTime,
    pub expires_at: OffsetDateTime,
    pub last_used_at: Option<OffsetDateTime>,
    pub last_used_address: Option<IpAddr>,
    pub revoked_at: Option<OffsetDateTime>,
    pub revoke_reason: Option<String>,
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

/// All columns of keys but the hash. `WHERE` follows.
const KEYS: &str = "SELECT k.key_id, k.kind, k.organization_id, k.membership_id, k.name, k.permissions,
        k.made_level, k.allowed_networks, k.created_by, k.created_at, k.expires_at, k.last_used_at, k.last_used_address,
        k.revoked_at, k.revoke_reason
     FROM api_key k";

impl TryFrom<&Row> for Key {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (key, id) = Decode::keyed::<String>("api_key", "key_id", row)?;
        let permissions: Vec<String> = key.get("permissions")?;
        let level: String = key.get("made_level")?;
        let level = Level::ALL.into_iter().find(|one| one.as_str() == level);
        let parse = |text: &String| Permission::parse(text).map_err(|error| key.wrong("permissions", error));
        Ok(Self {
            id,
            kind: key.parsed("kind")?,
            organization: key.get::<Option<Uuid>>("organization_id")?.map(Into::into),
            membership: key.get::<Option<Uuid>>("membership_id")?.map(Into::into),
            name: key.get("name")?,
            permissions: permissions.iter().map(parse).collect::<Result<_, _>>()?,
            level: level.ok_or_else(|| key.wrong("made_level", "is not a level"))?,
            allowed_networks: key.get("allowed_networks")?,
            created_by: key.get("created_by")?,
            created_at: key.get("created_at")?,
            expires_at: key.get("expires_at")?,
            last_used_at: key.get("last_used_at")?,
            last_used_address: key.get("last_used_address")?,
            revoked_at: key.get("revoked_at")?,
            revoke_reason: key.get("revoke_reason")?,
        })
    }
}

fn keys(rows: &[Row]) -> Result<Vec<Key>, StoreError> {
    rows.iter().map(Key::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

/// A key that is neither revoked nor expired, if this is its secret.
pub async fn find(reader: &impl Reader, id: &str, hash: &[u8; 32]) -> Result<Option<Key>, StoreError> {
    let sql = format!(
        "{KEYS} WHERE k.key_id = $1 AND k.secret_hash = $2 AND k.revoked_at IS NULL AND k.expires_at > now()"
    );
    let rows = reader.rows("api_keys.find", &sql, &[&id, &hash.as_slice()]).await?;
    Ok(keys(&rows)?.pop())
}

/// The same by id alone, for tokens issued to it.
pub(super) async fn find_living(reader: &impl Reader, id: &str) -> Result<Option<Key>, StoreError> {
    let sql = format!("{KEYS} WHERE k.key_id = $1 AND k.revoked_at IS NULL AND k.expires_at > now()");
    let rows = reader.rows("api_keys.find_living", &sql, &[&id]).await?;
    Ok(keys(&rows)?.pop())
}

/// The same, locked until the transaction ends: revoking it waits for that.
pub(super) async fn hold_living(tx: &Tx, id: &str) -> Result<Option<Key>, StoreError> {
    let sql =
        format!("{KEYS} WHERE k.key_id = $1 AND k.revoked_at IS NULL AND k.expires_at > now() FOR SHARE");
    Ok(keys(&tx.query(&sql, &[&id]).await?)?.pop())
}

/// Whose keys to read; others are not found.
#[derive(Debug, Clone, Copy)]
pub enum Whose {
    /// All keys of an organization, including those of its members.
    Organization(OrganizationId),
    /// The keys of one person in all organizations.
    Account(AccountId),
    Platform,
}

impl Whose {
    /// The SQL condition and its parameter.
    fn condition(self) -> (&'static str, Option<Uuid>) {
        match self {
            Self::Organization(id) => ("k.organization_id = $1::uuid", Some(id.uuid())),
            Self::Account(id) => (
                "(k.organization_id, k.membership_id) IN
                     (SELECT m.organization_id, m.membership_id FROM membership m WHERE m.account_id = $1::uuid)",
                Some(id.uuid()),
            ),
            Self::Platform => ("k.organization_id IS NULL AND $1::uuid IS NULL", None),
        }
    }
}

/// One of them, valid or not.
pub async fn show(reader: &impl Reader, whose: Whose, id: &str) -> Result<Option<Key>, StoreError> {
    let (condition, owner) = whose.condition();
    let sql = format!("{KEYS} WHERE {condition} AND k.key_id = $2");
    let rows = reader.rows("api_keys.show", &sql, &[&owner, &id]).await?;
    Ok(keys(&rows)?.pop())
}

/// A page of them, oldest first, valid or not.
pub async fn list(
    reader: &impl Reader,
    whose: Whose,
    after: Option<(OffsetDateTime, &str)>,
    most: i64,
) -> Result<Vec<Key>, StoreError> {
    let (condition, owner) = whose.condition();
    let (at, id) = after.map_or((None, ""), |(at, id)| (Some(at), id));
    let sql = format!(
        "{KEYS} WHERE {condition} AND ($2::timestamptz IS NULL OR (k.created_at, k.key_id) > ($2, $3))
         ORDER BY k.created_at, k.key_id LIMIT $4"
    );
    let rows = reader.rows("api_keys.list", &sql, &[&owner, &at, &id, &most]).await?;
    keys(&rows)
}

/// The number of valid keys of a kind.
pub async fn count_living(
    tx: &Tx,
    kind: KeyKind,
    organization: Option<OrganizationId>,
    membership: Option<MembershipId>,
) -> Result<i64, StoreError> {
    let rows = tx
        .query(
            "SELECT count(*) AS living FROM api_key
             WHERE kind = $1 AND organization_id IS NOT DISTINCT FROM $2
               AND membership_id IS NOT DISTINCT FROM $3 AND revoked_at IS NULL AND expires_at > now()",
            &[&kind.as_str(), &organization.map(Id::uuid), &membership.map(Id::uuid)],
        )
        .await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("a count without a row".into()))?;
    Ok(Decode::new("api_key", "count", row).get("living")?)
}

/// Revokes all valid personal keys of a member and returns them.
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
    pub level: Level,
    pub allowed_networks: &'a [String],
    pub created_by: &'a str,
    pub seconds: f64,
}

pub async fn insert(tx: &Tx, new: &NewKey<'_>) -> Result<(), StoreError> {
    let permissions: Vec<&str> = new.permissions.iter().map(Permission::as_str).collect();
    tx.execute(
        "INSERT INTO api_key (key_id, kind, organization_id, membership_id, name, secret_hash, permissions,
                allowed_networks, created_by, expires_at, made_level)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $10), $11)",
        &[
            &new.id,
            &new.kind.as_str(),
            &new.organization.map(Id::uuid),
            &new.membership.map(Id::uuid),
            &new.name,
            &new.hash.as_slice(),
            &permissions,
            &new.allowed_networks,
            &new.created_by,
            &new.seconds,
            &new.level.as_str(),
        ],
    )
    .await
    .map(|_| ())
}

/// `false` if it was already revoked: the first reason stays.
pub async fn revoke(tx: &Tx, id: &str, reason: &str) -> Result<bool, StoreError> {
    let revoked = tx
        .execute(
            "UPDATE api_key SET revoked_at = now(), revoke_reason = $2
             WHERE key_id = $1 AND revoked_at IS NULL",
            &[&id, &reason],
        )
        .await?;
    Ok(revoked == 1)
}

/// Stores the last use, at most once a minute.
pub(super) async fn touch(store: &Store, id: &str, address: IpAddr) -> Result<(), StoreError> {
    store
        .write(
            "api_keys.touch",
            "UPDATE api_key SET last_used_at = now(), last_used_address = $2
             WHERE key_id = $1 AND last_used_at < now() - interval '1 minute' RETURNING key_id",
            &[&id, &address],
        )
        .await
        .map(|_| ())
}

/// Stores the first use; `false` if a concurrent call stored it.
pub(super) async fn touch_first(tx: &Tx, id: &str, address: IpAddr) -> Result<bool, StoreError> {
    let first = tx
        .execute(
            "UPDATE api_key SET last_used_at = now(), last_used_address = $2
             WHERE key_id = $1 AND last_used_at IS NULL",
            &[&id, &address],
        )
        .await?;
    Ok(first == 1)
}
