//! Sign-out: OpenID Connect RP-Initiated Logout 1.0 and Back-Channel Logout 1.0.
//!
//! 1. Whatever ends a session calls [`session_ended`] in its transaction: the grants that hang on it are revoked, and
//!    every client that has a part in it and wants to know is told, by a job.
//! 2. A client may send the person here to sign out. With an ID token of this very session that is enough; without one
//!    the person is asked first, or any page could sign people out (ASVS 10.6.2).
//! 3. The person goes back only to an address the client registered, and only if a token of ours says which client.

mod backchannel;
mod endpoint;

use std::{collections::BTreeSet, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{
    form::Parameters,
    id::{AccountId, CredentialId, SessionId},
};
use serde_json::{Value, json};
use uuid::Uuid;

pub use backchannel::{JOB, deliver, token};

use super::{
    authorization,
    clients::{self, Trust},
    grants::{self, Revoked, Why},
};
use crate::{
    App, accounts, audit,
    audit::EventKind,
    flow::{self, FlowError},
    http::{RequestContext, Route},
    sessions::{self, Ended, SignedIn},
    store::{StoreError, Tx},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// A session ended: what hangs on it ends in the same transaction.
pub async fn session_ended(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    session: SessionId,
    reason: Ended,
) -> Result<(), StoreError> {
    let payload = json!({"session_id": session, "reason": reason});
    let event = audit::Event { kind: EventKind::SessionEnded, subject: account.uuid(), payload };
    audit::record(app, tx, context, event).await?;
    let (offline_too, why) = match reason {
        Ended::SignedOut | Ended::EndedByOwner | Ended::EndedByPlatform | Ended::TooMany => {
            (false, Why::SessionEnded)
        }
        Ended::Recovered => (true, Why::Recovered),
        Ended::CredentialChanged => (true, Why::CredentialChanged),
        Ended::AccountDisabled => (true, Why::AccountDisabled),
    };
    // Asked before they are revoked, so that each hears of it once.
    let clients = grants::clients_of_session(tx, account, session).await?;
    let revoked = grants::revoke_of_session(tx, account, session, offline_too, why).await?;
    note(app, tx, context, account, &revoked, why).await?;
    for (client_id, subject) in clients {
        backchannel::tell(app, tx, &client_id, subject, session).await?;
    }
    Ok(())
}

/// Grants ended while their sessions go on: written down, and each client is told of each session once.
pub async fn grants_ended(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    revoked: &[Revoked],
    why: Why,
) -> Result<(), StoreError> {
    let event = |one: &Revoked| {
        let payload = json!({"grant_id": one.grant, "client_id": one.client_id, "reason": why});
        audit::Event { kind: EventKind::GrantRevoked, subject: one.account.uuid(), payload }
    };
    audit::record_all(app, tx, context, revoked.iter().map(event).collect()).await?;
    let told: BTreeSet<(&str, Uuid, SessionId)> =
        revoked.iter().map(|one| (one.client_id.as_str(), one.subject, one.session)).collect();
    backchannel::tell_all(app, tx, told).await
}

/// A credential is gone: so is what was allowed on the strength of it, wherever and however long ago.
pub async fn credential_gone(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    credential: CredentialId,
    keep: Option<SessionId>,
) -> Result<(), StoreError> {
    let why = Why::CredentialChanged;
    let revoked = grants::revoke_of_credential(tx, account, credential, keep, why).await?;
    note(app, tx, context, account, &revoked, why).await
}

/// Nothing anybody was allowed holds any more.
pub async fn everything_ended(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    why: Why,
) -> Result<(), StoreError> {
    let revoked = grants::revoke_all(tx, account, why).await?;
    note(app, tx, context, account, &revoked, why).await
}

/// Writes down which grants ended, and why.
pub async fn note(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    revoked: &[Revoked],
    why: Why,
) -> Result<(), StoreError> {
    for one in revoked {
        let payload = json!({"grant_id": one.grant, "client_id": one.client_id, "reason": why});
        let event = audit::Event { kind: EventKind::GrantRevoked, subject: account.uuid(), payload };
        audit::record(app, tx, context, event).await?;
    }
    Ok(())
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
    let hint = match form.get("id_token_hint") {
        Some(text) => match authorization::own_id_token(app, text) {
            Some(claims) => Some(claims),
            None => return Ok(Left::Refused("id_token_hint is not an ID token of ours")),
        },
        None => None,
    };
    let (to, checked) = match destination(app, form, hint.as_ref()).await? {
        Ok(destination) => destination,
        Err(refused) => return Ok(Left::Refused(refused)),
    };
    // A client nobody has checked gets people back only when it signed them out: else it could send anybody anywhere.
    let Some(signed_in) = signed_in else {
        return Ok(Left::Out { to: to.filter(|_| checked) });
    };
    let token = confirmation(app, &signed_in);
    let same = hint.is_some_and(|claims| is_of(app, &claims, &signed_in));
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
        return Ok(Err("post_logout_redirect_uri needs an id_token_hint"));
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
        return Ok(Err("post_logout_redirect_uri is not one the client has registered"));
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
    app.store
        .run_tx("logout.end", |tx| async move {
            accounts::lock(&tx, signed_in.account_id).await?;
            let (account, session) = (signed_in.account_id, signed_in.session_id);
            if sessions::end(&tx, session, account, Ended::SignedOut).await? {
                session_ended(app, &tx, context, account, session, Ended::SignedOut).await?;
            }
            Ok(())
        })
        .await
}
