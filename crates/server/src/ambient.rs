//! The real clock and entropy: the only place that reads them from the machine.

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
            // Predictable secrets would be worse than an outage.
            std::process::abort();
        }
    }
}
