use porteiro_protocol::id::AccountId;

use crate::store::{Decode, Store, StoreError, Tx};

pub(super) async fn find(
    store: &Store,
    account: AccountId,
    selector: &str,
) -> Result<Option<String>, StoreError> {
    let rows = store
        .read(
            "recovery_codes.find",
            "SELECT hash FROM recovery_code WHERE account_id = $1 AND selector = $2",
            &[&account.uuid(), &selector],
        )
        .await?;
    rows.first()
        .map(|row| Decode::new("recovery_code", account, row).get("hash"))
        .transpose()
        .map_err(Into::into)
}

/// Deletes the row: of concurrent uses, one finds it.
pub async fn spend(tx: &Tx, account: AccountId, selector: &str) -> Result<bool, StoreError> {
    let spent = tx
        .execute(
            "DELETE FROM recovery_code WHERE account_id = $1 AND selector = $2",
            &[&account.uuid(), &selector],
        )
        .await?;
    Ok(spent == 1)
}

pub async fn replace_all(tx: &Tx, account: AccountId, codes: &[(String, String)]) -> Result<(), StoreError> {
    tx.execute("DELETE FROM recovery_code WHERE account_id = $1", &[&account.uuid()]).await?;
    for (selector, hash) in codes {
        tx.execute(
            "INSERT INTO recovery_code (account_id, selector, hash) VALUES ($1, $2, $3)",
            &[&account.uuid(), selector, hash],
        )
        .await?;
    }
    Ok(())
}

pub async fn remaining(store: &Store, account: AccountId) -> Result<i64, StoreError> {
    let rows = store
        .read(
            "recovery_codes.remaining",
            "SELECT count(*) AS remaining FROM recovery_code WHERE account_id = $1",
            &[&account.uuid()],
        )
        .await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("count(*) returned no row".into()))?;
    Ok(Decode::new("recovery_code", account, row).get("remaining")?)
}
