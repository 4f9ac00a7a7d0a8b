//! How many requests are under way: no host can be hammered through us, and no slow one can fill us up.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::Destination;

const PER_HOST: usize = 2;
const TOGETHER: usize = 50;
/// Strangers leave some room, so that codes still reach phones while somebody floods us with addresses.
const STRANGERS: usize = 40;

#[derive(Debug)]
pub(super) struct Lanes {
    together: Semaphore,
    strangers: Semaphore,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// Held while a request is under way.
pub(super) type Lane<'a> = (OwnedSemaphorePermit, Option<SemaphorePermit<'a>>, SemaphorePermit<'a>);

impl Lanes {
    pub(super) fn new() -> Self {
        Self {
            together: Semaphore::new(TOGETHER),
            strangers: Semaphore::new(STRANGERS),
            hosts: Mutex::default(),
        }
    }

    /// Waits for a place. First at the host: who waits there takes no place from others.
    pub(super) async fn enter(&self, to: Destination, host: &str) -> Option<Lane<'_>> {
        let at_host = self.host(host).acquire_owned().await.ok()?;
        let as_stranger = match to {
            Destination::Strangers => Some(self.strangers.acquire().await.ok()?),
            Destination::Operators => None,
        };
        Some((at_host, as_stranger, self.together.acquire().await.ok()?))
    }

    fn host(&self, host: &str) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        // What nobody holds or waits for is full again: forgetting it changes nothing.
        hosts.retain(|_, places| Arc::strong_count(places) > 1);
        Arc::clone(hosts.entry(host.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(PER_HOST))))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn waits<T>(entering: impl Future<Output = T>) -> bool {
        tokio::time::timeout(Duration::from_millis(20), entering).await.is_err()
    }

    #[tokio::test]
    async fn two_at_a_host_and_fifty_together_of_which_forty_are_strangers() {
        let lanes = Lanes::new();
        let mut inside = Vec::new();
        for number in 0..STRANGERS {
            let host = format!("host-{}.example", number / PER_HOST);
            inside.push(lanes.enter(Destination::Strangers, &host).await.unwrap());
        }
        assert!(waits(lanes.enter(Destination::Strangers, "other.example")).await);
        assert!(waits(lanes.enter(Destination::Operators, "host-0.example")).await, "two at a host");
        for number in STRANGERS..TOGETHER {
            let host = format!("ours-{number}.example");
            inside.push(lanes.enter(Destination::Operators, &host).await.unwrap());
        }
        assert!(waits(lanes.enter(Destination::Operators, "last.example")).await);

        inside.clear();
        let _lane = lanes.enter(Destination::Strangers, "host-0.example").await.unwrap();
        assert_eq!(lanes.hosts.lock().unwrap().len(), 1, "hosts that nobody asks are forgotten");
    }
}
