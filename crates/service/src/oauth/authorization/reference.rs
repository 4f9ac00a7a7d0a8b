//! Request objects by reference (OpenID Connect Core §6.2, RFC 9101 §5.2): fetched only from a URL that the client
//! registered, at each request, and never cached (docs/decisions/0037).

use std::sync::Arc;

use porteiro_protocol::{
    authorization_request::{RawRequest, Refused, Source},
    error::ErrorCode,
};

use super::{
    super::clients::{self, Client},
    Stopped, decide,
    decide::refuse,
};
use crate::{
    App,
    fetch::Destination,
    flow::FlowError,
    http::RequestContext,
    limits::{self, Bucket, REQUEST_OBJECT, REQUEST_OBJECT_CLIENT, Rule, network},
};

/// The maximum size of a form.
const LARGEST: usize = 64 * 1024;

/// The request with its object, which is fetched if the request has a reference. No database connection is held
/// meanwhile.
pub(super) async fn brought(
    app: &Arc<App>,
    context: &RequestContext,
    raw: RawRequest,
) -> Result<Result<RawRequest, Stopped>, FlowError> {
    let page = |refused: Refused| Ok(Err(Stopped::Page { code: refused.code, detail: refused.description }));
    let Ok(Source::Reference(uri)) = raw.source() else { return Ok(Ok(raw)) };
    let client_id = match raw.addressee() {
        Ok(addressee) => addressee.client_id,
        Err(error) => return Ok(Err(error.into())),
    };
    let Some(client) = clients::find(&app.store, client_id).await? else {
        return page(refuse(ErrorCode::InvalidRequest, "the client is unknown"));
    };
    let address = match registered(&client, uri) {
        Ok(address) => address,
        Err(refused) => return page(refused),
    };
    limit(app, context, &client).await?;
    match app.fetcher.get_jwt(Destination::Strangers, address, LARGEST).await {
        Ok(object) => Ok(Ok(raw.with_object(object))),
        Err(_) => page(refuse(
            ErrorCode::InvalidRequestUri,
            "the request object at request_uri does not exist or could not be fetched",
        )),
    }
}

/// The URL to fetch, if this client registered it and has keys to sign with.
fn registered<'a>(client: &Client, uri: &'a str) -> Result<&'a str, Refused> {
    if decide::must_push(client) {
        return Err(refuse(ErrorCode::InvalidRequest, "this client must push its requests (RFC 9126)"));
    }
    // The fragment is for caches (OpenID Connect Core §6.2); nothing is cached here.
    let address = without_fragment(uri);
    if !client.metadata.request_uris.iter().any(|known| without_fragment(known) == address) {
        return Err(refuse(ErrorCode::InvalidRequestUri, "request_uri is not registered for this client"));
    }
    if client.metadata.jwks.is_none() && client.metadata.jwks_uri.is_none() {
        return Err(refuse(ErrorCode::InvalidRequestUri, "the client has no key for signing requests"));
    }
    Ok(address)
}

fn without_fragment(uri: &str) -> &str {
    uri.split_once('#').map_or(uri, |(address, _)| address)
}

/// The sender is anonymous. Limited by address, so that one sender cannot exhaust another's limit.
async fn limit(app: &App, context: &RequestContext, client: &Client) -> Result<(), FlowError> {
    let network = network(context.address);
    let both = [network.as_slice(), client.id.as_bytes()].concat();
    let bucket = |rule: Rule, whom: &[u8]| Bucket { rule, key: app.secrets.limit_key(rule.name, whom) };
    let buckets = [bucket(REQUEST_OBJECT, &network), bucket(REQUEST_OBJECT_CLIENT, &both)];
    match limits::take(&app.store, &buckets).await? {
        Some(limited) => Err(limited.into()),
        None => Ok(()),
    }
}
