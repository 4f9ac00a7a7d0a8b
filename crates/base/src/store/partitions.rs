//! Expired rows are removed by dropping partitions, not one by one (a DROP costs 15 ms, a DELETE of the same rows
//! minutes of vacuum).
//!
//! Partitions are ranges of the UUIDv7 primary key, so the key alone stays unique and a row's id tells its partition.

use porteiro_protocol::{
    id::ordered_floor,
    time::{Duration, OffsetDateTime},
};
use uuid::Uuid;

use super::{Store, StoreError};

/// A table whose rows are dropped by partition.
#[derive(Debug, Clone, Copy)]
pub struct Partitioned {
    pub table: &'static str,
    /// The period of one partition.
    pub span: Duration,
    /// How long a partition is kept after its end.
    pub keep: Duration,
    /// Room left on each page for rows that are updated in place, so that an update needs no new index entry.
    pub fillfactor: u8,
}

const fn appended(table: &'static str, span: Duration, keep: Duration) -> Partitioned {
    Partitioned { table, span, keep, fillfactor: 100 }
}

const fn rewritten(table: &'static str, span: Duration, keep: Duration) -> Partitioned {
    Partitioned { table, span, keep, fillfactor: 90 }
}

/// All partitioned tables.
pub const PARTITIONED: &[Partitioned] = &[
    appended("job_outcome", Duration::days(1), Duration::days(7)),
    rewritten("session", Duration::days(30), Duration::days(31)),
    appended("flow", Duration::days(1), Duration::days(1)),
    appended("assertion_seen", Duration::days(1), Duration::days(1)),
    appended("challenge", Duration::days(1), Duration::days(1)),
    // A refresh token family ends at most thirty days after its code was issued.
    rewritten("oauth_grant", Duration::days(30), Duration::days(31)),
    appended("pushed_request", Duration::days(1), Duration::days(1)),
    appended("code_challenge_seen", Duration::days(1), Duration::days(1)),
    appended("proof_seen", Duration::days(1), Duration::days(1)),
    // Kept for years: an operator who wants less drops partitions; entries are never deleted.
    appended("security_log", Duration::days(30), Duration::days(3_650)),
    appended("security_log_personal", Duration::days(30), Duration::days(3_650)),
    // The part that organizations see: 400 days.
    appended("trail", Duration::days(30), Duration::days(400)),
    appended("trail_personal", Duration::days(30), Duration::days(400)),
    appended("refusal", Duration::days(7), Duration::days(35)),
    appended("idempotent_request", Duration::days(1), Duration::days(2)),
];

/// How many future partitions exist, so that a missed run does no harm.
const AHEAD: i32 = 3;

/// The result of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Maintained {
    pub created: u32,
    pub dropped: u32,
}

#[derive(Debug, PartialEq, Eq)]
struct Partition {
    name: String,
    from: Uuid,
    to: Uuid,
}

impl Partitioned {
    /// The partition of a time: `table_p<start in unix seconds>`.
    fn partition_at(&self, at: OffsetDateTime) -> Partition {
        let span = self.span.whole_seconds();
        let start = at.unix_timestamp().div_euclid(span) * span;
        let floor = |seconds| OffsetDateTime::from_unix_timestamp(seconds).map_or(Uuid::nil(), ordered_floor);
        Partition { name: format!("{}_p{start}", self.table), from: floor(start), to: floor(start + span) }
    }

    /// Whether a partition of this name has expired. Other names are ignored.
    fn has_expired(&self, name: &str, now: OffsetDateTime) -> bool {
        name.strip_prefix(self.table)
            .and_then(|rest| rest.strip_prefix("_p"))
            .and_then(|start| start.parse::<i64>().ok())
            .is_some_and(|start| {
                start + self.span.whole_seconds() + self.keep.whole_seconds() < now.unix_timestamp()
            })
    }
}

/// Creates the partitions of the coming days and drops the expired ones, by the database's clock.
pub async fn maintain(store: &Store) -> Result<Maintained, StoreError> {
    let now: OffsetDateTime = store
        .read("partitions.now", "SELECT now() AS now", &[])
        .await?
        .first()
        .map(|row| row.get("now"))
        .ok_or_else(|| StoreError::Inconsistent("SELECT now() returned no row".into()))?;
    let mut done = Maintained::default();
    for table in PARTITIONED {
        let rows = store
            .read(
                "partitions.list",
                "SELECT child.relname::text AS name FROM pg_inherits
                 JOIN pg_class child ON child.oid = inhrelid
                 WHERE inhparent = to_regclass($1)",
                &[&table.table],
            )
            .await?;
        let existing: Vec<String> = rows.iter().map(|row| row.get("name")).collect();
        for step in 0..=AHEAD {
            let wanted = table.partition_at(now + table.span * step);
            if !existing.contains(&wanted.name) {
                create(store, table, &wanted).await?;
                done.created += 1;
            }
        }
        for name in existing.iter().filter(|name| table.has_expired(name, now)) {
            store
                .run_tx("partitions.drop", |tx| async move {
                    super::migrations::lock(&tx).await?;
                    tx.batch(&format!("DROP TABLE IF EXISTS {name}")).await
                })
                .await?;
            done.dropped += 1;
        }
    }
    guard_logs(store).await?;
    Ok(done)
}

/// Partitions do not inherit all restrictions of a partitioned table (`migrations/0010`). Repeated every time, because
/// a node of an older release may have created some.
async fn guard_logs(store: &Store) -> Result<(), StoreError> {
    store
        .run_tx("partitions.guard", |tx| async move {
            super::migrations::lock(&tx).await?;
            tx.query("SELECT guard_log_partitions()", &[]).await.map(|_| ())
        })
        .await
}

/// Names and bounds come from numbers, never from input.
async fn create(store: &Store, table: &Partitioned, wanted: &Partition) -> Result<(), StoreError> {
    let sql = format!(
        "CREATE TABLE IF NOT EXISTS {} PARTITION OF {} FOR VALUES FROM ('{}') TO ('{}') WITH (fillfactor = {})",
        wanted.name, table.table, wanted.from, wanted.to, table.fillfactor
    );
    let sql = &sql;
    store
        .run_tx("partitions.create", |tx| async move {
            // `IF NOT EXISTS` alone does not stop two nodes from creating it at the same moment.
            super::migrations::lock(&tx).await?;
            tx.batch(sql).await
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAILY: Partitioned = appended("t", Duration::days(1), Duration::days(7));

    #[test]
    fn partitions_meet_without_gap_or_overlap() {
        let noon = OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap();
        let (today, tomorrow) = (DAILY.partition_at(noon), DAILY.partition_at(noon + Duration::DAY));
        assert_eq!(today.to, tomorrow.from);
        assert_eq!(DAILY.partition_at(noon + Duration::HOUR), today);
    }

    #[test]
    fn a_partition_is_dropped_only_when_its_last_row_has_expired() {
        let noon = OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap();
        let name = DAILY.partition_at(noon).name;
        assert!(!DAILY.has_expired(&name, noon + Duration::days(7)));
        assert!(DAILY.has_expired(&name, noon + Duration::days(9)));
        for foreign in ["t_archive", "t_p", "other_p1", "t_p1x"] {
            assert!(!DAILY.has_expired(foreign, noon));
        }
    }
}
