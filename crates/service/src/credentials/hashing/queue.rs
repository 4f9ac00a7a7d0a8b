//! Places for hashing, and the queue for them.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use porteiro_protocol::id::AccountId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::HashError;

/// Held while a hash is computed.
#[derive(Debug)]
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    _inside: Option<Inside>,
}

/// A queue of its own: a flood of passwords must not delay people who answer with a code.
#[derive(Debug)]
pub(super) struct Lane {
    running: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    queue: usize,
}

/// Leaves the queue when dropped.
struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lane {
    pub(super) fn new(running: usize, queue: usize) -> Self {
        Self { running: Arc::new(Semaphore::new(running)), waiting: Arc::default(), queue }
    }

    /// A place, after waiting; refused if the queue is full.
    pub(super) async fn place(&self) -> Result<Place, HashError> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.queue {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(HashError::Busy);
        }
        let _waiting = Waiting(Arc::clone(&self.waiting));
        let permit = Arc::clone(&self.running).acquire_owned().await.map_err(|_| HashError::Failed)?;
        Ok(Place { _permit: permit, _inside: None })
    }

    /// A place without waiting. Calls that already wait come first.
    pub(super) fn place_now(&self) -> Option<Place> {
        let permit = Arc::clone(&self.running).try_acquire_owned().ok()?;
        Some(Place { _permit: permit, _inside: None })
    }
}

/// Places for known devices, one for each account at a time: a person who knows a password and repeats it must not fill
/// the reserve.
#[derive(Debug)]
pub(super) struct Reserved {
    lane: Lane,
    accounts: Arc<Mutex<HashSet<AccountId>>>,
}

/// An account that waits or hashes in the reserve.
#[derive(Debug)]
struct Inside {
    accounts: Arc<Mutex<HashSet<AccountId>>>,
    account: AccountId,
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.account);
    }
}

impl Reserved {
    pub(super) fn new(running: usize, queue: usize) -> Self {
        Self { lane: Lane::new(running, queue), accounts: Arc::default() }
    }

    pub(super) async fn place(&self, account: AccountId) -> Result<Place, HashError> {
        let inside = self.enter(account).ok_or(HashError::Busy)?;
        let place = self.lane.place().await?;
        Ok(Place { _inside: Some(inside), ..place })
    }

    fn enter(&self, account: AccountId) -> Option<Inside> {
        let entered = self.accounts.lock().unwrap_or_else(PoisonError::into_inner).insert(account);
        entered.then(|| Inside { accounts: Arc::clone(&self.accounts), account })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn account(number: u128) -> AccountId {
        Uuid::from_u128(number).into()
    }

    #[tokio::test]
    async fn one_account_has_one_place_in_the_reserve_and_leaves_it_when_done() {
        let reserved = Reserved::new(2, 4);
        let first = reserved.place(account(1)).await.unwrap();
        assert_eq!(reserved.place(account(1)).await.unwrap_err(), HashError::Busy);
        let _second = reserved.place(account(2)).await.unwrap();
        drop(first);
        reserved.place(account(1)).await.unwrap();
    }

    #[tokio::test]
    async fn a_wait_that_is_given_up_leaves_no_trace() {
        let reserved = Reserved::new(1, 1);
        let held = reserved.place(account(1)).await.unwrap();
        let given_up = async {
            tokio::select! {
                biased;
                _ = reserved.place(account(2)) => false,
                refused = reserved.place(account(3)) => refused.is_err(),
            }
        };
        assert!(given_up.await, "one waits and the queue is full");
        drop(held);
        reserved.place(account(2)).await.unwrap();
        reserved.place(account(3)).await.unwrap();
    }
}
