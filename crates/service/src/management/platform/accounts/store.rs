use porteiro_protocol::{
    id::{AccountId, Id},
    time::OffsetDateTime,
};

use crate::{
    accounts::{Account, AccountState},
    store::{Conditions, Decode, Reader, StoreError},
};

/// Which accounts to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter {
    pub state: Option<AccountState>,
    pub created_after: Option<OffsetDateTime>,
    /// The account of an address.
    pub only: Option<AccountId>,
}

/// Oldest first, after the given position.
pub(super) async fn list(
    reader: &impl Reader,
    filter: &Filter,
    after: Option<(OffsetDateTime, AccountId)>,
    most: i64,
) -> Result<Vec<Account>, StoreError> {
    let (state, only) = (filter.state.map(AccountState::as_str), filter.only.map(Id::uuid));
    let after = after.map(|(at, id)| (at, id.uuid()));
    let mut conditions = Conditions::new("true", &[])
        .and_if("state = ?", state.as_ref())
        .and_if("account_id = ?", only.as_ref())
        .and_if("created_at > ?", filter.created_after.as_ref());
    if let Some((at, id)) = &after {
        conditions = conditions.and("(created_at, account_id) > (?, ?)", &[at, id]);
    }
    let (sql, params) = conditions.finish(
        "SELECT account_id, state, display_name, locale, user_handle, platform_administrator, created_at,
                recovery_hold_until, deletion_at FROM account",
        &format!("ORDER BY created_at, account_id LIMIT {most}"),
    );
    let rows = reader.rows("platform.accounts", &sql, params).await?;
    rows.iter().map(Account::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

/// The number of current sessions of an account.
pub(super) async fn sessions(reader: &impl Reader, account: AccountId) -> Result<i64, StoreError> {
    let rows = reader
        .rows(
            "platform.account_sessions",
            "SELECT count(*) AS sessions FROM session WHERE account_id = $1 AND ended_at IS NULL
               AND seen_at > now() - interval '7 days' AND created_at > now() - interval '30 days'",
            &[&account.uuid()],
        )
        .await?;
    Ok(rows.first().map(|row| Decode::new("session", account, row).get("sessions")).transpose()?.unwrap_or(0))
}
