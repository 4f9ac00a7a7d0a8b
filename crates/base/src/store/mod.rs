//! PostgreSQL, which has all state.
//!
//! Three kinds of access, each with a name for metrics and logs:
//! - [`Store::read`]: one `SELECT`; repeated once if the connection broke, since nothing changed.
//! - [`Store::write`]: one guarded statement, its own transaction; never repeated after a broken connection.
//! - [`Store::run_tx`]: several statements, retried as a whole on serialization failure; [`Store::run_tx_in_turn`] if
//!   they wait for a contended row; [`Store::try_tx`] if the work may refuse.
//!
//! A connection lost during a change is [`StoreError::Unknown`]: the change may have happened, and is never reported as
//! success.

mod conditions;
mod connect;
mod error;
pub mod migrations;
pub mod partitions;
mod refusal;
mod row;
mod text_enum;
mod turn;
mod tx;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use deadpool_postgres::{Hook, HookError, Object, Pool};
use tokio_postgres::types::ToSql;

pub use crate::text_enum;
pub use conditions::Conditions;
pub use connect::{ConnectError, connect_once};
pub use error::{RowError, StoreError};
pub use refusal::TxError;
pub use row::Decode;
/// One row of a result.
pub use tokio_postgres::Row;
pub use turn::Turn;
pub use tx::Tx;

use crate::settings::Settings;
use refusal::Ending;

pub type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

#[derive(Clone)]
pub struct Store {
    pool: Pool,
    turns: Arc<turn::Turns>,
    sent: Arc<AtomicU64>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<store {:?}>", self.pool.status())
    }
}

impl Store {
    /// Prepares a pool; connects only when first used.
    pub fn open(settings: &Settings) -> Result<Self, ConnectError> {
        let manager = connect::manager(settings)?;
        let pool = Pool::builder(manager)
            .max_size(settings.database_pool_size)
            // The connection used last has the most cached data.
            .queue_mode(deadpool_postgres::QueueMode::Lifo)
            .post_create(Hook::async_fn(|connection, _| {
                Box::pin(async move {
                    connection.batch_execute(connect::PLANNING).await.map_err(HookError::Backend)
                })
            }))
            .runtime(deadpool_postgres::Runtime::Tokio1)
            .wait_timeout(Some(Duration::from_millis(settings.database_wait_milliseconds.into())))
            .create_timeout(Some(Duration::from_secs(5)))
            .recycle_timeout(Some(Duration::from_secs(1)))
            .build()
            .map_err(|error| ConnectError::Pool(error.to_string()))?;
        Ok(Self { pool, turns: Arc::default(), sent: Arc::default() })
    }

    /// The number of statements sent so far, to count what a request costs.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    async fn connection(&self) -> Result<Object, StoreError> {
        self.pool.get().await.map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    /// One statement that changes nothing.
    pub async fn read(
        &self,
        name: &'static str,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        observed(name, async {
            match self.statement(sql, params).await {
                Err(error) if error.is_connection_lost() || error.is_retryable() => {
                    self.statement(sql, params).await.map_err(StoreError::nothing_changed)
                }
                outcome => outcome,
            }
        })
        .await
    }

    /// One statement that guards and makes its own change. A serialization failure changed nothing, so the same
    /// statement runs again and sees the other transaction's row.
    pub async fn write(
        &self,
        name: &'static str,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        observed(name, async {
            match self.statement(sql, params).await {
                Err(error) if error.is_retryable() => self.statement(sql, params).await,
                outcome => outcome,
            }
        })
        .await
    }

    /// A statement that deletes at most `$1` rows and returns one for each, repeated until none is left.
    pub async fn sweep(&self, name: &'static str, sql: &str) -> Result<u64, StoreError> {
        const AT_A_TIME: i64 = 20_000;
        let mut swept = 0;
        loop {
            let rows = self.write(name, sql, &[&AT_A_TIME]).await?.len() as u64;
            swept += rows;
            if rows < AT_A_TIME.unsigned_abs() {
                return Ok(swept);
            }
        }
    }

    async fn statement(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let connection = self.connection().await?;
        self.sent.fetch_add(1, Ordering::Relaxed);
        let prepared = connection.prepare_cached(sql).await.map_err(StoreError::before_sending)?;
        Ok(connection.query(&prepared, params).await?)
    }

    /// Several statements as one transaction, repeated from the start on a serialization failure or deadlock. An error
    /// rolls back.
    pub async fn run_tx<T, W, F>(&self, name: &'static str, work: W) -> Result<T, StoreError>
    where
        W: Fn(Tx) -> F,
        F: Future<Output = Result<T, StoreError>>,
    {
        observed(name, tx::run(self, name, work)).await
    }

    /// The same for work that locks a contended row: it takes a connection when its turn comes.
    pub async fn run_tx_in_turn<T, W, F>(
        &self,
        turn: Turn,
        name: &'static str,
        work: W,
    ) -> Result<T, StoreError>
    where
        W: Fn(Tx) -> F,
        F: Future<Output = Result<T, StoreError>>,
    {
        self.in_turn(turn, name, work).await
    }

    /// [`Store::run_tx`] for work that may refuse; [`TxError`] tells whether its changes stay.
    pub async fn try_tx<T, R, W, F>(&self, name: &'static str, work: W) -> Result<T, TxError<R>>
    where
        W: Fn(Tx) -> F,
        F: Future<Output = Result<T, TxError<R>>>,
    {
        observed(name, tx::run(self, name, work)).await
    }

    /// [`Store::run_tx_in_turn`] for work that may refuse.
    pub async fn try_tx_in_turn<T, R, W, F>(
        &self,
        turn: Turn,
        name: &'static str,
        work: W,
    ) -> Result<T, TxError<R>>
    where
        W: Fn(Tx) -> F,
        F: Future<Output = Result<T, TxError<R>>>,
    {
        self.in_turn(turn, name, work).await
    }

    async fn in_turn<T, E, W, F>(&self, turn: Turn, name: &'static str, work: W) -> Result<T, E>
    where
        E: Ending,
        W: Fn(Tx) -> F,
        F: Future<Output = Result<T, E>>,
    {
        observed(name, async {
            let _held = self.turns.wait(turn).await?;
            tx::run(self, name, work).await
        })
        .await
    }
}

/// A source of rows: the store itself, or an open transaction.
pub trait Reader: Sync {
    fn rows<'a>(
        &'a self,
        name: &'static str,
        sql: &'a str,
        params: Params<'a>,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send + 'a;
}

impl Reader for Store {
    fn rows<'a>(
        &'a self,
        name: &'static str,
        sql: &'a str,
        params: Params<'a>,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send + 'a {
        self.read(name, sql, params)
    }
}

impl Reader for Tx {
    fn rows<'a>(
        &'a self,
        _name: &'static str,
        sql: &'a str,
        params: Params<'a>,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send + 'a {
        self.query(sql, params)
    }
}

/// Counts and times an operation under its name.
async fn observed<T, E: Ending>(
    name: &'static str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let started = Instant::now();
    let outcome = work.await;
    let failure = outcome.as_ref().err().and_then(Ending::store);
    let label = failure.map_or("ok", StoreError::label);
    metrics::histogram!("porteiro_store_seconds", "operation" => name, "outcome" => label)
        .record(started.elapsed().as_secs_f64());
    if let Some(error) = failure {
        tracing::warn!(operation = name, outcome = label, %error, "a database operation failed");
    }
    outcome
}
