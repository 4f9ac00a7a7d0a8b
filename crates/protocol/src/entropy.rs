//! Randomness is an argument, so that a test can repeat a run byte for byte.

/// A source of unpredictable bytes. The server passes the operating system's; tests pass a seeded one.
pub trait Entropy: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);
}

impl dyn Entropy + '_ {
    #[must_use]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}
