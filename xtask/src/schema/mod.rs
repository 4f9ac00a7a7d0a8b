//! The schema as PostgreSQL describes it, after all migrations: checked against the portable subset
//! (`migrations/README.md`) and written to `docs/schema.md`.

mod catalogue;
mod document;
mod rules;
mod scratch;
#[cfg(test)]
mod tests;

use std::path::Path;

use porteiro_service::store::{Store, migrations};

pub use document::document;
pub use rules::HOT;

use crate::{Finding, files, finding::line_of};

#[derive(Debug, Default)]
pub struct Schema {
    pub tables: Vec<Table>,
    pub sequences: Vec<String>,
}

/// A table or a partitioned one; partitions are not listed.
#[derive(Debug, Default)]
pub struct Table {
    pub name: String,
    pub comment: String,
    /// `RANGE (job_id)`.
    pub partitioned_by: Option<String>,
    pub columns: Vec<Column>,
    pub indexes: Vec<Index>,
    pub foreign_keys: Vec<ForeignKey>,
    pub triggers: Vec<String>,
}

#[derive(Debug)]
pub struct Column {
    pub name: String,
    pub kind: String,
    pub not_null: bool,
    pub identity: bool,
}

#[derive(Debug)]
pub struct Index {
    pub name: String,
    pub unique: bool,
    pub primary: bool,
    pub keys: Vec<String>,
    /// All columns it depends on: also included ones, and those of its expressions and its condition.
    pub reads: Vec<String>,
}

#[derive(Debug)]
pub struct ForeignKey {
    pub name: String,
    pub columns: Vec<String>,
    pub target: String,
    pub target_columns: Vec<String>,
}

/// How a table would be distributed over nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shard<'a> {
    Replicated,
    By(&'a str),
}

impl Table {
    /// The key and the description: `shard: account_id. What it is for.`
    pub fn described(&self) -> Option<(Shard<'_>, &str)> {
        let (key, description) = self.comment.strip_prefix("shard: ")?.split_once(". ")?;
        let shard = if key == "replicated" { Shard::Replicated } else { Shard::By(key) };
        Some((shard, description))
    }

    pub fn primary_key(&self) -> Option<&Index> {
        self.indexes.iter().find(|index| index.primary)
    }
}

/// Applies all migrations to a new database and reads the result.
pub fn of_migrations() -> anyhow::Result<Schema> {
    tokio::runtime::Runtime::new()?.block_on(scratch::with_database(async |settings, client| {
        let store = Store::open(settings)?;
        migrations::apply(&store, |_| ()).await?;
        Ok(catalogue::read(client).await?)
    }))
}

pub fn check(root: &Path, schema: &Schema, hot: &[(&str, &str)]) -> anyhow::Result<Vec<Finding>> {
    let mut sources = Vec::new();
    for path in files::under(root, "migrations")?.into_iter().filter(|path| files::has_extension(path, "sql"))
    {
        sources.push((files::read(root, &path)?, path));
    }
    let bookkeeping = "crates/base/src/store/migrations.rs";
    sources.push((files::read(root, bookkeeping).unwrap_or_default(), bookkeeping.to_owned()));
    let violations = rules::violations(schema, hot, rules::MAY_HAVE_TRIGGERS);
    Ok(violations.into_iter().map(|(table, what)| finding(&sources, &table, &what)).collect())
}

/// Refers to the line that creates the table.
fn finding(sources: &[(String, String)], table: &str, what: &str) -> Finding {
    let what = format!("{table} {what}");
    for text in
        [format!("CREATE TABLE {table} "), format!("CREATE TABLE IF NOT EXISTS {table} "), table.to_owned()]
    {
        if let Some((source, path)) = sources.iter().find(|(source, _)| source.contains(&text)) {
            return Finding::new(path, line_of(source, &text), what);
        }
    }
    Finding::new("migrations", 1, what)
}
