//! Errors between us and PostgreSQL, by what the caller may conclude.

use std::sync::Arc;

use tokio_postgres::error::SqlState;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No connection was available: nothing was sent.
    #[error("no database connection: {0}")]
    Unavailable(String),
    /// Too many requests of this requester wait for the same row: nothing was sent.
    #[error("too many requests are waiting for the same row")]
    Busy,
    /// The connection broke during a change: it may or may not have happened.
    #[error("the database connection broke; the outcome is unknown")]
    Unknown(#[source] Arc<tokio_postgres::Error>),
    /// PostgreSQL refused the statement; nothing changed.
    #[error("the database refused: {}", in_words(.0))]
    Refused(#[source] tokio_postgres::Error),
    /// A row does not have the form that the code expects.
    #[error(transparent)]
    Row(#[from] RowError),
    /// Stored data contradicts itself or the code.
    #[error("stored data is inconsistent: {0}")]
    Inconsistent(String),
}

/// A column that could not be read: which one, and of which row.
#[derive(Debug, thiserror::Error)]
#[error("table {table}, column {column}, row {row}: {reason}")]
pub struct RowError {
    pub table: &'static str,
    pub column: &'static str,
    pub row: String,
    pub reason: String,
}

impl StoreError {
    /// Serialization failure or deadlock: PostgreSQL rolled back, and the transaction can be retried.
    pub fn is_retryable(&self) -> bool {
        self.sql_state().is_some_and(|state| {
            *state == SqlState::T_R_SERIALIZATION_FAILURE || *state == SqlState::T_R_DEADLOCK_DETECTED
        })
    }

    pub(super) const fn is_connection_lost(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// PostgreSQL refused the statement, so it changed nothing.
    pub fn changed_nothing(&self) -> bool {
        self.sql_state().is_some()
    }

    /// A copy, for another caller that shared the statement.
    #[must_use]
    pub fn shared(&self) -> Self {
        match self {
            Self::Unavailable(text) => Self::Unavailable(text.clone()),
            Self::Busy => Self::Busy,
            Self::Unknown(error) => Self::Unknown(Arc::clone(error)),
            Self::Refused(_) | Self::Row(_) | Self::Inconsistent(_) => Self::Inconsistent(self.to_string()),
        }
    }

    fn sql_state(&self) -> Option<&SqlState> {
        match self {
            Self::Refused(error) => error.code(),
            Self::Unavailable(_) | Self::Busy | Self::Unknown(_) | Self::Row(_) | Self::Inconsistent(_) => {
                None
            }
        }
    }

    /// A connection that broke before the statement was sent, or during a read, changed nothing.
    pub(super) fn nothing_changed(self) -> Self {
        match self {
            Self::Unknown(error) => Self::Unavailable(in_words(&error)),
            other => other,
        }
    }

    pub(super) fn before_sending(error: tokio_postgres::Error) -> Self {
        Self::from(error).nothing_changed()
    }

    pub(super) const fn label(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::Busy => "busy",
            Self::Unknown(_) => "unknown",
            Self::Refused(_) => "refused",
            Self::Row(_) | Self::Inconsistent(_) => "inconsistent",
        }
    }
}

/// An answer of the server (with an SQLSTATE) is a refusal, unless the server is shutting down; anything else is a
/// broken connection.
impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(state) if going_away(state) => Self::Unknown(Arc::new(error)),
            None if broken_line(&error) => Self::Unknown(Arc::new(error)),
            Some(_) | None => Self::Refused(error),
        }
    }
}

fn broken_line(error: &tokio_postgres::Error) -> bool {
    error.is_closed()
        || std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

/// PostgreSQL's message without its detail, which may quote a row.
pub(super) fn in_words(error: &tokio_postgres::Error) -> String {
    let mut text = match error.as_db_error() {
        Some(said) => format!("{} ({})", said.message(), said.code().code()),
        None => error.to_string(),
    };
    if let (None, Some(cause)) = (error.as_db_error(), std::error::Error::source(error)) {
        text = format!("{text}: {cause}");
    }
    if error.code() == Some(&SqlState::UNDEFINED_TABLE) {
        text.push_str("; run: porteiro migrate");
    }
    text
}

/// Class 57P (operator intervention) and 08 (connection): the session has ended, whatever it was doing.
fn going_away(state: &SqlState) -> bool {
    state.code().starts_with("57P") || state.code().starts_with("08")
}
