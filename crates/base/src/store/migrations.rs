//! The schema, as append-only steps (`migrations/README.md`).
//!
//! Each step is one transaction that first takes an advisory lock: several nodes may start at once, and a killed one
//! leaves either the whole step or nothing.

use super::{Store, StoreError, Tx};

/// One step. `compatible_from` is the oldest schema whose binaries still work after it: during a rolling upgrade they
/// recognize that a newer schema still fits them.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    pub version: i32,
    pub name: &'static str,
    pub compatible_from: i32,
    pub sql: &'static str,
}

macro_rules! migrations {
    ($($version:literal, $name:literal, compatible from $from:literal;)+) => {
        /// All steps, in order. Only appended to.
        pub const MIGRATIONS: &[Migration] = &[$(Migration {
            version: $version,
            name: $name,
            compatible_from: $from,
            sql: include_str!(concat!("../../../../migrations/", $name, ".sql")),
        }),+];
    };
}

migrations! {
    1, "0001_house", compatible from 1;
    2, "0002_people", compatible from 1;
    3, "0003_clients", compatible from 1;
    4, "0004_grants", compatible from 1;
    5, "0005_organizations", compatible from 1;
    6, "0006_branding", compatible from 1;
    7, "0007_devices", compatible from 1;
    8, "0008_job_lanes", compatible from 1;
    9, "0009_grant_definition", compatible from 1;
    10, "0010_logs_and_keys", compatible from 1;
    11, "0011_endings", compatible from 1;
    12, "0012_anonymous", compatible from 1;
    13, "0013_grant_lineage", compatible from 1;
    14, "0014_delegations", compatible from 1;
    15, "0015_approvals", compatible from 1;
    16, "0016_metadata_documents", compatible from 1;
    17, "0017_authorization_servers", compatible from 1;
    18, "0018_assertion_issuers", compatible from 1;
    19, "0019_approval_letters", compatible from 1;
    20, "0020_lists_of_organizations", compatible from 1;
    21, "0021_connections", compatible from 1;
    22, "0022_push_subscriptions", compatible from 1;
    23, "0023_directories", compatible from 1;
    24, "0024_domains", compatible from 1;
    25, "0025_directory_consent", compatible from 1;
    26, "0026_directory_epochs", compatible from 1;
    27, "0027_provisioning", compatible from 1;
    28, "0028_account_deletion", compatible from 1;
    29, "0029_directory_sessions", compatible from 1;
    30, "0030_words_of_directories", compatible from 1;
}

/// "porteiro" in a 64-bit integer.
const LOCK: i64 = 0x706f_7274_6569_726f;

const BOOKKEEPING: &str = "
    CREATE TABLE IF NOT EXISTS schema_migration (
        version integer PRIMARY KEY,
        name text NOT NULL,
        compatible_from integer NOT NULL,
        checksum bytea NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    );
    COMMENT ON TABLE schema_migration IS 'shard: replicated. Which steps of the schema were applied.'";

/// The relation of the database's schema to this binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// Exactly ours, or a newer one that is compatible with this binary.
    Expected,
    /// Steps are missing.
    Behind { applied: i32, expected: i32 },
    /// A newer schema that is not compatible with this binary.
    TooNew { applied: i32, compatible_from: i32 },
    /// An applied step differs from ours of the same number.
    Different { version: i32 },
}

impl std::fmt::Display for SchemaState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Expected => write!(f, "the schema is up to date"),
            Self::Behind { applied, expected } => write!(
                f,
                "the schema is at step {applied}, but this binary expects step {expected}; run: porteiro migrate"
            ),
            Self::TooNew { applied, compatible_from } => write!(
                f,
                "the schema is at step {applied}, which requires a binary that expects step {compatible_from} or later; install a newer porteiro"
            ),
            Self::Different { version } => write!(
                f,
                "step {version} of the schema differs from this binary's; it was changed by hand or applied by another build: restore a backup or use that build"
            ),
        }
    }
}

fn checksum(migration: &Migration) -> Vec<u8> {
    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, migration.sql.as_bytes()).as_ref().to_vec()
}

/// The step this binary was built for.
pub fn expected() -> i32 {
    MIGRATIONS.last().map_or(0, |last| last.version)
}

/// Reads the state of the schema.
pub async fn state(store: &Store) -> Result<SchemaState, StoreError> {
    let known = store
        .read("schema.exists", "SELECT to_regclass('schema_migration') IS NOT NULL AS known", &[])
        .await?;
    if !known.first().is_some_and(|row| row.get("known")) {
        return Ok(SchemaState::Behind { applied: 0, expected: expected() });
    }
    let rows = store
        .read(
            "schema.state",
            "SELECT version, compatible_from, checksum FROM schema_migration ORDER BY version",
            &[],
        )
        .await?;
    let applied: Vec<(i32, i32, Vec<u8>)> = rows
        .iter()
        .map(|row| (row.get("version"), row.get("compatible_from"), row.get("checksum")))
        .collect();
    Ok(compare(&applied))
}

fn compare(applied: &[(i32, i32, Vec<u8>)]) -> SchemaState {
    let newest = applied.last().map_or(0, |(version, ..)| *version);
    for migration in MIGRATIONS {
        match applied.iter().find(|(version, ..)| *version == migration.version) {
            None => return SchemaState::Behind { applied: newest, expected: expected() },
            Some((version, _, sum)) if *sum != checksum(migration) => {
                return SchemaState::Different { version: *version };
            }
            Some(_) => {}
        }
    }
    match applied.iter().map(|(_, from, _)| *from).max() {
        Some(compatible_from) if compatible_from > expected() => {
            SchemaState::TooNew { applied: newest, compatible_from }
        }
        _ => SchemaState::Expected,
    }
}

/// Applies all missing steps, calling `progress` after each. Safe to run on several nodes at once.
pub async fn apply(store: &Store, progress: impl Fn(&Migration)) -> Result<u32, StoreError> {
    let mut applied = 0;
    store
        .run_tx("schema.prepare", |tx| async move {
            lock(&tx).await?;
            tx.batch(BOOKKEEPING).await
        })
        .await?;
    for migration in MIGRATIONS {
        if store.run_tx("schema.apply", |tx| apply_one(tx, migration)).await? {
            applied += 1;
            progress(migration);
        }
    }
    super::partitions::maintain(store).await?;
    Ok(applied)
}

/// Only one node at a time changes the schema.
pub(super) async fn lock(tx: &Tx) -> Result<(), StoreError> {
    // No timeout here: another node is migrating.
    tx.batch("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0").await?;
    tx.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await.map(|_| ())
}

async fn apply_one(tx: Tx, migration: &Migration) -> Result<bool, StoreError> {
    lock(&tx).await?;
    let rows = tx.query("SELECT 1 FROM schema_migration WHERE version = $1", &[&migration.version]).await?;
    if !rows.is_empty() {
        return Ok(false);
    }
    tx.batch(migration.sql).await?;
    tx.execute(
        "INSERT INTO schema_migration (version, name, compatible_from, checksum) VALUES ($1, $2, $3, $4)",
        &[&migration.version, &migration.name, &migration.compatible_from, &checksum(migration)],
    )
    .await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Vec<(i32, i32, Vec<u8>)> {
        MIGRATIONS.iter().map(|one| (one.version, one.compatible_from, checksum(one))).collect()
    }

    #[test]
    fn a_newer_schema_serves_us_until_it_says_otherwise() {
        let mut schema = ours();
        assert_eq!(compare(&schema), SchemaState::Expected);
        let next = expected() + 1;
        schema.push((next, 1, vec![1]));
        assert_eq!(compare(&schema), SchemaState::Expected);
        schema.push((next + 1, next, vec![2]));
        assert_eq!(compare(&schema), SchemaState::TooNew { applied: next + 1, compatible_from: next });
    }

    #[test]
    fn missing_or_altered_steps_are_seen() {
        assert_eq!(compare(&[]), SchemaState::Behind { applied: 0, expected: expected() });
        let mut schema = ours();
        schema[0].2 = vec![0];
        assert_eq!(compare(&schema), SchemaState::Different { version: 1 });
    }

    #[test]
    fn versions_are_consecutive_and_named_after_their_number() {
        for (index, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(usize::try_from(migration.version).unwrap(), index + 1);
            assert!(migration.name.starts_with(&format!("{:04}_", migration.version)));
            assert!(migration.compatible_from <= migration.version);
        }
    }
}
