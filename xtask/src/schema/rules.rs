//! The portable subset, rule by rule: it keeps the schema portable to a distributed database.

use super::{Column, ForeignKey, Schema, Shard, Table};

/// Columns (table, column) that change so often that an index on them would prevent HOT updates.
pub const HOT: &[(&str, &str)] = &[
    ("api_key", "last_used_at"),
    ("credential", "failures"),
    ("credential", "last_used_at"),
    ("limit_bucket", "full_at"),
    ("session", "seen_at"),
    ("session", "token_hash"),
];

/// Tables that may have triggers, with the reason.
pub const MAY_HAVE_TRIGGERS: &[(&str, &str)] = &[
    ("security_log", "append-only must hold for a superuser too, and only a trigger can refuse one"),
    ("trail", "the same, for what customers are shown"),
];

/// Types as `format_type` spells them.
const TYPES: &[&str] = &[
    "uuid",
    "text",
    "text[]",
    "bytea",
    "jsonb",
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "smallint[]",
    "uuid[]",
    "timestamp with time zone",
    "inet",
    "double precision",
];

/// The table, and what is wrong with it.
pub type Violation = (String, String);

pub fn violations(
    schema: &Schema,
    hot: &[(&str, &str)],
    may_have_triggers: &[(&str, &str)],
) -> Vec<Violation> {
    let mut found: Vec<Violation> = Vec::new();
    for table in &schema.tables {
        let wrong = [
            sharding(table),
            columns(table),
            foreign_keys(table, schema),
            triggers(table, may_have_triggers),
            hot_columns(table, hot),
        ];
        found.extend(wrong.concat().into_iter().map(|what| (table.name.clone(), what)));
    }
    let sequence = "is a sequence; take an ordered id from the service (Id::ordered)";
    found.extend(schema.sequences.iter().map(|name| (name.clone(), sequence.to_owned())));
    for (table, column) in hot {
        if !schema.tables.iter().any(|one| one.name == *table && one.column(column).is_some()) {
            let what = format!("has no column {column}, though HOT in xtask/src/schema/rules.rs names it");
            found.push(((*table).to_owned(), what));
        }
    }
    found
}

impl Table {
    fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    fn shard(&self) -> Option<Shard<'_>> {
        self.described().map(|(shard, _)| shard)
    }
}

fn sharding(table: &Table) -> Vec<String> {
    let mut wrong = Vec::new();
    if table.primary_key().is_none() {
        wrong.push("has no primary key; give it one".to_owned());
    }
    match table.shard() {
        None => wrong.push(
            "does not say how it is sharded; begin its comment with 'shard: <column>. ' or 'shard: replicated. '"
                .to_owned(),
        ),
        Some(Shard::Replicated) => {}
        Some(Shard::By(key)) => match table.column(key) {
            None => wrong.push(format!("is sharded by {key}, which is no column of it; correct its comment")),
            Some(column) => {
                if !column.not_null {
                    wrong.push(format!("is sharded by {key}, which may be null; make it NOT NULL"));
                }
                let unique = table.indexes.iter().filter(|index| index.unique || index.primary);
                wrong.extend(unique.filter(|index| !index.keys.iter().any(|name| name == key)).map(|index| {
                    format!("is sharded by {key}, which is not in the unique index {}; add it there", index.name)
                }));
            }
        },
    }
    wrong
}

fn columns(table: &Table) -> Vec<String> {
    let mut wrong = Vec::new();
    for Column { name, kind, identity, .. } in &table.columns {
        if !TYPES.contains(&kind.as_str()) {
            wrong.push(format!("has the column {name} of type {kind}; {}", instead_of(kind)));
        }
        if *identity {
            wrong.push(format!("has the identity column {name}; take an ordered id from the service"));
        }
    }
    wrong
}

fn instead_of(kind: &str) -> String {
    let beginning = |start: &str| kind.starts_with(start);
    if beginning("timestamp") || beginning("date") || beginning("time") {
        "use timestamptz".to_owned()
    } else if beginning("json") {
        "use jsonb".to_owned()
    } else if beginning("character") || beginning("\"char\"") {
        "use text, with a CHECK if it is bounded".to_owned()
    } else {
        format!("use one of {}", TYPES.join(", "))
    }
}

fn foreign_keys(table: &Table, schema: &Schema) -> Vec<String> {
    let target = |key: &ForeignKey| schema.tables.iter().find(|other| other.name == key.target);
    let apart = table.foreign_keys.iter().filter(|key| {
        let aligned =
            |by: &str| key.columns.iter().zip(&key.target_columns).any(|(from, to)| from == by && to == by);
        match (table.shard(), target(key).and_then(Table::shard)) {
            (_, Some(Shard::Replicated)) => false,
            (Some(Shard::By(ours)), Some(Shard::By(theirs))) => ours != theirs || !aligned(ours),
            (Some(Shard::Replicated) | None, Some(Shard::By(_))) | (_, None) => true,
        }
    });
    apart
        .map(|key| {
            format!(
                "has the foreign key {} to {}, which may live on another node; link tables of one shard key \
                 through that key, or drop it",
                key.name, key.target
            )
        })
        .collect()
}

fn triggers(table: &Table, allowed: &[(&str, &str)]) -> Vec<String> {
    if allowed.iter().any(|(name, _reason)| *name == table.name) {
        return Vec::new();
    }
    let wrong = |name| format!("has the trigger {name}; write it into the statement that makes the change");
    table.triggers.iter().map(wrong).collect()
}

fn hot_columns(table: &Table, hot: &[(&str, &str)]) -> Vec<String> {
    let columns: Vec<&str> =
        hot.iter().filter(|(name, _)| *name == table.name).map(|(_, column)| *column).collect();
    let pairs = columns.iter().flat_map(|column| table.indexes.iter().map(move |index| (column, index)));
    pairs
        .filter(|(column, index)| index.reads.iter().any(|name| name == *column))
        .map(|(column, index)| {
            format!("has the index {} on {column}, which changes often; drop the index", index.name)
        })
        .collect()
}
