//! Sign-out: OpenID Connect RP-Initiated Logout 1.0 and Back-Channel Logout 1.0.
//!
//! 1. Grants end with what they hang on ([`DEPENDENT`]), and every client that has a part in an ended session and wants to
//!    know is told once, by a job. However many grants there are, the transaction does one batch, and a job the rest
//!    (`ending.rs`).
//! 2. A client may send the person here to sign out. With an ID token of this very session that is enough; without one
//!    the person is asked first, or any page could sign people out (ASVS 10.6.2).
//! 3. The person goes back only to an address the client registered, and only if a token of ours says which client.

mod backchannel;
mod ending;
mod endpoint;

use std::{collections::BTreeSet, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::form::Parameters;
use serde_json::Value;

pub use backchannel::{NOTIFICATION, token};
pub use ending::{DEPENDENT, ENDING};

use super::{
    authorization::{Hint, read_hint},
    clients::{self, Trust},
    grants::{Revoked, Why},
};
use crate::{
    App, accounts,
    endings::{self, Cause},
    flow::{self, FlowError},
    http::{RequestContext, Route},
    security_log,
    sessions::{self, Ended, SignedIn},
    store::{StoreError, Turn, Tx},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// One grant ended, and its client knows: it is written down.
pub async fn note(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    revoked: &Revoked,
    why: Why,
) -> Result<(), StoreError> {
    security_log::record(app, tx, context, ending::event(revoked, why)).await?;
    let cause = Cause::Grant { account: revoked.account, client_id: &revoked.client_id, why };
    endings::end(app, tx, context, cause).await.map(|_| ())
}

/// One grant ended while its session goes on, and its client is told.
pub async fn grant_ended(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    revoked: &Revoked,
    why: Why,
) -> Result<(), StoreError> {
    note(app, tx, context, revoked, why).await?;
    let told = (revoked.client_id.as_str(), revoked.subject, revoked.session);
    backchannel::tell_all(app, tx, BTreeSet::from([told])).await
}

/// What became of a request to sign out.
#[derive(Debug)]
enum Left {
    /// Signed out, or nobody was signed in; where to go from here.
    Out { to: Option<String> },
    /// The person must say so themselves.
    Ask { token: String },
    /// Something in the request is not true.
    Refused(&'static str),
}

async fn leave(app: &Arc<App>, context: &RequestContext, form: &Parameters) -> Result<Left, FlowError> {
    let signed_in = flow::current_session(app, context).await?;
    let hint = form.get("id_token_hint").map(|text| read_hint(app, text));
    let found = match &hint {
        Some(Hint::Foreign) => Err("id_token_hint is not an ID token of this issuer"),
        // The person may leave, if they say so, and is sent nowhere: nobody vouches for who asks.
        Some(Hint::Outdated) => Ok((None, false)),
        Some(Hint::Own(claims)) => destination(app, form, Some(claims)).await?,
        None => destination(app, form, None).await?,
    };
    let (to, checked) = match found {
        Ok(destination) => destination,
        Err(refused) => return Ok(Left::Refused(refused)),
    };
    // A client nobody has checked gets people back only when it signed them out: else it could send anybody anywhere.
    let Some(signed_in) = signed_in else {
        return Ok(Left::Out { to: to.filter(|_| checked) });
    };
    let token = confirmation(app, &signed_in);
    let same = match hint {
        Some(Hint::Own(claims)) => is_of(app, &claims, &signed_in),
        Some(Hint::Outdated | Hint::Foreign) | None => false,
    };
    let said_so = form.get("confirm").is_some_and(|confirm| {
        let own_page = context.origin.as_deref() == Some(app.issuer());
        own_page && bool::from(subtle::ConstantTimeEq::ct_eq(confirm.as_bytes(), token.as_bytes()))
    });
    if !same && !said_so {
        return Ok(Left::Ask { token });
    }
    end(app, context, &signed_in).await?;
    Ok(Left::Out { to })
}

/// Whether an ID token of ours was made in this very session: its client's name for it is in the token.
fn is_of(app: &App, claims: &Value, signed_in: &SignedIn) -> bool {
    let subject = claims["sub"].as_str().and_then(|text| text.parse().ok());
    match (claims["aud"].as_str(), subject) {
        (Some(client_id), Some(subject)) => {
            claims["sid"] == app.secrets.sid(signed_in.session_id, client_id, subject)
        }
        (_, _) => false,
    }
}

/// Where the client wants the person, if it may.
async fn destination(
    app: &Arc<App>,
    form: &Parameters,
    hint: Option<&Value>,
) -> Result<Result<(Option<String>, bool), &'static str>, StoreError> {
    let audience = hint.and_then(|claims| claims["aud"].as_str());
    if let (Some(named), Some(audience)) = (form.get("client_id"), audience)
        && named != audience
    {
        return Ok(Err("client_id is not the client of id_token_hint"));
    }
    let Some(uri) = form.get("post_logout_redirect_uri") else { return Ok(Ok((None, false))) };
    let Some(audience) = audience else {
        return Ok(Err("post_logout_redirect_uri requires id_token_hint"));
    };
    let client = clients::find(&app.store, audience).await?;
    let checked = client.as_ref().is_some_and(|client| match client.trust {
        Trust::Unverified => false,
        Trust::Verified | Trust::FirstParty => true,
    });
    let registered = client.is_some_and(|client| {
        client.metadata.post_logout_redirect_uris.iter().any(|known| known.matches(uri))
    });
    if !registered {
        return Ok(Err("post_logout_redirect_uri is not registered for this client"));
    }
    let state = form.get("state");
    let to = state.map_or_else(|| uri.to_owned(), |state| with_state(uri, state));
    Ok(Ok((Some(to), checked)))
}

fn with_state(uri: &str, state: &str) -> String {
    let separator = if uri.contains('?') { '&' } else { '?' };
    let encoded: String = url::form_urlencoded::byte_serialize(state.as_bytes()).collect();
    format!("{uri}{separator}state={}", encoded.replace('+', "%20"))
}

/// Good for this session alone: another page cannot know it.
fn confirmation(app: &App, signed_in: &SignedIn) -> String {
    let token = app.secrets.form_token(&[b"logout", signed_in.session_id.uuid().as_bytes()]);
    URL_SAFE_NO_PAD.encode(token)
}

async fn end(app: &Arc<App>, context: &RequestContext, signed_in: &SignedIn) -> Result<(), StoreError> {
    let turn = Turn::new(signed_in.account_id.uuid(), ("sign_out", signed_in.session_id));
    app.store
        .run_tx_in_turn(turn, "logout.end", |tx| async move {
            accounts::lock(&tx, signed_in.account_id).await?;
            let (account, session) = (signed_in.account_id, signed_in.session_id);
            if sessions::end(&tx, session, account, Ended::SignedOut).await? {
                endings::sessions_ended(app, &tx, context, account, &[session], Ended::SignedOut).await?;
            }
            Ok(())
        })
        .await
}
