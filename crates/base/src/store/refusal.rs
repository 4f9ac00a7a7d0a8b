//! How the work of a transaction refuses.

use super::StoreError;

/// Why the work of a transaction stopped early. `R` is the caller's type for a refusal.
#[derive(Debug)]
pub enum TxError<R> {
    /// PostgreSQL failed: the transaction is rolled back.
    Store(StoreError),
    /// The work refuses: the transaction is rolled back.
    Refused(R),
    /// The work refuses, and its changes are committed: a counted failure, a log entry.
    Recorded(R),
}

impl<R> From<StoreError> for TxError<R> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// An error that ends the work of a transaction.
pub(super) trait Ending: From<StoreError> {
    /// The database's error, if it is one.
    fn store(&self) -> Option<&StoreError>;

    /// Whether the changes are committed.
    fn keeps(&self) -> bool;

    /// The same after a rollback: a broken connection changed nothing.
    fn undone(self) -> Self;
}

impl Ending for StoreError {
    fn store(&self) -> Option<&StoreError> {
        Some(self)
    }

    fn keeps(&self) -> bool {
        false
    }

    fn undone(self) -> Self {
        self.nothing_changed()
    }
}

impl<R> Ending for TxError<R> {
    fn store(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::Refused(_) | Self::Recorded(_) => None,
        }
    }

    fn keeps(&self) -> bool {
        matches!(self, Self::Recorded(_))
    }

    fn undone(self) -> Self {
        match self {
            Self::Store(error) => Self::Store(error.nothing_changed()),
            refused @ (Self::Refused(_) | Self::Recorded(_)) => refused,
        }
    }
}
