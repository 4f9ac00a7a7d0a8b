//! Time is an argument. Expiry that must agree across nodes is decided by the database's clock instead.

pub use ::time::{Duration, OffsetDateTime};

/// The current time, in UTC.
pub trait Clock: Send + Sync {
    fn now(&self) -> OffsetDateTime;
}

/// Whole seconds since 1970: `NumericDate` of RFC 7519.
#[must_use]
pub fn numeric_date(at: OffsetDateTime) -> i64 {
    at.unix_timestamp()
}
