//! Turns: requests that will lock the same row queue here first, without a database connection (decision record 0068).
//!
//! A transaction that waits for a lock in PostgreSQL keeps its connection meanwhile. A few hundred requests about one
//! account would take every connection of a node. So only one request per row and node proceeds to the database; each
//! requester may have some waiting, and further ones are refused. No requester can take another's place in the queue.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use super::StoreError;

/// How many requests of one requester may wait or run at once.
pub const MOST: usize = 64;

/// A turn: the row that will be locked, and the requester (a session, a flow, a caller).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Turn {
    row: Uuid,
    requester: u64,
}

impl Turn {
    pub fn new(row: Uuid, requester: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        requester.hash(&mut hasher);
        Self { row, requester: hasher.finish() }
    }
}

/// The waiting and running requests; it is only as large as their number.
#[derive(Debug, Default)]
pub(super) struct Turns {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rows: HashMap<Uuid, Row>,
    requesters: HashMap<Turn, usize>,
}

#[derive(Debug)]
struct Row {
    turn: Arc<Semaphore>,
    present: usize,
}

/// A place in the queue of a row, released when dropped.
#[derive(Debug)]
struct Place {
    turns: Arc<Turns>,
    turn: Turn,
}

/// No other request of this node is about to lock the row.
#[derive(Debug)]
pub(super) struct Held {
    // In this order: the next request's turn comes before the place is released.
    _permit: OwnedSemaphorePermit,
    _place: Place,
}

impl Turns {
    pub(super) async fn wait(self: &Arc<Self>, turn: Turn) -> Result<Held, StoreError> {
        let (place, semaphore) = self.enter(turn)?;
        let permit = semaphore.acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Unavailable("the queue is closed".into()))?;
        Ok(Held { _permit: permit, _place: place })
    }

    fn enter(self: &Arc<Self>, turn: Turn) -> Result<(Place, Arc<Semaphore>), StoreError> {
        let mut state = self.lock();
        let waiting = state.requesters.entry(turn).or_default();
        if *waiting >= MOST {
            metrics::counter!("porteiro_turns_refused_total").increment(1);
            return Err(StoreError::Busy);
        }
        *waiting += 1;
        let row = state
            .rows
            .entry(turn.row)
            .or_insert_with(|| Row { turn: Arc::new(Semaphore::new(1)), present: 0 });
        row.present += 1;
        Ok((Place { turns: Arc::clone(self), turn }, Arc::clone(&row.turn)))
    }

    fn leave(&self, turn: Turn) {
        let mut state = self.lock();
        if let Some(waiting) = state.requesters.get_mut(&turn) {
            *waiting -= 1;
            if *waiting == 0 {
                state.requesters.remove(&turn);
            }
        }
        if let Some(row) = state.rows.get_mut(&turn.row) {
            row.present -= 1;
            if row.present == 0 {
                state.rows.remove(&turn.row);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.turns.leave(self.turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Uuid = Uuid::from_u128(1);

    fn of(requester: u8) -> Turn {
        Turn::new(ROW, requester)
    }

    #[tokio::test]
    async fn one_goes_on_a_few_wait_and_the_rest_of_the_same_requester_is_refused() {
        let turns = Arc::new(Turns::default());
        let held = turns.wait(of(1)).await.unwrap();
        let waiting: Vec<_> = (1..MOST)
            .map(|_| {
                let turns = Arc::clone(&turns);
                tokio::spawn(async move { turns.wait(of(1)).await.is_ok() })
            })
            .collect();
        while turns.lock().requesters[&of(1)] < MOST {
            tokio::task::yield_now().await;
        }
        assert!(matches!(turns.wait(of(1)).await, Err(StoreError::Busy)));
        let other = tokio::spawn({
            let turns = Arc::clone(&turns);
            async move { turns.wait(of(2)).await.is_ok() }
        });
        drop(held);
        for task in waiting {
            assert!(task.await.unwrap());
        }
        assert!(other.await.unwrap(), "another requester has places of its own");
    }

    #[tokio::test]
    async fn nothing_is_left_of_those_who_are_done_or_gave_up() {
        let turns = Arc::new(Turns::default());
        let held = turns.wait(of(1)).await.unwrap();
        let given_up = tokio::time::timeout(std::time::Duration::from_millis(5), turns.wait(of(2))).await;
        assert!(given_up.is_err());
        drop(held);
        let state = turns.lock();
        assert!(state.rows.is_empty() && state.requesters.is_empty());
    }
}
