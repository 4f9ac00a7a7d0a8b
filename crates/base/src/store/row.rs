//! Decodes rows; an error names the table, the column and the row.

use std::fmt::Display;

use tokio_postgres::{Row, types::FromSql};

use super::error::RowError;

/// A row of a known table, identified for error messages by its key.
#[derive(Debug)]
pub struct Decode<'a> {
    row: &'a Row,
    table: &'static str,
    key: String,
}

impl<'a> Decode<'a> {
    pub fn new(table: &'static str, key: impl Display, row: &'a Row) -> Self {
        Self { row, table, key: key.to_string() }
    }

    /// Reads the key column first, so that every later error can name the row.
    pub fn keyed<K: FromSql<'a> + Display>(
        table: &'static str,
        column: &'static str,
        row: &'a Row,
    ) -> Result<(Self, K), RowError> {
        let unkeyed = Self::new(table, "<unreadable key>", row);
        let key: K = unkeyed.get(column)?;
        Ok((Self::new(table, &key, row), key))
    }

    pub fn get<T: FromSql<'a>>(&self, column: &'static str) -> Result<T, RowError> {
        self.row.try_get(column).map_err(|error| self.wrong(column, error))
    }

    /// A text column that must parse into one of our types.
    pub fn parsed<T: std::str::FromStr<Err: Display>>(&self, column: &'static str) -> Result<T, RowError> {
        let text: &str = self.row.try_get(column).map_err(|error| self.wrong(column, error))?;
        text.parse().map_err(|error| self.wrong(column, error))
    }

    /// A JSON column that must hold one of our types.
    pub fn json<T: serde::de::Deserialize<'a>>(&self, column: &'static str) -> Result<T, RowError> {
        let value: tokio_postgres::types::Json<T> =
            self.row.try_get(column).map_err(|error| self.wrong(column, error))?;
        Ok(value.0)
    }

    pub fn wrong(&self, column: &'static str, reason: impl Display) -> RowError {
        RowError { table: self.table, column, row: self.key.clone(), reason: reason.to_string() }
    }
}
