//! What this node took from buckets in advance, a hundredth at a time: a directory that sends everything again, and
//! changes nothing, then writes almost nothing (docs/decisions/0141). Taken is taken: what is not used in time is lost,
//! so all nodes together never admit more than the rule does.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{Bucket, Limited, Rule, first_empty, take, take_weighed};
use crate::store::{Store, StoreError};

/// For how many buckets, and for how long, a node keeps what it took.
const MOST: usize = 10_000;
const KEPT: Duration = Duration::from_secs(10);
/// How much a node takes at once: this part of the bucket, but no more than so many.
const PART: u32 = 100;
const LARGEST: u32 = 100;

#[derive(Debug)]
struct Taken {
    left: u32,
    until: Instant,
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    One,
    /// Nothing is left, and nobody else is fetching more.
    Nothing,
    Fetching,
}

#[derive(Debug, Default)]
pub struct Stock {
    taken: Mutex<HashMap<[u8; 32], Taken>>,
}

/// One for a small bucket: its limit stays exact.
fn portion(rule: &Rule) -> u32 {
    (rule.burst / PART).clamp(1, LARGEST)
}

impl Stock {
    /// Takes one from the bucket, or says that it is empty.
    pub async fn take(
        &self,
        store: &Store,
        bucket: &Bucket,
        now: Instant,
    ) -> Result<Option<Limited>, StoreError> {
        let amount = portion(&bucket.rule);
        if amount > 1 {
            match self.one(bucket, now) {
                Found::One => return Ok(None),
                Found::Nothing => {
                    let asked = [(bucket.clone(), amount)];
                    if first_empty(&asked, &take_weighed(store, &asked).await?).is_none() {
                        self.keep(bucket, amount - 1, now);
                        return Ok(None);
                    }
                }
                Found::Fetching => {}
            }
        }
        take(store, std::slice::from_ref(bucket)).await
    }

    /// An entry without anything left says that somebody fetches more, or that the bucket is nearly empty.
    fn one(&self, bucket: &Bucket, now: Instant) -> Found {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.len() >= MOST {
            taken.retain(|_, taken| taken.until > now);
        }
        if taken.len() >= MOST && !taken.contains_key(&bucket.key) {
            return Found::Fetching;
        }
        let entry = taken.entry(bucket.key).or_insert(Taken { left: 0, until: now });
        if entry.until <= now {
            *entry = Taken { left: 0, until: now + KEPT };
            return Found::Nothing;
        }
        match entry.left {
            0 => Found::Fetching,
            1 => {
                *entry = Taken { left: 0, until: now };
                Found::One
            }
            more => {
                entry.left = more - 1;
                Found::One
            }
        }
    }

    fn keep(&self, bucket: &Bucket, left: u32, now: Instant) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.insert(bucket.key, Taken { left, until: now + KEPT });
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{CLIENT_SECRET, SCIM_ORGANIZATION},
        *,
    };

    fn bucket(number: u64) -> Bucket {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_be_bytes());
        Bucket { rule: SCIM_ORGANIZATION, key }
    }

    #[test]
    fn a_small_bucket_is_exact_and_a_portion_is_bounded() {
        assert_eq!(portion(&CLIENT_SECRET), 1);
        assert_eq!(portion(&SCIM_ORGANIZATION), 60);
        assert_eq!(portion(&SCIM_ORGANIZATION.with_per_minute(100_000_000)), LARGEST);
    }

    #[test]
    fn one_fetches_and_nobody_uses_more_than_was_taken() {
        let (stock, now) = (Stock::default(), Instant::now());
        assert_eq!(stock.one(&bucket(1), now), Found::Nothing);
        assert_eq!(stock.one(&bucket(1), now), Found::Fetching);
        stock.keep(&bucket(1), 2, now);
        assert_eq!(stock.one(&bucket(1), now), Found::One);
        assert_eq!(stock.one(&bucket(2), now), Found::Nothing);
        assert_eq!(stock.one(&bucket(1), now), Found::One);
        assert_eq!(stock.one(&bucket(1), now), Found::Nothing);
    }

    #[test]
    fn what_is_not_used_in_time_is_lost() {
        let (stock, now) = (Stock::default(), Instant::now());
        stock.keep(&bucket(1), 59, now);
        assert_eq!(stock.one(&bucket(1), now + KEPT), Found::Nothing);
        // The request that was to fetch more was cut off: another one fetches.
        assert_eq!(stock.one(&bucket(1), now + KEPT), Found::Fetching);
        assert_eq!(stock.one(&bucket(1), now + KEPT + KEPT), Found::Nothing);
    }

    #[test]
    fn memory_is_bounded() {
        let (stock, now) = (Stock::default(), Instant::now());
        for number in 0..MOST as u64 + 10 {
            stock.one(&bucket(number), now);
        }
        assert_eq!(stock.taken.lock().unwrap().len(), MOST);
    }
}
