//! The data, and what the database counts.

use anyhow::{Context, Result};
use porteiro_protocol::{id::ordered_floor, time::OffsetDateTime};
use porteiro_service::{
    oauth::{
        apis::{self, Api},
        clients::{self, Trust},
    },
    settings::{Sensitive, Settings},
    store::Store,
};
use serde_json::json;
use tokio_postgres::{Client, NoTls};

use crate::{
    families::{DAYS, Numbering, account_sql, hash_sql},
    machine::{ISSUER, SystemEntropy},
    say,
};

pub const API: &str = "https://ledger.example.org";
pub const SCOPE: &str = "invoices:read";
const SPAN: i64 = 30 * 86_400;

pub async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::task::spawn_local(connection);
    Ok(client)
}

/// A client and how it proves itself.
#[derive(Debug, Clone)]
pub struct Caller {
    pub id: String,
    pub secret: Option<String>,
}

/// What is in the database: numbering and clients. Made once and read when the folder is used again.
pub struct Filled {
    pub numbering: Numbering,
    pub confidential: Caller,
    pub public: Caller,
}

pub async fn fill(database: &Client, url: &str, families: u64) -> Result<Filled> {
    for statement in [
        "CREATE TABLE IF NOT EXISTS bench (families bigint, start bigint, clients text[])",
        // Rounds are to be compared with each other: no checkpoint in between.
        "ALTER SYSTEM SET checkpoint_timeout = '1h'",
        "ALTER SYSTEM SET max_wal_size = '8GB'",
        "SELECT pg_reload_conf()",
    ] {
        database.batch_execute(statement).await?;
    }
    if let Some(row) = database.query_opt("SELECT families, start, clients FROM bench", &[]).await? {
        let number = |index: usize| u64::try_from(row.get::<_, i64>(index));
        let numbering = Numbering { families: number(0)?, start: number(1)? };
        return filled(numbering, &row.get::<_, Vec<String>>(2));
    }
    let now: OffsetDateTime = database.query_one("SELECT now()", &[]).await?.get(0);
    let millis = u64::try_from(now.unix_timestamp())? * 1_000;
    let numbering = Numbering { families, start: millis - DAYS * 86_400_000 };
    let named = callers(url).await?;
    partitions(database, now).await?;
    say(&format!("filling {families} families"));
    rows(database, &numbering, &named[0], &named[2]).await?;
    let (count, start) = (i64::try_from(families)?, i64::try_from(numbering.start)?);
    database.execute("INSERT INTO bench VALUES ($1, $2, $3)", &[&count, &start, &named]).await?;
    filled(numbering, &named)
}

fn filled(numbering: Numbering, named: &[String]) -> Result<Filled> {
    let [id, secret, public] = named else { anyhow::bail!("the folder is of another version") };
    let confidential = Caller { id: id.clone(), secret: Some(secret.clone()) };
    Ok(Filled { numbering, confidential, public: Caller { id: public.clone(), secret: None } })
}

/// The API, a confidential client and a public one, as an operator makes them.
async fn callers(url: &str) -> Result<Vec<String>> {
    let settings = Settings {
        database_url: Sensitive::new(url.to_owned()),
        base_url: ISSUER.into(),
        ..Settings::default()
    };
    let store = Store::open(&settings)?;
    let text = json!({"en": "Read invoices", "pt": "Ler faturas"});
    let api = json!({"identifier": API, "name": "Ledger",
        "scopes": [{"name": SCOPE, "open_to_unverified": true, "description": text}]});
    let api: Api = serde_json::from_value(api)?;
    apis::register(&store, &api).await?;
    let mut named = Vec::new();
    for method in ["client_secret_basic", "none"] {
        let mut grants = vec!["authorization_code", "refresh_token"];
        if method != "none" {
            grants.push("client_credentials");
        }
        let metadata = json!({"client_name": method, "redirect_uris": ["https://app.example.org/callback"],
            "grant_types": grants, "response_types": ["code"], "token_endpoint_auth_method": method});
        let made = clients::create(&store, &SystemEntropy, &metadata, Trust::Verified).await?;
        named.push(made.client_id);
        named.extend(made.secret.map(|secret| secret.reveal().to_string()));
    }
    Ok(named)
}

/// Those of the past, as a deployment of some months has them.
async fn partitions(database: &Client, now: OffsetDateTime) -> Result<()> {
    let current = now.unix_timestamp().div_euclid(SPAN) * SPAN;
    for start in [current - 2 * SPAN, current - SPAN, current] {
        let floor = |seconds| OffsetDateTime::from_unix_timestamp(seconds).map(ordered_floor);
        let (from, to) = (floor(start)?, floor(start + SPAN)?);
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS oauth_grant_p{start} PARTITION OF oauth_grant
             FOR VALUES FROM ('{from}') TO ('{to}') WITH (fillfactor = 90)"
        );
        database.batch_execute(&sql).await?;
    }
    Ok(())
}

async fn rows(database: &Client, numbering: &Numbering, confidential: &str, public: &str) -> Result<()> {
    let grant = numbering.grant_sql("i");
    let (account, hash) = (account_sql("i"), hash_sql("i"));
    let terms = json!({"level": "aal2", "auth_time": 1_790_000_000, "amr": ["pwd", "otp", "mfa"], "nonce": "n-0S6_WzA2Mj"});
    let step = 500_000;
    for from in (0..numbering.families).step_by(step) {
        let to = numbering.families.min(from + step as u64) - 1;
        let sql = format!(
            "INSERT INTO oauth_grant (grant_id, account_id, client_id, generation, current_hash, expires_at, ends_at,
                 idle_seconds, session_id, offline, code_challenge, redirect_uri, scope, audience, terms)
             SELECT {grant}, {account}, CASE WHEN i % 16 = 2 THEN '{public}' ELSE '{confidential}' END, 1, {hash},
                 now() + interval '20 days', now() + interval '25 days', 14 * 86400,
                 gen_random_uuid(), true, sha256(int8send(i)), 'https://app.example.org/callback', '{SCOPE}', '{API}', '{terms}'
             FROM generate_series({from}::bigint, {to}) i;
             INSERT INTO account (account_id, state, display_name, locale, user_handle)
             SELECT {account}, 'active', 'Person ' || i, 'en', int8send(i) FROM generate_series({from}::bigint, {to}) i"
        );
        database.batch_execute(&sql).await.context("filling")?;
    }
    for statement in ["VACUUM ANALYZE oauth_grant", "VACUUM ANALYZE account", "CHECKPOINT"] {
        database.batch_execute(statement).await?;
    }
    Ok(())
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
