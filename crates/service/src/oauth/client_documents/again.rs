//! Documents of clients that ask for tokens or approvals without sending a person: nobody's visit has them read again.

use std::sync::Arc;

use porteiro_protocol::{client_metadata::ClientIdUrl, error::ErrorCode};

use super::{super::clients::Client, read, store};
use crate::{
    App,
    http::{OAuthError, RequestContext},
    limits::{self, Bucket, DOCUMENT_CLIENT},
};

/// The client as its document says now; `None` where what is known of it is still valid, or it has no document. The client
/// has authenticated. One request a minute fetches. While that fails the client stays as it was, for a day.
///
/// # Errors
/// When its document could not be read for a day, or the client was disabled meanwhile.
pub async fn read_again(
    app: &App,
    context: &RequestContext,
    client: &Client,
) -> Result<Option<Arc<Client>>, OAuthError> {
    let Ok(url) = ClientIdUrl::parse(&client.id) else { return Ok(None) };
    let known = store::find(&app.store, &url).await?.filter(|known| !known.is_disabled);
    let known = known.ok_or_else(|| refused("the client is unknown"))?;
    if known.is_fresh {
        return Ok(None);
    }
    let key = app.secrets.limit_key(DOCUMENT_CLIENT.name, client.id.as_bytes());
    let limited = limits::take(&app.store, &[Bucket { rule: DOCUMENT_CLIENT, key }]).await?;
    let is_read = limited.is_none() && read(app, context, &url).await.is_ok();
    if !is_read && known.is_overdue {
        return Err(refused("the client's metadata document could not be read for a day"));
    }
    let now = app.directory.client(&app.store, &client.id).await?;
    now.map(Some).ok_or_else(|| refused("the client is unknown"))
}

fn refused(text: &str) -> OAuthError {
    OAuthError::new(ErrorCode::UnauthorizedClient, text)
}
