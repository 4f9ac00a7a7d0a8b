//! Starts the flow of a request that passed every check.

use std::sync::Arc;

use porteiro_protocol::{
    assurance::{Decay, auth_time},
    authorization_request::Prompt,
    id::OrganizationId,
    time::{Duration, OffsetDateTime},
};

use super::{
    AuthorizationPurpose, Continued, Prepared, Request,
    place::{self, Known},
};
use crate::{
    App, connections,
    directories::{self, Vouched},
    flow::{self, Beginning, Continuation, FlowError, Ready, Started, state::Transport},
    http::RequestContext,
    members::{self, State, Whom},
    sessions::{self, SignedIn},
    store::StoreError,
};

/// Returns a response at once, or a flow for the person.
pub async fn start(
    app: &Arc<App>,
    context: &RequestContext,
    continued: Continued,
    prepared: Box<Prepared>,
) -> Result<Started, FlowError> {
    let transport = if continued.challenge { Transport::Api } else { Transport::Browser };
    let signed_in = match transport {
        Transport::Browser => flow::current_session(app, context).await?,
        Transport::Api => None,
    };
    // If the request names another person, the session is not used.
    let signed_in = match signed_in {
        Some(it) if place::is_named(&app.store, &continued, &prepared, it.account_id).await? => Some(it),
        Some(_) | None => None,
    };
    let request = &prepared.request;
    let registers = request.prompts(Prompt::Create);
    let signed_in = signed_in.filter(|it| continued.hinted.is_none_or(|hinted| hinted == it.account_id));
    let mut signed_in = signed_in.filter(|_| !registers);
    let place = match transport {
        Transport::Browser => match place::known(&app.store, None, &prepared).await? {
            Known::This(place) => Some(place),
            Known::Any | Known::Nothing => None,
        },
        Transport::Api => None,
    };
    let mut vouched = None;
    if let Some(place) = place {
        // Who came by the directory last is not the person who is signed in to an account in this browser.
        vouched = vouched_for(app, context.directory.as_deref(), &continued, &prepared, place).await?;
        signed_in = signed_in.filter(|_| vouched.is_none());
        if let Some(it) = &signed_in
            && may_come_by_directory(app, it, place).await?
            && !request.prompts(Prompt::None)
        {
            signed_in = None;
        }
        if signed_in.is_none() && vouched.is_none() {
            vouched = vouched_for(app, context.session.as_deref(), &continued, &prepared, place).await?;
        }
    }
    let stale = |it: &SignedIn| request.prompts(Prompt::Login) || is_too_old(&prepared, it);
    let beginning = Beginning {
        transport,
        locales: request.ui_locales.join(","),
        level: prepared.level,
        registers,
        proves_again: signed_in.as_ref().is_some_and(stale),
        silent: request.prompts(Prompt::None),
        client_id: prepared.client.id.clone(),
        signed_in,
        vouched,
    };
    let continuation = Continuation::new(AuthorizationPurpose::NAME, &continued)?;
    let ready = Ready::new(&continuation, Box::new(Request { continued, outcome: Ok(prepared) }));
    Box::pin(flow::start(app, context, continuation, ready, beginning)).await
}

/// Whether the person is not a member of the organization, and its directory may vouch for another one: then the flow
/// does not use the account of the session.
async fn may_come_by_directory(
    app: &App,
    signed_in: &SignedIn,
    place: OrganizationId,
) -> Result<bool, StoreError> {
    let (_, connections) = connections::organizations::offered(&app.store, place).await?;
    if connections.is_empty() {
        return Ok(false);
    }
    let member = members::find(&app.store, place, Whom::Account(signed_in.account_id)).await?;
    Ok(member.is_none_or(|member| member.state == State::Removed))
}

/// What a directory of the organization vouches for in a session of the browser, unless the request wants the person to prove it
/// again or to choose.
async fn vouched_for(
    app: &Arc<App>,
    token: Option<&str>,
    continued: &Continued,
    prepared: &Prepared,
    place: OrganizationId,
) -> Result<Option<Vouched>, StoreError> {
    let request = &prepared.request;
    if [Prompt::Login, Prompt::SelectAccount, Prompt::Create].into_iter().any(|it| request.prompts(it)) {
        return Ok(None);
    }
    let Some(token) = token else { return Ok(None) };
    let Some(found) = sessions::within(app, token, place).await? else { return Ok(None) };
    let when = found.proof.within(place).map(|proof| proof.at);
    let is_hinted = continued.hinted.is_none_or(|hinted| hinted == found.account_id);
    if !is_hinted
        || is_older(prepared, when, found.now)
        || !place::is_named(&app.store, continued, prepared, found.account_id).await?
    {
        return Ok(None);
    }
    let session = (found.session_id, found.token_hash.to_vec());
    let vouched = Vouched::of_session(place, found.account_id, found.proof, session);
    match &vouched {
        Some(it)
            if directories::standing(&app.store, place, it.identity, it.proof.epoch()).await?.is_none() =>
        {
            Ok(None)
        }
        Some(_) | None => Ok(vouched),
    }
}

fn is_too_old(prepared: &Prepared, signed_in: &SignedIn) -> bool {
    let when = auth_time(&signed_in.proofs, signed_in.level(), signed_in.now, &Decay::default());
    is_older(prepared, when, signed_in.now)
}

/// OpenID Connect Core §3.1.2.1, `max_age`.
fn is_older(prepared: &Prepared, when: Option<OffsetDateTime>, now: OffsetDateTime) -> bool {
    let longest = prepared.request.max_age.or(prepared.client.metadata.default_max_age);
    match (longest, when) {
        (None, _) => false,
        (Some(longest), Some(when)) => {
            now - when > Duration::seconds(i64::try_from(longest).unwrap_or(i64::MAX))
        }
        (Some(_), None) => true,
    }
}
