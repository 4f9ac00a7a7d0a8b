//! Choices of a walk, repeatable from its seed.

use porteiro_testkit::SeededEntropy;

pub struct Random(pub SeededEntropy);

impl Random {
    pub fn below(&self, limit: usize) -> usize {
        usize::try_from(self.0.next() % limit as u64).unwrap()
    }

    pub fn percent(&self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
