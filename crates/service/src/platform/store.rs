use porteiro_protocol::{
    id::AccountId,
    permission::{Held, Permission},
};

use crate::store::{Decode, Reader, StoreError, Tx};

/// What a person may do to the installation, now. Nothing, unless their account is active.
pub async fn held(reader: &impl Reader, account: AccountId) -> Result<Held, StoreError> {
    let rows = reader
        .rows(
            "platform.held",
            "SELECT p.permissions FROM platform_authority p JOIN account a USING (account_id)
             WHERE p.account_id = $1 AND a.state = 'active'",
            &[&account.uuid()],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(Held::nothing()) };
    let row = Decode::new("platform_authority", account, row);
    let texts: Vec<String> = row.get("permissions")?;
    let parse = |text: &String| Permission::parse(text).map_err(|error| row.wrong("permissions", error));
    Ok(Held::of(texts.iter().map(parse).collect::<Result<Vec<_>, _>>()?))
}

/// Exactly these from now on.
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
