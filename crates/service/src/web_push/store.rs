use porteiro_protocol::id::AccountId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{MOST, Subscription, SubscriptionId};
use crate::{
    sessions::SignedIn,
    store::{Decode, Reader, RowError, Store, StoreError, Tx},
};

impl TryFrom<&Row> for Subscription {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (row, id) = Decode::keyed::<Uuid>("push_subscription", "subscription_id", row)?;
        Ok(Self {
            id: id.into(),
            endpoint: row.get("endpoint")?,
            session: row.get::<Uuid>("session_id")?.into(),
            user_agent: row.get("user_agent")?,
            created_at: row.get("created_at")?,
        })
    }
}

fn read(rows: &[Row]) -> Result<Vec<Subscription>, StoreError> {
    rows.iter().map(Subscription::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

/// The oldest first.
pub(super) async fn list(reader: &impl Reader, account: AccountId) -> Result<Vec<Subscription>, StoreError> {
    let sql = "SELECT subscription_id, endpoint, session_id, user_agent, created_at FROM push_subscription
         WHERE account_id = $1 ORDER BY created_at, subscription_id";
    read(&reader.rows("web_push.list", sql, &[&account.uuid()]).await?)
}

pub(super) async fn find(
    reader: &impl Reader,
    account: AccountId,
    id: SubscriptionId,
) -> Result<Option<Subscription>, StoreError> {
    let sql = "SELECT subscription_id, endpoint, session_id, user_agent, created_at FROM push_subscription
         WHERE account_id = $1 AND subscription_id = $2";
    Ok(read(&reader.rows("web_push.find", sql, &[&account.uuid(), &id.uuid()]).await?)?.pop())
}

/// `None` where the person has too many, or the session has ended. The caller holds the account's lock.
pub(super) async fn insert(
    tx: &Tx,
    me: &SignedIn,
    id: SubscriptionId,
    endpoint: &str,
    user_agent: &str,
) -> Result<Option<Subscription>, StoreError> {
    let rows = tx
        .query(
            "INSERT INTO push_subscription AS p (account_id, subscription_id, endpoint, session_id, user_agent)
             SELECT $1::uuid, $2::uuid, $3::text, $4::uuid, $5::text
             WHERE (SELECT count(*) FROM push_subscription WHERE account_id = $1 AND endpoint <> $3) < $6::int8
               AND EXISTS (SELECT 1 FROM session s
                    WHERE s.session_id = $4 AND s.account_id = $1 AND s.ended_at IS NULL)
             ON CONFLICT (account_id, endpoint) DO UPDATE
                 SET session_id = excluded.session_id, user_agent = excluded.user_agent
             RETURNING p.subscription_id, p.endpoint, p.session_id, p.user_agent, p.created_at",
            &[&me.account_id.uuid(), &id.uuid(), &endpoint, &me.session_id.uuid(), &user_agent, &MOST],
        )
        .await?;
    Ok(read(&rows)?.pop())
}

pub(super) async fn remove(
    store: &Store,
    account: AccountId,
    id: SubscriptionId,
) -> Result<bool, StoreError> {
    let sql = "DELETE FROM push_subscription WHERE account_id = $1 AND subscription_id = $2 RETURNING 1";
    Ok(!store.write("web_push.remove", sql, &[&account.uuid(), &id.uuid()]).await?.is_empty())
}

/// Those of these sessions, or all.
pub(super) async fn end(tx: &Tx, account: AccountId, sessions: Option<&[Uuid]>) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM push_subscription WHERE account_id = $1 AND ($2::uuid[] IS NULL OR session_id = ANY($2))",
        &[&account.uuid(), &sessions],
    )
    .await
    .map(|_| ())
}
