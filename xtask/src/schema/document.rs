//! `docs/schema.md`.

use std::fmt::Write;

use super::{Column, Schema, Shard, Table};

const INTRODUCTION: &str = "# Schema

The tables after every migration, read from PostgreSQL's own catalogue. *Shard key*: the column by which a table would
be spread over nodes; a replicated table is small and whole on each of them.
";

pub fn document(schema: &Schema) -> String {
    schema.tables.iter().fold(INTRODUCTION.to_owned(), |mut text, table| {
        text.push('\n');
        text.push_str(&section(table));
        text
    })
}

fn section(table: &Table) -> String {
    let (shard, description) =
        table.described().map_or(("unknown".to_owned(), ""), |(shard, description)| {
            let shard = match shard {
                Shard::Replicated => "none, replicated".to_owned(),
                Shard::By(column) => format!("`{column}`"),
            };
            (shard, description)
        });
    let primary = table.primary_key().map(|index| index.keys.join("`, `")).unwrap_or_default();
    let mut text =
        format!("## {}\n\n{description}\n\n- Shard key: {shard}\n- Primary key: `{primary}`\n", table.name);
    if let Some(partitioned_by) = &table.partitioned_by {
        let _ = writeln!(text, "- Partitioned by: `{partitioned_by}`");
    }
    text.push_str("\n| Column | Type | Null |\n|---|---|---|\n");
    for Column { name, kind, not_null, .. } in &table.columns {
        let kind = if kind == "timestamp with time zone" { "timestamptz" } else { kind };
        let null = if *not_null { "no" } else { "yes" };
        let _ = writeln!(text, "| {name} | {kind} | {null} |");
    }
    text
}
