//! Groups concurrent presentations of codes and refresh tokens into one statement (measured in docs/performance.md).
//!
//! 1. While [`LANES`] groups are at the database the next one forms: one computes while the other's commit is written
//!    to disk. No presentation waits for a group to fill: a single one is executed at once.
//! 2. A group of one is the plain statement. A larger one contains each grant once; a second presentation of a grant
//!    waits for the next group, where the row decides. Groups are ordered by id, so that two nodes lock in the same
//!    order.
//! 3. A group that PostgreSQL refused changed nothing: then each presentation is executed alone. After a broken
//!    connection nothing is repeated: the outcome of the group is unknown.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;

use uuid::Uuid;

use super::{Outcome, Presentation, store};
use crate::store::{Row, Store, StoreError};

const LARGEST: usize = 128;
/// How many groups may be at the database at once.
const LANES: usize = 2;
/// A row that is locked elsewhere delays its group; after this time the next group starts beside it.
const PATIENCE: Duration = Duration::from_millis(50);

type Answer = Result<Option<Row>, StoreError>;

/// Presents every code and refresh token.
#[derive(Clone)]
pub struct Presenter {
    /// `None`: each is presented alone.
    queue: Option<Arc<Queue>>,
}

impl std::fmt::Debug for Presenter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.queue.is_some() { "<grouped>" } else { "<each alone>" })
    }
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// The number of lanes in use; each also serves the waiting presentations. A lane is freed when none waits, so no
    /// task outlives the work.
    serving: usize,
}

struct Waiting {
    presentation: Presentation,
    reply: oneshot::Sender<Answer>,
}

/// The position of a new presentation.
enum Place {
    /// A lane is free: it is executed at once, alone.
    First(Box<Presentation>),
    Waiting(oneshot::Receiver<Answer>),
}

/// Held by the first presentation; when that ends, is cancelled or takes long, the waiting ones are served.
struct Turn<'a> {
    queue: &'a Arc<Queue>,
    store: &'a Store,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.queue.is_awaited()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(Arc::clone(self.queue).serve(self.store.clone()));
        }
    }
}

impl Presenter {
    pub fn new(grouped: bool) -> Self {
        Self { queue: grouped.then(Arc::default) }
    }

    pub async fn present(&self, store: &Store, presentation: Presentation) -> Result<Outcome, StoreError> {
        let row = match &self.queue {
            None => store::present(store, &presentation).await?,
            Some(queue) => queue.present(store, presentation).await?,
        };
        store::outcome(row.as_ref())
    }
}

impl Queue {
    async fn present(self: &Arc<Self>, store: &Store, presentation: Presentation) -> Answer {
        match self.join(presentation) {
            Place::First(presentation) => {
                let turn = Turn { queue: self, store };
                let mut work = pin!(store::present(store, &presentation));
                let soon = tokio::time::timeout(PATIENCE, &mut work).await;
                drop(turn);
                match soon {
                    Ok(answer) => answer,
                    Err(_) => work.await,
                }
            }
            Place::Waiting(answer) => answer.await.unwrap_or_else(|_| {
                Err(StoreError::Inconsistent("a group was lost; the outcome is unknown".into()))
            }),
        }
    }

    fn join(&self, presentation: Presentation) -> Place {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.serving < LANES {
            state.serving += 1;
            return Place::First(Box::new(presentation));
        }
        let (reply, answer) = oneshot::channel();
        state.waiting.push_back(Waiting { presentation, reply });
        Place::Waiting(answer)
    }

    /// Executes groups until none waits. A separate task, because any request may be cancelled.
    async fn serve(self: Arc<Self>, store: Store) {
        while let Some(group) = self.next_group() {
            let work = tokio::spawn(present_all(store.clone(), group));
            let _ = tokio::time::timeout(PATIENCE, work).await;
        }
    }

    /// Whether a presentation waits; if not, frees the lane.
    fn is_awaited(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let awaited = !state.waiting.is_empty();
        state.serving -= usize::from(!awaited);
        awaited
    }

    fn next_group(&self) -> Option<Vec<Waiting>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let group = state.take_group();
        state.serving -= usize::from(group.is_empty());
        (!group.is_empty()).then_some(group)
    }
}

impl State {
    /// The first waiting presentations, each grant once, without cancelled ones.
    fn take_group(&mut self) -> Vec<Waiting> {
        let (mut group, mut again) = (Vec::new(), Vec::new());
        let mut grants = HashSet::new();
        while group.len() < LARGEST
            && let Some(one) = self.waiting.pop_front()
        {
            if one.reply.is_closed() {
                continue;
            }
            if grants.insert(one.presentation.grant) {
                group.push(one);
            } else {
                again.push(one);
            }
        }
        for one in again.into_iter().rev() {
            self.waiting.push_front(one);
        }
        group.sort_unstable_by_key(|one| one.presentation.grant);
        group
    }
}

async fn present_all(store: Store, group: Vec<Waiting>) {
    let (presentations, replies): (Vec<_>, Vec<_>) =
        group.into_iter().map(|one| (one.presentation, one.reply)).unzip();
    if presentations.len() > 1 {
        match store::present_group(&store, &presentations).await {
            Ok(rows) => return answer(&presentations, replies, rows),
            Err(error) if error.changed_nothing() => {}
            Err(error) => {
                for reply in replies {
                    let _ = reply.send(Err(error.shared()));
                }
                return;
            }
        }
    }
    for (presentation, reply) in presentations.iter().zip(replies) {
        let _ = reply.send(store::present(&store, presentation).await);
    }
}

/// Sends each presentation the row of its grant; no row means refused.
fn answer(presentations: &[Presentation], replies: Vec<oneshot::Sender<Answer>>, rows: Vec<(Uuid, Row)>) {
    let mut rows: HashMap<Uuid, Row> = rows.into_iter().collect();
    for (presentation, reply) in presentations.iter().zip(replies) {
        let _ = reply.send(Ok(rows.remove(&presentation.grant)));
    }
}

#[cfg(test)]
mod tests {
    use super::{super::LogEntry, *};

    fn waiting(state: &mut State, grant: u128, generation: i32) -> oneshot::Receiver<Answer> {
        let (reply, answer) = oneshot::channel();
        let presentation = Presentation {
            grant: Uuid::from_u128(grant),
            account: Uuid::nil(),
            client_id: String::new(),
            hash: [0; 32],
            generation,
            next_hash: [0; 32],
            key: None,
            binds: false,
            challenge: None,
            redirect_uri: None,
            scope: None,
            audience: None,
            definition: 0,
            rechecked: None,
            log: LogEntry { id: Uuid::nil(), request: Uuid::nil(), personal: serde_json::Value::Null },
        };
        state.waiting.push_back(Waiting { presentation, reply });
        answer
    }

    fn named(group: &[Waiting]) -> Vec<(u128, i32)> {
        group.iter().map(|one| (one.presentation.grant.as_u128(), one.presentation.generation)).collect()
    }

    #[test]
    fn a_group_names_each_grant_once_in_order_and_forgets_who_gave_up() {
        let mut state = State::default();
        let order = [(9, 1), (3, 1), (9, 2), (5, 1), (9, 3), (3, 2)];
        let answers: Vec<_> =
            order.map(|(grant, generation)| waiting(&mut state, grant, generation)).into_iter().collect();
        drop(waiting(&mut state, 7, 1));
        let groups: Vec<_> = (0..4).map(|_| state.take_group()).collect();
        assert_eq!(named(&groups[0]), [(3, 1), (5, 1), (9, 1)]);
        assert_eq!(named(&groups[1]), [(3, 2), (9, 2)], "whoever came first goes first");
        assert_eq!(named(&groups[2]), [(9, 3)]);
        assert!(groups[3].is_empty());
        drop(answers);
    }

    #[test]
    fn a_group_has_an_end_and_the_queue_an_order() {
        let mut state = State::default();
        let answers: Vec<_> = (0..300).map(|grant| waiting(&mut state, grant, 1)).collect();
        let sizes: Vec<usize> = (0..4).map(|_| state.take_group().len()).collect();
        assert_eq!(sizes, [128, 128, 44, 0]);
        drop(answers);
    }
}
