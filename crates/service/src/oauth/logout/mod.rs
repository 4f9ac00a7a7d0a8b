//! Sign-out: OpenID Connect RP-Initiated Logout 1.0 and Back-Channel Logout 1.0.
//!
//! 1. Grants end with what they depend on ([`DEPENDENT`]), and every client that took part in an ended session and
//!    registered for it is notified once, by a job. The transaction does one batch of grants, and a job the rest
//!    (`ending.rs`).
//! 2. A client may send the person here to sign out. An ID token of this session suffices; without one the person
//!    must confirm, since otherwise any page could sign people out (ASVS 10.6.2).
//! 3. The person is sent back only to a URI that the client registered, and only if an ID token of ours identifies
//!    the client.

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
    http::{BIND_COOKIE, DIRECTORY_COOKIE, RequestContext, Route, SESSION_COOKIE},
    security_log,
    sessions::{self, Ended, Present},
    store::{StoreError, Turn, Tx},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// Logs the end of one grant, of which its client knows.
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

/// Logs the end of one grant whose session continues, and notifies its client.
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

/// The result of a request to sign out.
#[derive(Debug)]
enum Left {
    /// Signed out, or there was no session; where to go next, and which cookies are removed.
    Out { to: Option<String>, forgets: &'static [&'static str] },
    /// The person must confirm.
    Ask { token: String },
    /// The request is invalid.
    Refused(&'static str),
}

async fn leave(app: &Arc<App>, context: &RequestContext, form: &Parameters) -> Result<Left, FlowError> {
    let present = flow::present_sessions(app, context).await?;
    let hint = form.get("id_token_hint").map(|text| read_hint(app, text));
    let found = match &hint {
        Some(Hint::Foreign) => Err("id_token_hint is not an ID token of this issuer"),
        // The person may confirm and sign out, but is not redirected: the client is not authenticated.
        Some(Hint::Outdated) => Ok((None, false)),
        Some(Hint::Own(claims)) => destination(app, form, Some(claims)).await?,
        None => destination(app, form, None).await?,
    };
    let (to, checked) = match found {
        Ok(destination) => destination,
        Err(refused) => return Ok(Left::Refused(refused)),
    };
    // An unverified client gets the person back only after a sign-out: otherwise it could redirect anyone.
    if present.is_empty() {
        return Ok(Left::Out { to: to.filter(|_| checked), forgets: EVERYTHING });
    }
    let same = match hint {
        Some(Hint::Own(claims)) => present.iter().find(|(_, it)| is_of(app, &claims, it)),
        Some(Hint::Outdated | Hint::Foreign) | None => None,
    };
    // The client that names its session signs that person out: also of the session that a directory vouches for beside
    // that of their account. The browser may have a session of another person, which stays.
    if let Some((forgets, session)) = same {
        let is_theirs = |it: &Present| it.account_id == session.account_id;
        for (_, session) in present.iter().filter(|(_, it)| is_theirs(it)) {
            end(app, context, session).await?;
        }
        let all = present.iter().all(|(_, it)| is_theirs(it));
        return Ok(Left::Out { to, forgets: if all { EVERYTHING } else { forgets } });
    }
    let token = confirmation(app, &present);
    let said_so = form.get("confirm").is_some_and(|confirm| {
        let own_page = context.origin.as_deref() == Some(app.issuer());
        own_page && bool::from(subtle::ConstantTimeEq::ct_eq(confirm.as_bytes(), token.as_bytes()))
    });
    if !said_so {
        return Ok(Left::Ask { token });
    }
    for (_, session) in &present {
        end(app, context, session).await?;
    }
    Ok(Left::Out { to, forgets: EVERYTHING })
}

const EVERYTHING: &[&str] = &[SESSION_COOKIE, DIRECTORY_COOKIE, BIND_COOKIE];

/// Whether an ID token of ours is of this session: it has the client's `sid` of the session.
fn is_of(app: &App, claims: &Value, signed_in: &Present) -> bool {
    let subject = claims["sub"].as_str().and_then(|text| text.parse().ok());
    match (claims["aud"].as_str(), subject) {
        (Some(client_id), Some(subject)) => {
            claims["sid"] == app.secrets.sid(signed_in.session_id, client_id, subject)
        }
        (_, _) => false,
    }
}

/// The client's post-logout redirect URI, if it is registered.
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

/// Valid for these sessions only: another page cannot know it.
fn confirmation(app: &App, present: &[(&[&str], Present)]) -> String {
    let ids: Vec<_> = present.iter().map(|(_, it)| it.session_id.uuid().into_bytes()).collect();
    let parts: Vec<&[u8]> =
        std::iter::once(b"logout".as_slice()).chain(ids.iter().map(<[u8; 16]>::as_slice)).collect();
    URL_SAFE_NO_PAD.encode(app.secrets.form_token(&parts))
}

async fn end(app: &Arc<App>, context: &RequestContext, signed_in: &Present) -> Result<(), StoreError> {
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
