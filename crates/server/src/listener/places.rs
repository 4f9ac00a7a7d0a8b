//! Limits connections: in total and from one network, so that one network cannot hold every place.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use porteiro_service::limits::network;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

type Exempt = Box<dyn Fn(IpAddr) -> bool + Send + Sync>;

/// The places of one node, shared by its listeners.
pub struct Places {
    all: Arc<Semaphore>,
    per_network: usize,
    /// A proxy has the connections of many clients.
    exempt: Exempt,
    held: Mutex<HashMap<Vec<u8>, usize>>,
}

impl std::fmt::Debug for Places {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{} places>", self.all.available_permits())
    }
}

/// One place of a network, released when dropped. Exempt addresses belong to no network.
#[derive(Debug)]
pub struct Held {
    places: Arc<Places>,
    network: Option<Vec<u8>>,
}

impl Places {
    pub fn new(all: usize, per_network: usize, exempt: Exempt) -> Arc<Self> {
        Arc::new(Self {
            all: Arc::new(Semaphore::new(all)),
            per_network,
            exempt,
            held: Mutex::new(HashMap::new()),
        })
    }

    /// For a listener with few and known callers.
    pub fn few(all: usize) -> Arc<Self> {
        Self::new(all, all, Box::new(|_| true))
    }

    /// Waits for a place. Never `None`: the semaphore is not closed.
    pub async fn free(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.all).acquire_owned().await.ok()
    }

    /// A place for this address: an IPv4 address, or the /64 of an IPv6 one. `None` if its network has no place left.
    pub fn hold(self: &Arc<Self>, address: IpAddr) -> Option<Held> {
        if (self.exempt)(address) {
            return Some(Held { places: Arc::clone(self), network: None });
        }
        let network = network(address);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(network.clone()).or_default();
        if *count >= self.per_network {
            return None;
        }
        *count += 1;
        Some(Held { places: Arc::clone(self), network: Some(network) })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(network) = &self.network else { return };
        let mut held = self.places.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(network) {
            *count -= 1;
            if *count == 0 {
                held.remove(network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_its_share_and_gives_it_back() {
        let places = Places::new(100, 2, Box::new(|address| address == IpAddr::from([10, 0, 0, 1])));
        let (one, two): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let first = places.hold(one).unwrap();
        let second = places.hold(one).unwrap();
        assert!(places.hold(one).is_none(), "a third");
        assert!(
            places.hold("::ffff:192.0.2.1".parse().unwrap()).is_none(),
            "the same address, spelt otherwise"
        );
        assert!(places.hold(two).is_some(), "another network");
        drop((first, second));
        assert!(places.hold(one).is_some());
        assert!(places.held.lock().unwrap().is_empty(), "nothing stays of who has left");
        let proxied: Vec<_> = (0..10).map(|_| places.hold([10, 0, 0, 1].into())).collect();
        assert!(proxied.iter().all(Option::is_some));
    }

    #[test]
    fn addresses_of_one_64_count_together() {
        let places = Places::new(100, 1, Box::new(|_| false));
        let held = places.hold("2001:db8::1".parse().unwrap());
        assert!(held.is_some());
        assert!(places.hold("2001:db8::ffff:2".parse().unwrap()).is_none());
        assert!(places.hold("2001:db8:0:1::1".parse().unwrap()).is_some());
    }
}
