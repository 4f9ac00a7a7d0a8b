use porteiro_protocol::{
    id::AccountId,
    permission::{Held, Permission},
};

use tokio_postgres::Row;
use uuid::Uuid;

use crate::store::{Decode, Reader, StoreError, Tx};

/// A platform administrator.
#[derive(Debug)]
pub struct Authority {
    pub account: AccountId,
    pub display_name: String,
    pub active: bool,
    pub permissions: Vec<String>,
}

/// All accounts with platform permissions, active or not: a handful.
pub async fn list(reader: &impl Reader) -> Result<Vec<Authority>, StoreError> {
    let rows = reader
        .rows(
            "platform.list",
            "SELECT p.account_id, a.display_name, a.state = 'active' AS active, p.permissions
             FROM platform_authority p JOIN account a USING (account_id)
             WHERE cardinality(p.permissions) > 0 ORDER BY p.granted_at, p.account_id",
            &[],
        )
        .await?;
    let authority = |row: &Row| {
        let (found, id) = Decode::keyed::<Uuid>("platform_authority", "account_id", row)?;
        Ok(Authority {
            account: id.into(),
            display_name: found.get("display_name")?,
            active: found.get("active")?,
            permissions: found.get("permissions")?,
        })
    };
    rows.iter().map(authority).collect()
}

/// Locks an active account until the transaction ends; `false` if there is none.
pub async fn lock_active(tx: &Tx, account: AccountId) -> Result<bool, StoreError> {
    let rows = tx
        .query(
            "SELECT 1 FROM account WHERE account_id = $1 AND state = 'active' FOR UPDATE",
            &[&account.uuid()],
        )
        .await?;
    Ok(!rows.is_empty())
}

const HELD: &str = "SELECT p.permissions FROM platform_authority p JOIN account a USING (account_id)
     WHERE p.account_id = $1 AND a.state = 'active'";

/// The platform permissions of an account now; none unless it is active.
pub async fn held(reader: &impl Reader, account: AccountId) -> Result<Held, StoreError> {
    decoded(account, &reader.rows("platform.held", HELD, &[&account.uuid()]).await?)
}

/// The same, locked until the transaction ends: a change of these permissions waits for that.
pub async fn hold(tx: &Tx, account: AccountId) -> Result<Held, StoreError> {
    decoded(account, &tx.query(&format!("{HELD} FOR SHARE OF p"), &[&account.uuid()]).await?)
}

fn decoded(account: AccountId, rows: &[Row]) -> Result<Held, StoreError> {
    let Some(row) = rows.first() else { return Ok(Held::nothing()) };
    let row = Decode::new("platform_authority", account, row);
    let texts: Vec<String> = row.get("permissions")?;
    let parse = |text: &String| Permission::parse(text).map_err(|error| row.wrong("permissions", error));
    Ok(Held::of(texts.iter().map(parse).collect::<Result<Vec<_>, _>>()?))
}

/// Replaces the permissions by exactly these.
pub async fn set(tx: &Tx, account: AccountId, permissions: &[Permission]) -> Result<(), StoreError> {
    let permissions: Vec<&str> = permissions.iter().map(Permission::as_str).collect();
    tx.execute(
        "INSERT INTO platform_authority (account_id, permissions) VALUES ($1, $2)
         ON CONFLICT (account_id) DO UPDATE SET permissions = excluded.permissions,
             version = platform_authority.version + 1",
        &[&account.uuid(), &permissions],
    )
    .await
    .map(|_| ())
}
