//! Limits of pushed requests per client and network. Taken before the request is verified.

use super::super::clients::Client;
use crate::{
    App,
    http::{OAuthError, RequestContext},
    limits::{
        Bucket, PUSH, PUSH_CLIENT, PUSH_CLIENT_KIB, PUSH_KIB, Rule, first_empty, kib, network, take_weighed,
    },
};

/// # Errors
/// 429 where a bucket is empty.
pub(super) async fn take(
    app: &App,
    context: &RequestContext,
    client: &Client,
    size: usize,
) -> Result<(), OAuthError> {
    let network = network(context.address);
    let bucket = |rule: Rule, whom: &[u8]| Bucket { rule, key: app.secrets.limit_key(rule.name, whom) };
    let mut buckets = Vec::new();
    // Anyone can use the id of a public client, and anyone can register a confidential one.
    if client.is_public() || !client.is_verified() {
        buckets.extend([(bucket(PUSH, &network), 1), (bucket(PUSH_KIB, &network), kib(size))]);
    }
    // Only an authenticated client takes from its own limit, so others cannot exhaust it.
    if !client.is_public() {
        let id = client.id.as_bytes();
        buckets.extend([(bucket(PUSH_CLIENT, id), 1), (bucket(PUSH_CLIENT_KIB, id), kib(size))]);
    }
    let left = take_weighed(&app.store, &buckets).await?;
    first_empty(&buckets, &left).map_or(Ok(()), |limited| Err(limited.into()))
}
