//! Whether anything goes on over an HTTP/2 connection: a peer that only answers pings would hold its place for good.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

#[derive(Debug, Clone)]
pub struct Activity(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    open: usize,
    last: Instant,
}

/// A request under way.
#[derive(Debug)]
pub struct Request(Activity);

impl Activity {
    pub fn begun(now: Instant) -> Self {
        Self(Arc::new(Mutex::new(State { open: 0, last: now })))
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state.last = Instant::now();
    }

    /// Lasts until it is dropped.
    pub fn request(&self) -> Request {
        self.change(|state| state.open += 1);
        Request(self.clone())
    }

    /// How much longer nothing may happen; `None` when that time is over.
    fn left(&self, limit: Duration) -> Option<Duration> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let quiet = state.last.elapsed();
        if state.open > 0 { Some(limit) } else { limit.checked_sub(quiet).filter(|left| !left.is_zero()) }
    }

    /// Ends when no request has been under way for so long.
    pub async fn ceases(&self, limit: Duration) {
        while let Some(left) = self.left(limit) {
            tokio::time::sleep(left).await;
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.0.change(|state| state.open -= 1);
    }
}
