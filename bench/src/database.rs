//! The connection, and what the database counts.

use anyhow::Result;
use tokio_postgres::{Client, NoTls};

pub async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::task::spawn_local(connection);
    Ok(client)
}

/// What the database had written and handed out at one moment.
#[derive(Debug, Clone)]
pub struct Counters {
    pub lsn: String,
    pub wal: i64,
    pub transactions: i64,
}

pub async fn counters(database: &Client) -> Result<Counters> {
    let row = database
        .query_one(
            "SELECT pg_current_wal_insert_lsn()::text, (pg_current_wal_insert_lsn() - '0/0')::int8,
                    pg_snapshot_xmax(pg_current_snapshot())::text::int8",
            &[],
        )
        .await?;
    Ok(Counters { lsn: row.get(0), wal: row.get(1), transactions: row.get(2) })
}

/// Updates of grants, and how many of them left the indexes alone.
pub async fn updates(database: &Client) -> Result<(i64, i64)> {
    let row = database
        .query_one(
            "SELECT coalesce(sum(n_tup_upd), 0)::int8, coalesce(sum(n_tup_hot_upd), 0)::int8
             FROM pg_stat_user_tables WHERE relname LIKE 'oauth_grant_p%'",
            &[],
        )
        .await?;
    Ok((row.get(0), row.get(1)))
}

/// How large the grants and their indexes are.
pub async fn size(database: &Client) -> Result<i64> {
    let sql = "SELECT sum(pg_total_relation_size(oid))::int8 FROM pg_class WHERE relname LIKE 'oauth_grant_p%' AND relkind = 'r'";
    Ok(database.query_one(sql, &[]).await?.get(0))
}
