//! Transactions: named, retried, and exact about a COMMIT whose answer was lost.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use deadpool_postgres::Object;
use tokio_postgres::Row;

use super::{Params, Store, StoreError, refusal::Ending};

/// Limits statements, but not the COMMIT: cancelling the wait for a commit can make an unreplicated change visible that
/// is later lost.
const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = '10s'; SET LOCAL lock_timeout = '5s'; \
                     SET LOCAL idle_in_transaction_session_timeout = '30s'";
const COMMIT: &str = "SET LOCAL statement_timeout = 0; COMMIT";
const ATTEMPTS: u32 = 5;

/// An open transaction. Clones are the same one; none may outlive the work.
#[derive(Clone)]
pub struct Tx {
    connection: Arc<Guard>,
    sent: Arc<AtomicU64>,
}

impl std::fmt::Debug for Tx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<transaction>")
    }
}

impl Tx {
    pub async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let connection = self.connection.get()?;
        self.sent.fetch_add(1, Ordering::Relaxed);
        let prepared = connection.prepare_cached(sql).await?;
        Ok(connection.query(&prepared, params).await?)
    }

    pub async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, StoreError> {
        let connection = self.connection.get()?;
        self.sent.fetch_add(1, Ordering::Relaxed);
        let prepared = connection.prepare_cached(sql).await?;
        Ok(connection.execute(&prepared, params).await?)
    }

    /// Several statements without parameters, such as a migration.
    pub async fn batch(&self, sql: &str) -> Result<(), StoreError> {
        Ok(self.connection.get()?.batch_execute(sql).await?)
    }
}

impl Tx {
    /// Makes changes and rolls them back, whatever the result: for a dry run.
    pub async fn tentatively<T, E: From<StoreError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.batch("SAVEPOINT tentatively").await?;
        let outcome = work.await;
        self.batch("ROLLBACK TO SAVEPOINT tentatively").await?;
        outcome
    }
}

/// A connection inside a transaction. If the work is dropped half-way (a timeout, a cancelled request), the connection
/// is closed and not returned to the pool with an open transaction.
struct Guard {
    connection: Option<Object>,
}

impl Guard {
    fn get(&self) -> Result<&Object, StoreError> {
        self.connection.as_ref().ok_or_else(|| StoreError::Inconsistent("the transaction is over".into()))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(Object::take(connection));
        }
    }
}

pub(super) async fn run<T, E, W, F>(store: &Store, name: &'static str, work: W) -> Result<T, E>
where
    E: Ending,
    W: Fn(Tx) -> F,
    F: Future<Output = Result<T, E>>,
{
    let mut attempt = 1;
    loop {
        match once(store, &work).await {
            Err(error) if error.store().is_some_and(StoreError::is_retryable) && attempt < ATTEMPTS => {
                metrics::counter!("porteiro_store_retries_total", "operation" => name).increment(1);
                tokio::time::sleep(std::time::Duration::from_millis(u64::from(5 * attempt * attempt))).await;
                attempt += 1;
            }
            outcome => return outcome,
        }
    }
}

async fn once<T, E, W, F>(store: &Store, work: &W) -> Result<T, E>
where
    E: Ending,
    W: Fn(Tx) -> F,
    F: Future<Output = Result<T, E>>,
{
    let connection = store.connection().await?;
    let sent = Arc::clone(&store.sent);
    let tx = Tx { connection: Arc::new(Guard { connection: Some(connection) }), sent };
    tx.batch(BEGIN).await.map_err(StoreError::nothing_changed)?;
    let outcome = work(tx.clone()).await;
    let mut guard = Arc::try_unwrap(tx.connection)
        .map_err(|_| StoreError::Inconsistent("a transaction outlived its work".into()))?;
    match outcome {
        Err(error) if !error.keeps() => {
            if guard.get()?.batch_execute("ROLLBACK").await.is_ok() {
                drop(guard.connection.take());
            }
            // Until COMMIT is sent, a broken connection means a rollback: nothing changed.
            Err(error.undone())
        }
        kept => {
            guard.get()?.batch_execute(COMMIT).await.map_err(StoreError::from)?;
            drop(guard.connection.take());
            kept
        }
    }
}
