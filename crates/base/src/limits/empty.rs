//! Buckets that this node found empty: further attempts are refused without a statement. An entry is dropped when the
//! next attempt fits; each node keeps its own.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::Bucket;

const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub struct Empty {
    until: Mutex<HashMap<[u8; 32], Instant>>,
}

impl Empty {
    pub fn note(&self, bucket: &Bucket, now: Instant) {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        if until.len() >= MOST {
            until.retain(|_, until| *until > now);
        }
        // Still too many: the database handles the rest.
        if until.len() < MOST {
            until.insert(bucket.key, now + Duration::from_secs_f64(bucket.rule.interval_seconds));
        }
    }

    pub fn is_known(&self, bucket: &Bucket, now: Instant) -> bool {
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        until.get(&bucket.key).is_some_and(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::CLIENT_SECRET, *};

    #[test]
    fn an_empty_bucket_is_known_until_one_more_fits() {
        let (empty, now) = (Empty::default(), Instant::now());
        let bucket = |number: u8| Bucket { rule: CLIENT_SECRET, key: [number; 32] };
        empty.note(&bucket(1), now);
        assert!(empty.is_known(&bucket(1), now + Duration::from_secs(9)));
        assert!(!empty.is_known(&bucket(1), now + Duration::from_secs(10)));
        assert!(!empty.is_known(&bucket(2), now));
    }

    #[test]
    fn memory_is_bounded() {
        let (empty, now) = (Empty::default(), Instant::now());
        for number in 0..MOST as u64 + 10 {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_be_bytes());
            empty.note(&Bucket { rule: CLIENT_SECRET, key }, now);
        }
        assert_eq!(empty.until.lock().unwrap().len(), MOST);
        empty.note(&Bucket { rule: CLIENT_SECRET, key: [9; 32] }, now + Duration::from_secs(11));
        assert_eq!(empty.until.lock().unwrap().len(), 1);
    }
}
