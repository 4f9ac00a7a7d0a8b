//! Whether an HTTP/2 connection is in use: a peer that only answers pings would keep its place forever.

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

/// An open request.
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

    /// Open until it is dropped.
    pub fn request(&self) -> Request {
        self.change(|state| state.open += 1);
        Request(self.clone())
    }

    /// The remaining idle time; `None` when it is over.
    fn left(&self, limit: Duration) -> Option<Duration> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let quiet = state.last.elapsed();
        if state.open > 0 { Some(limit) } else { limit.checked_sub(quiet).filter(|left| !left.is_zero()) }
    }

    /// Completes when no request was open for this long.
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
