use porteiro_protocol::{id::AccountId, time::OffsetDateTime};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::store::{Decode, Reader, RowError, StoreError, Tx, text_enum};

text_enum! {
    AccountState { Active = "active", Disabled = "disabled", Deleted = "deleted" }
}
text_enum! {
    /// What can lead to an account.
    IdentifierKind { Email = "email", Phone = "phone", UserHandle = "user_handle",
                     External = "external" }
}

#[derive(Debug, Clone)]
pub struct Account {
    pub id: AccountId,
    pub state: AccountState,
    pub display_name: String,
    pub locale: String,
    pub user_handle: Vec<u8>,
    pub platform_administrator: bool,
    pub created_at: OffsetDateTime,
    pub recovery_hold_until: Option<OffsetDateTime>,
    /// When the account is deleted, if its owner asked for it.
    pub deletion_at: Option<OffsetDateTime>,
}

impl TryFrom<&Row> for Account {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (account, id) = Decode::keyed::<Uuid>("account", "account_id", row)?;
        Ok(Self {
            id: id.into(),
            state: account.parsed("state")?,
            display_name: account.get("display_name")?,
            locale: account.get("locale")?,
            user_handle: account.get("user_handle")?,
            platform_administrator: account.get("platform_administrator")?,
            created_at: account.get("created_at")?,
            recovery_hold_until: account.get("recovery_hold_until")?,
            deletion_at: account.get("deletion_at")?,
        })
    }
}

pub async fn find(reader: &impl Reader, id: AccountId) -> Result<Option<Account>, StoreError> {
    let rows = reader
        .rows(
            "accounts.find",
            "SELECT account_id, state, display_name, locale, user_handle, platform_administrator, created_at,
                    recovery_hold_until, deletion_at
             FROM account WHERE account_id = $1",
            &[&id.uuid()],
        )
        .await?;
    rows.first().map(Account::try_from).transpose().map_err(Into::into)
}

pub async fn find_by_identifier(
    reader: &impl Reader,
    key: &[u8; 32],
) -> Result<Option<AccountId>, StoreError> {
    let rows = reader
        .rows(
            "accounts.find_by_identifier",
            "SELECT account_id FROM identifier WHERE identifier_key = $1",
            &[&key.as_slice()],
        )
        .await?;
    Ok(rows
        .first()
        .map(|row| Decode::new("identifier", "by key", row).get::<Uuid>("account_id"))
        .transpose()?
        .map(Into::into))
}

#[derive(Debug)]
pub struct NewAccount<'a> {
    pub id: AccountId,
    pub display_name: &'a str,
    pub locale: &'a str,
    pub user_handle: &'a [u8],
    pub platform_administrator: bool,
}

pub async fn insert(tx: &Tx, account: &NewAccount<'_>) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO account (account_id, state, display_name, locale, user_handle, platform_administrator)
         VALUES ($1, 'active', $2, $3, $4, $5)",
        &[
            &account.id.uuid(),
            &account.display_name,
            &account.locale,
            &account.user_handle,
            &account.platform_administrator,
        ],
    )
    .await
    .map(|_| ())
}

/// Claims an identifier; `false` if another account has it.
pub async fn insert_identifier(
    tx: &Tx,
    key: &[u8; 32],
    kind: IdentifierKind,
    account: AccountId,
) -> Result<bool, StoreError> {
    let claimed = tx
        .execute(
            "INSERT INTO identifier (identifier_key, kind, account_id) VALUES ($1, $2, $3)
             ON CONFLICT (identifier_key) DO NOTHING",
            &[&key.as_slice(), &kind.as_str(), &account.uuid()],
        )
        .await?;
    Ok(claimed == 1)
}

pub async fn set_hold(tx: &Tx, account: AccountId, until: Option<OffsetDateTime>) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE account SET recovery_hold_until = $2 WHERE account_id = $1",
        &[&account.uuid(), &until],
    )
    .await
    .map(|_| ())
}

/// Sets a recovery hold of so many hours, unless one is pending or was not used for fewer than `good_for` hours after its
/// end: a wait is not made longer or shorter. Returns until when, if it began.
pub async fn start_recovery(
    tx: &Tx,
    account: AccountId,
    hours: i32,
    good_for: i32,
) -> Result<Option<OffsetDateTime>, StoreError> {
    let rows = tx
        .query(
            "UPDATE account SET recovery_hold_until = now() + make_interval(hours => $2)
             WHERE account_id = $1 AND state = 'active'
               AND (recovery_hold_until IS NULL OR recovery_hold_until + make_interval(hours => $3) <= now())
             RETURNING recovery_hold_until",
            &[&account.uuid(), &hours, &good_for],
        )
        .await?;
    let until = |row| Decode::new("account", account, row).get("recovery_hold_until");
    Ok(rows.first().map(until).transpose()?)
}

pub async fn set_profile(
    tx: &Tx,
    account: AccountId,
    display_name: &str,
    locale: &str,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE account SET display_name = $2, locale = $3 WHERE account_id = $1 AND state = 'active'",
        &[&account.uuid(), &display_name, &locale],
    )
    .await
    .map(|_| ())
}

pub async fn remove_identifier(tx: &Tx, key: &[u8; 32], account: AccountId) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM identifier WHERE identifier_key = $1 AND account_id = $2",
        &[&key.as_slice(), &account.uuid()],
    )
    .await
    .map(|_| ())
}

/// Locks the account: changes that must see each other wait here.
pub async fn lock(tx: &Tx, account: AccountId) -> Result<(), StoreError> {
    tx.query("SELECT 1 FROM account WHERE account_id = $1 FOR UPDATE", &[&account.uuid()]).await.map(|_| ())
}

/// Whether the deletion of the account was requested. Locked until the transaction ends: a request to delete it waits.
pub async fn is_leaving(tx: &Tx, account: AccountId) -> Result<bool, StoreError> {
    let sql = "SELECT deletion_at IS NOT NULL AS leaving FROM account WHERE account_id = $1 FOR SHARE";
    let rows = tx.query(sql, &[&account.uuid()]).await?;
    let leaving = |row| Decode::new("account", account, row).get("leaving");
    Ok(rows.first().map(leaving).transpose()?.unwrap_or(false))
}

/// Enables or disables; `false` if the account was in another state.
pub async fn set_active(tx: &Tx, account: AccountId, active: bool) -> Result<bool, StoreError> {
    let (from, to) = if active {
        (AccountState::Disabled, AccountState::Active)
    } else {
        (AccountState::Active, AccountState::Disabled)
    };
    let changed = tx
        .execute(
            "UPDATE account SET state = $3 WHERE account_id = $1 AND state = $2",
            &[&account.uuid(), &from.as_str(), &to.as_str()],
        )
        .await?;
    Ok(changed == 1)
}

/// Accounts with a recovery hold: few, and read once a day.
pub async fn in_hold(reader: &impl Reader) -> Result<Vec<(AccountId, OffsetDateTime, String)>, StoreError> {
    let rows = reader
        .rows(
            "accounts.in_hold",
            "SELECT account_id, recovery_hold_until, locale FROM account WHERE recovery_hold_until > now()",
            &[],
        )
        .await?;
    rows.iter()
        .map(|row| {
            let (account, id) = Decode::keyed::<Uuid>("account", "account_id", row)?;
            Ok((id.into(), account.get("recovery_hold_until")?, account.get("locale")?))
        })
        .collect()
}
