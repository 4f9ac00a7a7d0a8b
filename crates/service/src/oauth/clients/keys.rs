//! The public keys of clients (RFC 7591 §2): registered by value, or fetched from `jwks_uri`.
//!
//! A fetched set is used for ten minutes. When a token names a key that is not in it, the client may have a new one:
//! the set is fetched again, at most twice a minute, regardless of the sender. A failure is not cached, except that
//! the next attempt waits a few seconds. Nothing is fetched before a client has to authenticate. Keys that cannot be
//! fetched say nothing about the client: that is [`NoKeys::Unavailable`], and the client may try again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as Brief, PoisonError},
};

use porteiro_protocol::{
    jose::{Algorithm, VerifiedJws, VerifyError, verify_compact},
    time::{Duration, OffsetDateTime},
};
use serde_json::Value;
use tokio::sync::Mutex;

use super::{super::verifying, Client};
use crate::{
    App,
    fetch::{Destination, FetchError},
};

const BELIEVED: Duration = Duration::minutes(10);
const BETWEEN_SEARCHES: Duration = Duration::seconds(30);
const AFTER_FAILURE: Duration = Duration::seconds(5);
const LARGEST_SET: usize = 64 * 1024;
const MOST_KEYS: usize = 20;
const MOST_CLIENTS: usize = 1_000;

pub type Jwks = Arc<Vec<Value>>;

/// Why no keys are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoKeys {
    /// There are none, or none besides the known ones.
    NoOthers,
    /// They cannot be fetched now.
    Unavailable,
}

/// Why the signature of a client was not verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unverified {
    Wrong(VerifyError),
    /// Its keys cannot be fetched now.
    Unavailable,
}

impl From<NoKeys> for Unverified {
    fn from(none: NoKeys) -> Self {
        match none {
            NoKeys::NoOthers => Self::Wrong(VerifyError::UnknownKey),
            NoKeys::Unavailable => Self::Unavailable,
        }
    }
}

/// The description of the error for the client.
pub const UNAVAILABLE: &str = "the client's keys cannot be fetched; try again later";

/// Fetched sets, by client.
#[derive(Debug, Default)]
pub struct FetchedKeys {
    slots: Brief<HashMap<String, Arc<Mutex<Slot>>>>,
}

/// Locked during a fetch: one fetch per client at a time.
#[derive(Debug, Default)]
struct Slot {
    uri: String,
    fetched: Option<(OffsetDateTime, Jwks)>,
    tried: Option<OffsetDateTime>,
}

impl Slot {
    /// A fetch was tried recently: returns its result.
    fn without_trying(&self) -> NoKeys {
        let fetched = self.fetched.as_ref().map(|(at, _)| *at);
        if fetched == self.tried { NoKeys::NoOthers } else { NoKeys::Unavailable }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// The cached keys, while they are fresh.
    Known,
    /// A key is missing from the cached ones.
    Newer,
}

/// A client's keys.
///
/// # Errors
/// When there are none, or they must be fetched and cannot be.
pub async fn client_keys(app: &App, client: &Client) -> Result<Jwks, NoKeys> {
    keys(app, client, Want::Known).await
}

/// A client's keys, fetched again because a key is not among the cached ones.
///
/// # Errors
/// When they are registered by value, were fetched recently, or cannot be fetched.
pub async fn newer_client_keys(app: &App, client: &Client) -> Result<Jwks, NoKeys> {
    keys(app, client, Want::Newer).await
}

/// Verifies that this client signed the token. The claims are not checked.
///
/// # Errors
/// As [`verify_compact`], and when the keys cannot be fetched now.
pub async fn verify_signed(
    app: &App,
    client: &Client,
    token: &str,
    allowed: &[Algorithm],
) -> Result<VerifiedJws, Unverified> {
    let known = client_keys(app, client).await?;
    let verdict = match verify_with(known, token, allowed).await {
        Err(VerifyError::UnknownKey) => {
            let newer = newer_client_keys(app, client).await?;
            verify_with(newer, token, allowed).await
        }
        verdict => verdict,
    };
    verdict.map_err(Unverified::Wrong)
}

async fn verify_with(keys: Jwks, token: &str, allowed: &[Algorithm]) -> Result<VerifiedJws, VerifyError> {
    let (text, allowed) = (token.to_owned(), allowed.to_vec());
    let verdict = verifying::run(token, move || verify_compact(&text, &keys, &allowed)).await;
    verdict.unwrap_or(Err(VerifyError::Signature))
}

async fn keys(app: &App, client: &Client, want: Want) -> Result<Jwks, NoKeys> {
    match (&client.metadata.jwks, &client.metadata.jwks_uri, want) {
        (Some(set), _, Want::Known) => Ok(Arc::new(set["keys"].as_array().cloned().unwrap_or_default())),
        (Some(_), _, Want::Newer) | (None, None, _) => Err(NoKeys::NoOthers),
        (None, Some(uri), want) => {
            let fetch = || app.fetcher.get_json(Destination::Strangers, uri, LARGEST_SET);
            app.client_keys.get(&client.id, uri, want, app.clock.now(), fetch).await
        }
    }
}

impl FetchedKeys {
    /// Verifies that the owner of a set signed the token. The claims are not checked.
    ///
    /// # Errors
    /// As [`verify_compact`], and when the set cannot be fetched now.
    pub async fn verify<F: Future<Output = Result<Value, FetchError>>>(
        &self,
        owner: &str,
        uri: &str,
        now: OffsetDateTime,
        fetch: impl Fn() -> F,
        token: &str,
        allowed: &[Algorithm],
    ) -> Result<VerifiedJws, Unverified> {
        let known = self.get(owner, uri, Want::Known, now, &fetch).await?;
        let verdict = match verify_with(known, token, allowed).await {
            Err(VerifyError::UnknownKey) => {
                let newer = self.get(owner, uri, Want::Newer, now, &fetch).await?;
                verify_with(newer, token, allowed).await
            }
            verdict => verdict,
        };
        verdict.map_err(Unverified::Wrong)
    }

    async fn get<F: Future<Output = Result<Value, FetchError>>>(
        &self,
        client_id: &str,
        uri: &str,
        want: Want,
        now: OffsetDateTime,
        fetch: impl FnOnce() -> F,
    ) -> Result<Jwks, NoKeys> {
        let slot = self.slot(client_id);
        let mut slot = slot.lock().await;
        if slot.uri != uri {
            *slot = Slot { uri: uri.to_owned(), ..Slot::default() };
        }
        let pause = match want {
            Want::Known => {
                if let Some((at, keys)) = &slot.fetched
                    && now - *at < BELIEVED
                {
                    return Ok(Arc::clone(keys));
                }
                AFTER_FAILURE
            }
            Want::Newer => BETWEEN_SEARCHES,
        };
        if slot.tried.is_some_and(|tried| now - tried < pause) {
            return Err(slot.without_trying());
        }
        slot.tried = Some(now);
        let set = fetch().await.map_err(|FetchError| NoKeys::Unavailable)?;
        let keys = Arc::new(public_keys(&set).ok_or(NoKeys::Unavailable)?);
        slot.fetched = Some((now, Arc::clone(&keys)));
        Ok(keys)
    }

    fn slot(&self, client_id: &str) -> Arc<Mutex<Slot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MOST_CLIENTS
            && !slots.contains_key(client_id)
            && let Some(any) = slots.keys().next().cloned()
        {
            slots.remove(&any);
        }
        Arc::clone(slots.entry(client_id.to_owned()).or_default())
    }
}

/// The keys of a set (RFC 7517 §5). Symmetric ones are dropped: a published key is not a shared secret.
fn public_keys(set: &Value) -> Option<Vec<Value>> {
    let keys = set["keys"].as_array().filter(|keys| keys.len() <= MOST_KEYS)?;
    Some(keys.iter().filter(|key| key.is_object() && key["kty"] != "oct").cloned().collect())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;

    /// A client's server that counts requests.
    struct Server {
        sets: FetchedKeys,
        asked: Cell<u32>,
        answer: Cell<Option<&'static str>>,
    }

    impl Server {
        async fn ask(&self, second: i64, want: Want) -> Result<String, NoKeys> {
            let now = OffsetDateTime::from_unix_timestamp(1_800_000_000 + second).unwrap();
            let answer = || async {
                self.asked.set(self.asked.get() + 1);
                let kid = self.answer.get().ok_or(FetchError)?;
                Ok(json!({"keys": [{"kty": "EC", "kid": kid}, {"kty": "oct", "kid": "shared"}, "junk"]}))
            };
            let keys = self.sets.get("one", "https://client.example/jwks", want, now, answer).await?;
            assert_eq!(keys.len(), 1);
            Ok(keys[0]["kid"].as_str().unwrap().to_owned())
        }
    }

    fn server(answer: Option<&'static str>) -> Server {
        Server { sets: FetchedKeys::default(), asked: Cell::new(0), answer: Cell::new(answer) }
    }

    #[tokio::test]
    async fn a_set_is_believed_for_ten_minutes() {
        let server = server(Some("a"));
        assert_eq!(server.ask(0, Want::Known).await.unwrap(), "a");
        server.answer.set(Some("b"));
        assert_eq!(server.ask(599, Want::Known).await.unwrap(), "a");
        assert_eq!(server.asked.get(), 1);
        assert_eq!(server.ask(600, Want::Known).await.unwrap(), "b");
    }

    #[tokio::test]
    async fn a_new_key_is_found_within_a_minute_and_nobody_makes_us_ask_more_often() {
        let server = server(Some("a"));
        server.ask(0, Want::Known).await.unwrap();
        server.answer.set(Some("b"));
        for second in 1..30 {
            assert_eq!(server.ask(second, Want::Newer).await, Err(NoKeys::NoOthers));
        }
        assert_eq!(server.asked.get(), 1);
        assert_eq!(server.ask(30, Want::Newer).await.unwrap(), "b");
        assert_eq!(server.ask(31, Want::Known).await.unwrap(), "b");
    }

    #[tokio::test]
    async fn a_failure_is_forgotten_soon_and_keeps_what_is_still_believed() {
        let server = server(None);
        assert_eq!(server.ask(0, Want::Known).await, Err(NoKeys::Unavailable));
        assert_eq!(server.ask(4, Want::Known).await, Err(NoKeys::Unavailable));
        assert_eq!(server.asked.get(), 1);
        server.answer.set(Some("a"));
        assert_eq!(server.ask(5, Want::Known).await.unwrap(), "a");
        server.answer.set(None);
        assert_eq!(server.ask(40, Want::Newer).await, Err(NoKeys::Unavailable));
        assert_eq!(
            server.ask(41, Want::Newer).await,
            Err(NoKeys::Unavailable),
            "it is not known to be missing"
        );
        assert_eq!(server.ask(41, Want::Known).await.unwrap(), "a");
        assert_eq!(
            server.ask(700, Want::Known).await,
            Err(NoKeys::Unavailable),
            "nothing is believed for longer because of a failure"
        );
    }

    #[tokio::test]
    async fn another_address_is_another_set_and_memory_is_bounded() {
        let sets = FetchedKeys::default();
        let now = OffsetDateTime::UNIX_EPOCH;
        let one = |kid: &'static str| move || async move { Ok(json!({"keys": [{"kty": "EC", "kid": kid}]})) };
        sets.get("one", "https://a.example", Want::Known, now, one("a")).await.unwrap();
        let other = sets.get("one", "https://b.example", Want::Known, now, one("b")).await.unwrap();
        assert_eq!(other[0]["kid"], "b");
        for client in 0..MOST_CLIENTS + 5 {
            sets.get(&client.to_string(), "https://a.example", Want::Known, now, one("a")).await.unwrap();
        }
        assert_eq!(sets.slots.lock().unwrap().len(), MOST_CLIENTS);
    }

    #[test]
    fn what_is_no_set_is_no_keys() {
        for junk in [json!([]), json!({}), json!({"keys": {}}), json!({"keys": vec![json!({}); 21]})] {
            assert!(public_keys(&junk).is_none(), "{junk}");
        }
    }
}
