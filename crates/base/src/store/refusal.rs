//! How the work of a transaction says that it will not be done.

use super::StoreError;

/// Why the work of a transaction stopped early. `R` is the caller's type for a refusal.
#[derive(Debug)]
pub enum TxError<R> {
    /// PostgreSQL failed: nothing of the transaction stays.
    Store(StoreError),
    /// The work refuses: nothing of the transaction stays.
    Refused(R),
    /// The work refuses, and what it wrote stays: a guess that counts, an entry in a log.
    Recorded(R),
}

impl<R> From<StoreError> for TxError<R> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// An error that ends the work of a transaction.
pub(super) trait Ending: From<StoreError> {
    /// The failure of the database, where it is one.
    fn store(&self) -> Option<&StoreError>;

    /// Whether what was written before stays.
    fn keeps(&self) -> bool;

    /// The same once everything is undone: a connection that broke left nothing behind.
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
