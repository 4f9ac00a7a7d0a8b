//! Limits concurrent requests: no host can be flooded through us, and a slow host cannot use up our capacity.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::Destination;

const PER_HOST: usize = 2;
const TOGETHER: usize = 50;
/// Documents from client-chosen addresses, for which a request waits. Together with the next limit they leave some
/// capacity, so that text messages are still sent during a flood.
const READ: usize = 24;
/// Notifications to client-chosen addresses, for which no request waits: separate, so that neither can block the other.
const TOLD: usize = 16;

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errand {
    Read,
    Tell,
}

#[derive(Debug)]
pub(super) struct Lanes {
    together: Semaphore,
    read: Semaphore,
    told: Semaphore,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// Held while a request runs.
pub(super) type Lane<'a> = (OwnedSemaphorePermit, Option<SemaphorePermit<'a>>, SemaphorePermit<'a>);

impl Lanes {
    pub(super) fn new() -> Self {
        Self {
            together: Semaphore::new(TOGETHER),
            read: Semaphore::new(READ),
            told: Semaphore::new(TOLD),
            hosts: Mutex::default(),
        }
    }

    /// Waits for a place. First at the host: requests that wait there take no place from others.
    pub(super) async fn enter(&self, to: Destination, errand: Errand, host: &str) -> Option<Lane<'_>> {
        let at_host = self.host(host).acquire_owned().await.ok()?;
        let as_stranger = match (to, errand) {
            (Destination::Strangers | Destination::Documents, Errand::Tell) => {
                Some(self.told.acquire().await.ok()?)
            }
            // A person waits for a directory, whatever the method.
            (Destination::Strangers | Destination::Documents | Destination::Organizations, Errand::Read)
            | (Destination::Organizations, Errand::Tell) => Some(self.read.acquire().await.ok()?),
            (Destination::Operators, Errand::Read | Errand::Tell) => None,
        };
        Some((at_host, as_stranger, self.together.acquire().await.ok()?))
    }

    fn host(&self, host: &str) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        // A semaphore without holders or waiters is full again, so it can be dropped.
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
    async fn two_at_a_host_and_strangers_leave_room_for_operators_and_each_other() {
        let (lanes, read, tell) = (Lanes::new(), Errand::Read, Errand::Tell);
        let mut inside = Vec::new();
        for number in 0..READ {
            let host = format!("host-{}.example", number / PER_HOST);
            inside.push(lanes.enter(Destination::Strangers, read, &host).await.unwrap());
        }
        assert!(waits(lanes.enter(Destination::Strangers, read, "other.example")).await);
        assert!(waits(lanes.enter(Destination::Operators, tell, "host-0.example")).await, "two at a host");
        for number in 0..TOLD {
            let host = format!("told-{}.example", number / PER_HOST);
            inside.push(lanes.enter(Destination::Strangers, tell, &host).await.unwrap());
        }
        assert!(waits(lanes.enter(Destination::Strangers, tell, "other.example")).await);
        for number in READ + TOLD..TOGETHER {
            let host = format!("ours-{number}.example");
            inside.push(lanes.enter(Destination::Operators, tell, &host).await.unwrap());
        }
        assert!(waits(lanes.enter(Destination::Operators, tell, "last.example")).await);

        inside.clear();
        let _lane = lanes.enter(Destination::Strangers, read, "host-0.example").await.unwrap();
        assert_eq!(lanes.hosts.lock().unwrap().len(), 1, "hosts that nobody asks are forgotten");
    }
}
