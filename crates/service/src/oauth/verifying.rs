//! Limits on the verification of signatures by unauthenticated senders.
//!
//! The sender of a request object or an assertion is not authenticated yet. So each network has a number of
//! verifications, taken before the first byte is verified, and those with RSA keys run off the async threads, a few
//! at a time (docs/decisions/0080).

use porteiro_protocol::jose::is_slow_to_verify;
use tokio::sync::Semaphore;

use crate::{
    App,
    http::RequestContext,
    limits::{self, Bucket, Limited, Rule, SIGNATURE, SIGNATURE_CLIENT, network},
    store::StoreError,
};

/// How many verifications run at once off the async threads; the others wait.
static PLACES: Semaphore = Semaphore::const_new(4);

/// Takes one verification of this client's signatures from the network's limit.
pub async fn take(
    app: &App,
    context: &RequestContext,
    client_id: &str,
) -> Result<Option<Limited>, StoreError> {
    let network = network(context.address);
    let both = [network.as_slice(), client_id.as_bytes()].concat();
    let bucket = |rule: Rule, whom: &[u8]| Bucket { rule, key: app.secrets.limit_key(rule.name, whom) };
    let buckets = [bucket(SIGNATURE, &network), bucket(SIGNATURE_CLIENT, &both)];
    limits::take(&app.store, &buckets).await
}

/// Verifies a token: here if that is fast, otherwise on a blocking thread. `None` when the node is stopping.
pub async fn run<T: Send + 'static>(token: &str, verify: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if !is_slow_to_verify(token) {
        return Some(verify());
    }
    let _place = PLACES.acquire().await.ok()?;
    tokio::task::spawn_blocking(verify).await.ok()
}
