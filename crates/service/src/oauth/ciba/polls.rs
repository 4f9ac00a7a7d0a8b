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
    /// The last answer was to slow down.
    early: bool,
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
            all.insert(id, Seen { at: now, interval: INTERVAL, early: false });
            return None;
        };
        let early = now - seen.at < Duration::seconds(seen.interval);
        (seen.at, seen.early) = (now, early);
        if early {
            seen.interval = (seen.interval + INTERVAL).min(LONGEST);
        }
        early.then_some(seen.interval)
    }

    /// The interval, for a client that was just told to slow down and polls again within a second. It is answered from here:
    /// it causes one read a second at most.
    pub fn hasty(&self, id: ApprovalId, now: OffsetDateTime) -> Option<i64> {
        let all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = all.get(&id).filter(|seen| seen.early)?;
        (now - seen.at < Duration::SECOND).then_some(seen.interval)
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
    fn who_was_told_to_slow_down_is_looked_up_once_a_second() {
        let (polls, id) = (Polls::default(), ApprovalId::from(Uuid::from_u128(1)));
        let at = |milliseconds| OffsetDateTime::UNIX_EPOCH + Duration::milliseconds(milliseconds);
        assert_eq!(polls.hasty(id, at(0)), None);
        polls.too_soon(id, at(0));
        assert_eq!(polls.hasty(id, at(0)), None, "nobody told it");
        assert_eq!(polls.too_soon(id, at(10)), Some(10));
        assert_eq!(polls.hasty(id, at(500)), Some(10));
        assert_eq!(polls.hasty(id, at(1_009)), Some(10));
        assert_eq!(polls.hasty(id, at(1_010)), None);
        assert_eq!(polls.too_soon(id, at(20_000)), None);
        assert_eq!(polls.hasty(id, at(20_100)), None, "it did slow down");
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
