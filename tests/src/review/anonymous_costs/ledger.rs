//! How much there is in the database: rows and bytes of every table, exactly.

use porteiro_testkit::TestApp;

#[derive(Debug, Clone, Copy)]
pub struct Ledger {
    pub rows: i64,
    pub bytes: i64,
}

impl Ledger {
    /// Partitions are counted through their tables. Jobs that ran and schedules are the service's own doing.
    pub async fn read(app: &TestApp) -> Self {
        let client = app.database.client().await;
        let tables = "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
               AND c.relname NOT IN ('job_outcome', 'schedule', 'schema_migration')";
        let (mut rows, mut bytes) = (0, 0);
        for table in client.query(tables, &[]).await.unwrap() {
            let name: String = table.get(0);
            let sql =
                format!("SELECT count(*), coalesce(sum(octet_length(t::text)), 0)::bigint FROM {name} t");
            let found = client.query_one(&sql, &[]).await.unwrap();
            rows += found.get::<_, i64>(0);
            bytes += found.get::<_, i64>(1);
        }
        Self { rows, bytes }
    }
}
