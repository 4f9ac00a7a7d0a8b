//! What can go wrong between us and PostgreSQL, sorted by what the caller may conclude.

use tokio_postgres::error::SqlState;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No connection could be had: nothing was sent.
    #[error("no database connection: {0}")]
    Unavailable(String),
    /// The connection broke while a change was under way: it may or may not have happened.
    #[error("the database connection broke; the outcome is unknown")]
    Unknown(#[source] tokio_postgres::Error),
    /// PostgreSQL refused the statement; nothing changed.
    #[error("the database refused: {0}")]
    Refused(#[source] tokio_postgres::Error),
    /// A row does not say what the code expects of it.
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
    /// Serialization failure or deadlock: PostgreSQL rolled back and says to try again.
    pub(crate) fn is_retryable(&self) -> bool {
        self.sql_state().is_some_and(|state| {
            *state == SqlState::T_R_SERIALIZATION_FAILURE || *state == SqlState::T_R_DEADLOCK_DETECTED
        })
    }

    pub(super) const fn is_connection_lost(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// A unique constraint was there first.
    pub fn is_unique_violation(&self) -> bool {
        self.sql_state() == Some(&SqlState::UNIQUE_VIOLATION)
    }

    fn sql_state(&self) -> Option<&SqlState> {
        match self {
            Self::Refused(error) => error.code(),
            Self::Unavailable(_) | Self::Unknown(_) | Self::Row(_) | Self::Inconsistent(_) => None,
        }
    }

    /// A broken connection before the statement itself was sent, or under a read, left nothing behind.
    pub(super) fn nothing_changed(self) -> Self {
        match self {
            Self::Unknown(error) => Self::Unavailable(error.to_string()),
            other => other,
        }
    }

    pub(super) fn before_sending(error: tokio_postgres::Error) -> Self {
        Self::from(error).nothing_changed()
    }

    pub(super) const fn label(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::Unknown(_) => "unknown",
            Self::Refused(_) => "refused",
            Self::Row(_) | Self::Inconsistent(_) => "inconsistent",
        }
    }
}

/// An answer from the server (it has an SQLSTATE) is a refusal, unless it says that the server is going away;
/// anything else is a broken connection.
impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(state) if going_away(state) => Self::Unknown(error),
            Some(_) => Self::Refused(error),
            None if std::error::Error::source(&error).is_some_and(|cause| cause.is::<std::io::Error>()) => {
                Self::Unknown(error)
            }
            None if error.is_closed() => Self::Unknown(error),
            None => Self::Refused(error),
        }
    }
}

/// Class 57P (operator intervention) and 08 (connection): the session is over, whatever it was doing.
fn going_away(state: &SqlState) -> bool {
    state.code().starts_with("57P") || state.code().starts_with("08")
}
