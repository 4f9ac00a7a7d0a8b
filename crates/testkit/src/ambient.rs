//! Time and randomness controlled by the test.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use porteiro_protocol::{
    entropy::Entropy,
    time::{Clock, Duration, OffsetDateTime},
};

/// Stands still until it is moved.
#[derive(Debug)]
pub struct TestClock {
    now: Mutex<OffsetDateTime>,
}

impl TestClock {
    pub const fn at(now: OffsetDateTime) -> Self {
        Self { now: Mutex::new(now) }
    }

    pub fn set(&self, to: OffsetDateTime) {
        *self.now.lock().expect("the clock") = to;
    }

    pub fn advance(&self, by: Duration) {
        let mut now = self.now.lock().expect("the clock");
        *now += by;
    }
}

impl Clock for TestClock {
    fn now(&self) -> OffsetDateTime {
        *self.now.lock().expect("the clock")
    }
}

/// The same bytes in every run with the same seed (SplitMix64). For tests only.
#[derive(Debug)]
pub struct SeededEntropy {
    state: AtomicU64,
}

impl SeededEntropy {
    pub const fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }

    pub fn next(&self) -> u64 {
        let state = self
            .state
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
            .wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}
