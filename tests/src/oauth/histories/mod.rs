//! Random histories through HTTP, with a model beside them: authority never widens and never comes back.
//!
//! - P1: what a token says is within what was asked, consented to, and open to its client.
//! - P2: the answer is an error or exactly what was asked.
//! - P3: where something is granted, so is less.
//! - P5: what was revoked, by whomever, stays dead: refresh token, code, userinfo, introspection.
//!
//! 40 histories of 25 steps; 1,000 of 60 with `PORTEIRO_TEST_LONG=1`.

mod look;
mod model;
mod steps;

use std::collections::BTreeMap;

use porteiro_testkit::SeededEntropy;

use steps::World;

/// Draws from a seed.
#[derive(Debug)]
pub struct Random(SeededEntropy);

impl Random {
    pub fn below(&self, end: usize) -> usize {
        usize::try_from(self.0.next() % u64::try_from(end).unwrap()).unwrap()
    }

    pub fn percent(&self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn of<'a, T>(&self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { items.get(self.below(items.len())) }
    }
}

#[tokio::test]
async fn authority_never_widens_and_never_comes_back() {
    let (histories, length) = if crate::people::long() { (1_000, 60) } else { (40, 25) };
    let mut world = World::new().await;
    let mut happened = BTreeMap::<&'static str, u32>::new();
    for seed in 0..histories {
        let random = Random(SeededEntropy::new(seed));
        world.begin(seed).await;
        for _ in 0..length {
            *happened.entry(world.step(&random).await).or_default() += 1;
            world.look(&random).await;
        }
        world.look_at_all().await;
    }
    println!("{happened:?}");
    // A history in which nothing happens shows nothing.
    for what in [
        "granted",
        "refused",
        "denied",
        "redeemed",
        "wrong redemption",
        "refreshed",
        "widening refused",
        "replayed",
        "revoked by the client",
        "withdrawn by the person",
        "signed out",
        "less was granted too",
    ] {
        assert!(happened.get(what).is_some_and(|count| *count >= 5), "{what}: {happened:?}");
    }
}
