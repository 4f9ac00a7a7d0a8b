//! The data: clients, APIs, people, organizations and the families of grants.

use anyhow::{Context, Result, ensure};
use porteiro_protocol::{id::ordered_floor, time::OffsetDateTime};
use porteiro_service::{
    oauth::{
        apis::{self, Api},
        clients::{self, Trust},
        grant_types::{CIBA, TOKEN_EXCHANGE},
    },
    settings::{Sensitive, Settings},
    store::Store,
};
use serde_json::json;
use tokio_postgres::Client;

use crate::{
    families::{DAYS, Holder, Numbering, hash_sql},
    machine::{ISSUER, SystemEntropy},
    say,
    tables::{self, Grants},
};

pub const API: &str = "https://ledger.example.org";
pub const SCOPE: &str = "invoices:read";
/// An API whose scopes are permissions, held through roles in an organization.
pub const ORGANIZATION_API: &str = "https://payroll.example.org";
pub const ORGANIZATION_SCOPE: &str = "payslips:read";
const SPAN: i64 = 30 * 86_400;

/// A client, how it proves itself, and whose grants it presents.
#[derive(Debug, Clone)]
pub struct Caller {
    pub id: String,
    pub secret: Option<String>,
    pub holder: Holder,
}

/// What is in the database: numbering and clients. Made once and read when the folder is used again.
pub struct Filled {
    pub numbering: Numbering,
    pub confidential: Caller,
    pub public: Caller,
    /// The confidential one again, with grants of members of organizations.
    pub organization: Caller,
    /// To which everybody delegated the scope, and which asked for approvals.
    pub agent: Caller,
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
    let known = "SELECT families, start, clients, EXISTS (SELECT 1 FROM organization) FROM bench";
    if let Some(row) = database.query_opt(known, &[]).await? {
        ensure!(row.get::<_, bool>(3), OTHER_VERSION);
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
    let filled = filled(numbering, &named)?;
    rows(database, &filled).await?;
    let (count, start) = (i64::try_from(families)?, i64::try_from(numbering.start)?);
    database.execute("INSERT INTO bench VALUES ($1, $2, $3)", &[&count, &start, &named]).await?;
    Ok(filled)
}

const OTHER_VERSION: &str = "the state folder was filled by another version: remove it";

fn filled(numbering: Numbering, named: &[String]) -> Result<Filled> {
    let [id, secret, public, agent, agent_secret] = named else { anyhow::bail!(OTHER_VERSION) };
    let confidential = Caller { id: id.clone(), secret: Some(secret.clone()), holder: Holder::Person };
    Ok(Filled {
        numbering,
        organization: Caller { holder: Holder::Member, ..confidential.clone() },
        agent: Caller { id: agent.clone(), secret: Some(agent_secret.clone()), holder: Holder::Person },
        public: Caller { id: public.clone(), secret: None, holder: Holder::PublicClient },
        confidential,
    })
}

/// Two APIs, a confidential client, a public one and an agent, as an operator makes them.
async fn callers(url: &str) -> Result<Vec<String>> {
    let settings = Settings {
        database_url: Sensitive::new(url.to_owned()),
        base_url: ISSUER.into(),
        ..Settings::default()
    };
    let store = Store::open(&settings)?;
    for (identifier, scope, organizational) in
        [(API, SCOPE, false), (ORGANIZATION_API, ORGANIZATION_SCOPE, true)]
    {
        let text = json!({"en": "Read something", "pt": "Ler algo"});
        let api = json!({"identifier": identifier, "name": "Bench", "organizational": organizational,
            "scopes": [{"name": scope, "open_to_unverified": true, "description": text}]});
        let api: Api = serde_json::from_value(api)?;
        apis::register(&store, &api).await?;
    }
    let mut named = Vec::new();
    let redirects = ["https://app.example.org/callback"];
    let all = [
        json!({"client_name": "Confidential", "redirect_uris": redirects, "response_types": ["code"],
            "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
            "token_endpoint_auth_method": "client_secret_basic"}),
        json!({"client_name": "Public", "redirect_uris": redirects, "response_types": ["code"],
            "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "none"}),
        json!({"client_name": "Agent", "kind": "agent", "response_types": [], "redirect_uris": [],
            "grant_types": [TOKEN_EXCHANGE, CIBA], "backchannel_token_delivery_mode": "poll",
            "token_endpoint_auth_method": "client_secret_basic"}),
    ];
    for metadata in all {
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

async fn rows(database: &Client, filled: &Filled) -> Result<()> {
    let families = filled.numbering.families;
    let step = 500_000;
    for from in (0..families).step_by(step) {
        let to = families.min(from + step as u64) - 1;
        let grants = Grants {
            id: filled.numbering.grant_sql("i"),
            hash: hash_sql("i"),
            generation: 1,
            challenge: "sha256(int8send(i))".into(),
            person: "i".into(),
            confidential: &filled.confidential,
            public: &filled.public,
            numbers: (from, to),
        };
        let delegations = tables::delegations(&filled.agent, from, to);
        let sql = format!("{}; {}; {delegations}", grants.insert(), tables::people(from, to));
        database.batch_execute(&sql).await.context("filling")?;
    }
    database.batch_execute(&tables::organizations(families)).await.context("filling organizations")?;
    let approvals = tables::approvals(&filled.numbering, &filled.agent);
    database.batch_execute(&approvals).await.context("filling approvals")?;
    for table in [
        "oauth_grant",
        "account",
        "organization",
        "role",
        "membership",
        "membership_role",
        "delegation",
        "approval",
    ] {
        database.batch_execute(&format!("VACUUM ANALYZE {table}")).await?;
    }
    database.batch_execute("CHECKPOINT").await?;
    Ok(())
}
