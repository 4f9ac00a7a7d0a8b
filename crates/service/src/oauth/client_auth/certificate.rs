//! Mutual TLS (RFC 8705 §2): the handshake proved possession of the key; here the certificate is matched with the
//! client.

use std::sync::Arc;

use porteiro_protocol::certificate::Certificate;

use super::{
    super::clients::{self, Client, NoKeys},
    keys_unavailable,
};
use crate::{
    App,
    http::{OAuthError, RequestContext},
};

/// §2.1: issued by a configured authority, for the registered subject.
pub(super) fn by_authority(app: &App, context: &RequestContext, client: &Client) -> bool {
    let Some(authorities) = &app.client_authorities else {
        tracing::warn!(client = client.id, "a client uses tls_client_auth, but mtls_ca_file is not set");
        return false;
    };
    let (Some(der), Some(subject)) = (&context.certificate, clients::subject(&client.metadata)) else {
        return false;
    };
    let named = Certificate::parse(der).is_ok_and(|certificate| certificate.matches_subject(&subject));
    named && authorities.vouch_for(der, app.clock.now())
}

/// §2.2: a certificate that the client registered; no authority is needed.
pub(super) async fn by_key(
    app: &Arc<App>,
    context: &RequestContext,
    client: &Client,
) -> Result<bool, OAuthError> {
    let Some(certificate) = context.certificate.as_ref().and_then(|der| Certificate::parse(der).ok()) else {
        return Ok(false);
    };
    if !certificate.is_valid_at(app.clock.now()) {
        return Ok(false);
    }
    let keys = match clients::client_keys(app, client).await {
        Ok(known) if certificate.matches_jwks(&known) => return Ok(true),
        // The client may have published a new one.
        Ok(_) => clients::newer_client_keys(app, client).await,
        Err(none) => Err(none),
    };
    match keys {
        Ok(newer) => Ok(certificate.matches_jwks(&newer)),
        Err(NoKeys::NoOthers) => Ok(false),
        Err(NoKeys::Unavailable) => Err(keys_unavailable()),
    }
}
