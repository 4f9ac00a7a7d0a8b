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
    App,
    directories::{self, Vouched},
    flow::{self, Beginning, Continuation, FlowError, Ready, Started, state::Transport},
    http::RequestContext,
    sessions::SignedIn,
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
            && directories::may_come_by_directory(&app.store, it.account_id, place).await?
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
    let Some(held) = directories::held(app, token, place).await? else { return Ok(None) };
    let account = held.vouched.account;
    let is_hinted = continued.hinted.is_none_or(|hinted| hinted == account);
    let is_fit = is_hinted
        && !is_older(prepared, held.at, held.now)
        && place::is_named(&app.store, continued, prepared, account).await?;
    Ok(is_fit.then_some(held.vouched))
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
