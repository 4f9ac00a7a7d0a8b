//! Time is an argument. Expiry that must hold across nodes is decided by the database's clock instead.

pub use ::time::{Duration, OffsetDateTime};

/// What time it is, in UTC.
pub trait Clock: Send + Sync {
    fn now(&self) -> OffsetDateTime;
}

/// Whole seconds since 1970, as RFC 7519 `NumericDate` wants them.
#[must_use]
pub fn numeric_date(at: OffsetDateTime) -> i64 {
    at.unix_timestamp()
}
