//! When clients polled, in the memory of one node.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use porteiro_protocol::{
    id::ApprovalId,
    time::{Duration, OffsetDateTime},
};

use super::INTERVAL;

/// The number of requests that are remembered. Beyond it everything is forgotten: some clients may then poll once more.
const MOST: usize = 200_000;
const LONGEST: i64 = 60;

#[derive(Debug, Clone, Copy)]
struct Seen {
    at: OffsetDateTime,
    interval: i64,
}

#[derive(Debug, Default)]
pub struct Polls {
    seen: Mutex<HashMap<ApprovalId, Seen>>,
}

impl Polls {
    /// Notes a poll of something that still waits. If it came too soon: the interval from now on, in seconds (CIBA Core
    /// §11).
    pub fn too_soon(&self, id: ApprovalId, now: OffsetDateTime) -> Option<i64> {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(&id) {
            all.clear();
        }
        let Some(seen) = all.get_mut(&id) else {
            all.insert(id, Seen { at: now, interval: INTERVAL });
            return None;
        };
        let early = now - seen.at < Duration::seconds(seen.interval);
        seen.at = now;
        if early {
            seen.interval = (seen.interval + INTERVAL).min(LONGEST);
        }
        early.then_some(seen.interval)
    }

    /// It does not wait any more.
    pub fn forget(&self, id: ApprovalId) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn each_poll_that_comes_too_soon_adds_five_seconds() {
        let (polls, id) = (Polls::default(), ApprovalId::from(Uuid::from_u128(1)));
        let at = |seconds| OffsetDateTime::UNIX_EPOCH + Duration::seconds(seconds);
        assert_eq!(polls.too_soon(id, at(0)), None);
        assert_eq!(polls.too_soon(id, at(5)), None);
        assert_eq!(polls.too_soon(id, at(9)), Some(10));
        assert_eq!(polls.too_soon(id, at(18)), Some(15));
        assert_eq!(polls.too_soon(id, at(33)), None);
        assert_eq!(polls.too_soon(ApprovalId::from(Uuid::from_u128(2)), at(33)), None);
        polls.forget(id);
        assert_eq!(polls.too_soon(id, at(34)), None);
    }

    #[test]
    fn memory_is_bounded() {
        let polls = Polls::default();
        for number in 0..MOST + 10 {
            let id = ApprovalId::from(Uuid::from_u128(number as u128));
            assert_eq!(polls.too_soon(id, OffsetDateTime::UNIX_EPOCH), None);
        }
        assert_eq!(polls.seen.lock().unwrap().len(), 10);
    }
}
