//! Web Push (RFC 8030): a browser is told that something waits for its person, and nothing else.
//!
//! 1. A person subscribes a browser with our public key; its vendor's push service gives it an address ([`subscribe`]).
//! 2. When something waits, each address gets an empty message, by a job ([`announce`]). Our key signs it (VAPID, RFC 8292).
//!    There is no body, hence nothing to encrypt: the browser says a fixed sentence.
//! 3. An address that the push service does not know any more is removed.
//! 4. A subscription ends with the session in which it was made, and with the account ([`DEPENDENT`]).

mod ending;
mod endpoint;
mod send;
mod store;
mod vapid;

use porteiro_protocol::id::{Id, SessionId};
use porteiro_protocol::time::OffsetDateTime;

pub use ending::DEPENDENT;
pub use endpoint::routes;
pub use send::{SENDING, announce};
pub use vapid::PushKey;

use crate::{
    App, accounts,
    fetch::Destination,
    http::RequestContext,
    sessions::SignedIn,
    store::{StoreError, Turn},
};

/// The most browsers of one person.
const MOST: i64 = 10;

#[derive(Debug)]
pub enum Subscribed {}
pub type SubscriptionId = Id<Subscribed>;

/// A browser by which a person is told.
#[derive(Clone)]
pub struct Subscription {
    pub id: SubscriptionId,
    /// The address at the push service.
    endpoint: String,
    pub session: SessionId,
    pub user_agent: String,
    pub created_at: OffsetDateTime,
}

/// The address identifies a browser, so it is not printed.
impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<push subscription {}>", self.id)
    }
}

/// Why a browser is not subscribed.
#[derive(Debug)]
enum Refused {
    /// What is wrong with the address.
    Address(&'static str),
    TooMany,
}

/// Whether browsers may subscribe at all.
fn is_on(app: &App) -> bool {
    app.checked.settings.web_push
}

/// Subscribes a browser; one that is subscribed already belongs to this session from now on.
async fn subscribe(
    app: &App,
    context: &RequestContext,
    me: &SignedIn,
    endpoint: &str,
) -> Result<Result<Subscription, Refused>, StoreError> {
    if let Err(why) = app.fetcher.check(Destination::Strangers, endpoint) {
        return Ok(Err(Refused::Address(why)));
    }
    let id: SubscriptionId = Id::random(&*app.entropy);
    let turn = Turn::new(me.account_id.uuid(), ("push", me.session_id));
    let made = app.store.run_tx_in_turn(turn, "web_push.subscribe", |tx| async move {
        // Whatever ends the session holds this lock: it is over before, or removes the subscription.
        accounts::lock(&tx, me.account_id).await?;
        store::insert(&tx, me, id, endpoint, &context.user_agent).await
    });
    Ok(made.await?.ok_or(Refused::TooMany))
}
