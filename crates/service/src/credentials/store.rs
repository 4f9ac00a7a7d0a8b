use porteiro_protocol::{
    id::{AccountId, CredentialId},
    time::OffsetDateTime,
};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use super::CredentialKind;
use crate::store::{Decode, Reader, RowError, Store, StoreError, Tx, text_enum};

text_enum! {
    /// `exhausted`: failed too often in a row; it must be enrolled again.
    CredentialState { Active = "active", Exhausted = "exhausted" }
}

#[derive(Clone)]
pub struct Credential {
    pub id: CredentialId,
    pub account_id: AccountId,
    pub kind: CredentialKind,
    pub label: String,
    pub state: CredentialState,
    pub body: Value,
    pub counter: i64,
    pub created_at: OffsetDateTime,
    pub last_used_at: Option<OffsetDateTime>,
}

/// The body contains hashes and sealed secrets: it is not printed.
impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{} {}>", self.kind.as_str(), self.id)
    }
}

impl Credential {
    /// The identifier by which it leads to the account: the kind and the value that are hashed.
    pub fn identifier(&self) -> Option<(&'static str, String)> {
        (self.kind.info().identifier)(self)
    }
}

impl TryFrom<&Row> for Credential {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (credential, id) = Decode::keyed::<Uuid>("credential", "credential_id", row)?;
        Ok(Self {
            id: id.into(),
            account_id: credential.get::<Uuid>("account_id")?.into(),
            kind: credential.parsed("kind")?,
            label: credential.get("label")?,
            state: credential.parsed("state")?,
            body: credential.get("body")?,
            counter: credential.get("counter")?,
            created_at: credential.get("created_at")?,
            last_used_at: credential.get("last_used_at")?,
        })
    }
}

/// All credentials of an account, oldest first.
pub async fn find_all(reader: &impl Reader, account: AccountId) -> Result<Vec<Credential>, StoreError> {
    let rows = reader
        .rows(
            "credentials.find_all",
            "SELECT account_id, credential_id, kind, label, state, body, counter, created_at, last_used_at
             FROM credential WHERE account_id = $1 ORDER BY created_at, credential_id",
            &[&account.uuid()],
        )
        .await?;
    rows.iter().map(|row| Credential::try_from(row).map_err(StoreError::from)).collect()
}

/// A credential to be bound.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
pub struct NewCredential {
    pub id: CredentialId,
    pub kind: CredentialKind,
    pub label: String,
    pub body: Value,
    pub counter: i64,
}

impl std::fmt::Debug for NewCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<new {} {}>", self.kind.as_str(), self.id)
    }
}

pub async fn insert(tx: &Tx, account: AccountId, new: &NewCredential) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO credential (account_id, credential_id, kind, label, body, counter)
         VALUES ($1, $2, $3, $4, $5, $6)",
        &[&account.uuid(), &new.id.uuid(), &new.kind.as_str(), &new.label, &new.body, &new.counter],
    )
    .await
    .map(|_| ())
}

pub async fn remove(tx: &Tx, account: AccountId, id: CredentialId) -> Result<bool, StoreError> {
    let removed = tx
        .execute(
            "DELETE FROM credential WHERE account_id = $1 AND credential_id = $2",
            &[&account.uuid(), &id.uuid()],
        )
        .await?;
    Ok(removed == 1)
}

/// Returns the kind of the renamed credential, if it exists.
pub async fn rename(
    tx: &Tx,
    account: AccountId,
    id: CredentialId,
    label: &str,
) -> Result<Option<CredentialKind>, StoreError> {
    let rows = tx
        .query(
            "UPDATE credential SET label = $3 WHERE account_id = $1 AND credential_id = $2 RETURNING kind",
            &[&account.uuid(), &id.uuid(), &label],
        )
        .await?;
    rows.first().map(|row| Decode::new("credential", id, row).parsed("kind")).transpose().map_err(Into::into)
}

/// Resets the failures after a success; `false` if the credential is no longer active.
pub async fn used(tx: &Tx, account: AccountId, id: CredentialId) -> Result<bool, StoreError> {
    let used = tx
        .execute(
            "UPDATE credential SET failures = 0, last_used_at = now()
             WHERE account_id = $1 AND credential_id = $2 AND state = 'active'",
            &[&account.uuid(), &id.uuid()],
        )
        .await?;
    Ok(used == 1)
}

/// Accepts a counter greater than all before: a TOTP step is accepted once, however many calls present it concurrently.
pub async fn advance_counter(
    tx: &Tx,
    account: AccountId,
    id: CredentialId,
    counter: i64,
) -> Result<bool, StoreError> {
    let used = tx
        .execute(
            "UPDATE credential SET counter = $3, failures = 0, last_used_at = now()
             WHERE account_id = $1 AND credential_id = $2 AND state = 'active' AND counter < $3",
            &[&account.uuid(), &id.uuid(), &counter],
        )
        .await?;
    Ok(used == 1)
}

/// The new stored form after a success: an upgraded hash, a passkey's counter and flags.
pub async fn replace_body(
    tx: &Tx,
    account: AccountId,
    id: CredentialId,
    body: &Value,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE credential SET body = $3 WHERE account_id = $1 AND credential_id = $2",
        &[&account.uuid(), &id.uuid(), &body],
    )
    .await
    .map(|_| ())
}

/// Counts a failure, in a statement of its own: it counts whatever happens to the step. Returns whether it was the last
/// one allowed.
pub async fn count_failure(
    store: &Store,
    account: AccountId,
    id: CredentialId,
    max_failures: Option<i32>,
) -> Result<bool, StoreError> {
    let rows = store
        .write(
            "credentials.count_failure",
            "UPDATE credential SET failures = failures + 1,
                    state = CASE WHEN failures + 1 >= $3 THEN 'exhausted' ELSE state END
             WHERE account_id = $1 AND credential_id = $2
             RETURNING state = 'exhausted' AND failures = $3 AS exhausted_now",
            &[&account.uuid(), &id.uuid(), &max_failures.unwrap_or(i32::MAX)],
        )
        .await?;
    let now = rows.first().map(|row| Decode::new("credential", id, row).get::<bool>("exhausted_now"));
    Ok(now.transpose()?.unwrap_or(false))
}
