//! Statements about everything that is stored about a person, made from the list of sources.

mod logs;
mod owners;
pub mod sources;

use porteiro_protocol::{id::AccountId, time::OffsetDateTime};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::store::{Decode, Reader, Store, StoreError, Tx};
pub(super) use logs::{erase_addresses, erase_administered};
pub(super) use owners::{has_active_person, owned, owned_alone};
use sources::{Erasure, Key, Source};

/// Rows of one source that are read together.
pub(super) const PAGE: usize = 200;

/// A row as it is shown, and its place in the order.
#[derive(Debug)]
pub(super) struct Shown {
    pub key: String,
    pub row: Value,
}

/// The next rows of a source, after the given place.
pub(super) async fn page(
    reader: &impl Reader,
    source: &Source,
    account: AccountId,
    after: Option<&str>,
) -> Result<Vec<Shown>, StoreError> {
    let rows = reader.rows("personal_data.page", &select(source), &[&account.uuid(), &after]).await?;
    rows.iter().map(shown).collect()
}

fn shown(row: &Row) -> Result<Shown, StoreError> {
    let row = Decode::new("personal_data", "page", row);
    Ok(Shown { key: row.get("key")?, row: row.get("row")? })
}

fn select(source: &Source) -> String {
    let Source { table, joined, about, shown, partly, .. } = source;
    let columns: Vec<String> = shown.split_whitespace().map(|name| format!("t.{name}")).collect();
    let parts: Vec<String> = partly.iter().map(|(name, part)| format!("{part} AS {name}")).collect();
    let columns = [columns, parts].concat().join(", ");
    let (key, after) = match source.key {
        // No id is nil, so that one condition on the index serves the first page too.
        Key::Id(key) => (key, format!("{key} > coalesce($2::text::uuid, '{}')", Uuid::nil())),
        Key::Text(key) => (key, format!("{key} COLLATE \"C\" > coalesce($2::text, '')")),
    };
    let order = match source.key {
        Key::Id(key) => key.to_owned(),
        Key::Text(key) => format!("{key} COLLATE \"C\""),
    };
    format!(
        "SELECT place AS key, to_jsonb(found) - 'place' AS row FROM (
             SELECT ({key})::text AS place, {columns} FROM {table} t {joined}
             WHERE {about} AND {after} ORDER BY {order} LIMIT {PAGE}
         ) found"
    )
}

/// Erases what the sources say, but not the account itself and not what is erased separately.
pub(super) async fn erase_rows(tx: &Tx, account: AccountId) -> Result<(), StoreError> {
    // What was written since the batches, while the rows that lead there exist.
    logs::erase_rest(tx, account).await?;
    let others = sources::all().filter(|source| source.table != "account");
    for sql in others.filter_map(erasing) {
        tx.execute(&sql, &[&account.uuid()]).await?;
    }
    Ok(())
}

fn erasing(source: &Source) -> Option<String> {
    let Source { table, about, .. } = source;
    match source.erasure {
        Erasure::Deleted => Some(format!("DELETE FROM {table} t WHERE {about}")),
        Erasure::Emptied(to) => Some(format!("UPDATE {table} t SET {to} WHERE {about}")),
        Erasure::Kept(_) | Erasure::Separately => None,
    }
}

/// Leaves of the account that it existed. `false` if its time has not come, or it is not active.
pub(super) async fn erase_account(tx: &Tx, account: AccountId) -> Result<bool, StoreError> {
    let account_source = sources::all().find(|source| source.table == "account");
    let Some(Erasure::Emptied(to)) = account_source.map(|source| source.erasure) else {
        return Err(StoreError::Inconsistent("the account is not emptied".into()));
    };
    let sql = format!(
        "UPDATE account t SET {to} WHERE account_id = $1 AND state = 'active' AND deletion_at <= now()"
    );
    Ok(tx.execute(&sql, &[&account.uuid()]).await? == 1)
}

/// Sets when the account is deleted; `None` if it is not active or its deletion was requested before.
pub(super) async fn schedule(
    tx: &Tx,
    account: AccountId,
    days: i32,
) -> Result<Option<OffsetDateTime>, StoreError> {
    let rows = tx
        .query(
            "UPDATE account SET deletion_at = now() + make_interval(days => $2)
             WHERE account_id = $1 AND state = 'active' AND deletion_at IS NULL RETURNING deletion_at",
            &[&account.uuid(), &days],
        )
        .await?;
    let at = |row| Decode::new("account", account, row).get("deletion_at");
    Ok(rows.first().map(at).transpose()?)
}

/// `false` if no deletion was pending.
pub(super) async fn cancel(tx: &Tx, account: AccountId) -> Result<bool, StoreError> {
    let kept = tx
        .execute(
            "UPDATE account SET deletion_at = NULL
             WHERE account_id = $1 AND state = 'active' AND deletion_at IS NOT NULL",
            &[&account.uuid()],
        )
        .await?;
    Ok(kept == 1)
}

/// Accounts whose time has come.
pub(super) async fn due(store: &Store) -> Result<Vec<AccountId>, StoreError> {
    let sql = "SELECT account_id FROM account WHERE deletion_at <= now() AND state = 'active'
               ORDER BY deletion_at LIMIT 100";
    let rows = store.read("personal_data.due", sql, &[]).await?;
    rows.iter().map(|row| Ok(Decode::new("account", "due", row).get::<Uuid>("account_id")?.into())).collect()
}

/// Whether the account is to be deleted now.
pub(super) async fn is_due(tx: &Tx, account: AccountId) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM account WHERE account_id = $1 AND state = 'active' AND deletion_at <= now()";
    Ok(!tx.query(sql, &[&account.uuid()]).await?.is_empty())
}
