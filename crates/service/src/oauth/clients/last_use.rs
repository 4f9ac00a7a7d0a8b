//! When a client was last used, to the day: self-registered clients that are not used expire.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use porteiro_protocol::time::OffsetDateTime;

const DAY_SECONDS: i64 = 86_400;

/// A time on the last day with issued tokens, as far as this node knows. Copies of a client share it.
#[derive(Debug, Clone, Default)]
pub struct LastUse(Arc<AtomicI64>);

impl LastUse {
    pub fn at(moment: Option<OffsetDateTime>) -> Self {
        Self(Arc::new(AtomicI64::new(moment.map_or(0, OffsetDateTime::unix_timestamp))))
    }

    /// Whether to store this use: the first of a day, for one of concurrent callers.
    pub fn is_due(&self, now: OffsetDateTime) -> bool {
        let (seen, now) = (self.0.load(Ordering::Relaxed), now.unix_timestamp());
        now - seen >= DAY_SECONDS
            && self.0.compare_exchange(seen, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Storing failed; the next use tries again.
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use porteiro_protocol::time::Duration;

    use super::*;

    #[test]
    fn one_use_a_day_is_due_for_all_copies_together() {
        let now = OffsetDateTime::UNIX_EPOCH + Duration::days(20_000);
        let (used, copy) = (LastUse::at(Some(now - Duration::hours(23))), LastUse::at(None));
        assert!(!used.is_due(now) && used.is_due(now + Duration::hours(1)));
        assert!(copy.clone().is_due(now) && !copy.is_due(now));
        copy.forget();
        assert!(copy.is_due(now));
    }
}
