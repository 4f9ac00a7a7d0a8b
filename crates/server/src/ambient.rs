//! The real clock and the real entropy: the only place in the program that asks the machine for either.

use porteiro_protocol::{
    entropy::Entropy,
    time::{Clock, OffsetDateTime},
};

#[derive(Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one clock everything else is given")]
    fn now(&self) -> OffsetDateTime {
        OffsetDateTime::now_utc()
    }
}

#[derive(Debug)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "the one source everything else is given")]
    fn fill(&self, bytes: &mut [u8]) {
        if aws_lc_rs::rand::fill(bytes).is_err() {
            // Going on with predictable secrets would be worse than any outage.
            std::process::abort();
        }
    }
}
