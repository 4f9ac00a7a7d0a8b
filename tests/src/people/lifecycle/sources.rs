//! The list of sources is the schema: a new table or column about a person cannot be forgotten.

use std::collections::{BTreeMap, BTreeSet};

use porteiro_service::personal_data::sources::{self, IMPERSONAL, OTHER};

/// Names of columns that refer to a person.
const REFERENCES: &[&str] =
    &["account_id", "membership_id", "subject_id", "owner_id", "actor_id", "email", "user_agent"];

#[tokio::test]
async fn every_table_and_every_column_of_it_is_accounted_for() {
    let app = super::super::app().await;
    let rows = app
        .database
        .client()
        .await
        .query(
            "SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
             WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
               AND a.attnum > 0 AND NOT a.attisdropped",
            &[],
        )
        .await
        .unwrap();
    let mut schema: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in &rows {
        schema.entry(row.get(0)).or_default().insert(row.get(1));
    }
    let mut listed: Vec<&str> = sources::all().map(|source| source.table).collect();
    listed.extend(OTHER.iter().map(|(table, _)| *table));
    listed.extend(IMPERSONAL);
    listed.sort_unstable();
    let tables: Vec<&str> = schema.keys().map(String::as_str).collect();
    assert_eq!(listed, tables, "personal_data/store/sources: each table once, and no other");
    for source in sources::all() {
        let mut columns: Vec<&str> = source.columns().collect();
        columns.sort_unstable();
        let stored: Vec<&str> = schema[source.table].iter().map(String::as_str).collect();
        assert_eq!(columns, stored, "{}: each column is shown, or withheld for a reason", source.table);
    }
    for table in IMPERSONAL {
        let about: Vec<_> =
            schema[*table].iter().filter(|name| REFERENCES.contains(&name.as_str())).collect();
        assert!(about.is_empty(), "{table} refers to a person: {about:?}");
    }
}
