//! Starts the flow of a request that passed every check.

use std::sync::Arc;

use porteiro_protocol::{
    assurance::{Decay, auth_time},
    authorization_request::Prompt,
    time::Duration,
};

use super::{AuthorizationPurpose, Continued, Prepared, Request, place};
use crate::{
    App,
    flow::{self, Beginning, Continuation, FlowError, Ready, Started, state::Transport},
    http::RequestContext,
    sessions::SignedIn,
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
    let signed_in = signed_in.filter(|_| !registers);
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
    };
    let continuation = Continuation::new(AuthorizationPurpose::NAME, &continued)?;
    let ready = Ready::new(&continuation, Box::new(Request { continued, outcome: Ok(prepared) }));
    Box::pin(flow::start(app, context, continuation, ready, beginning)).await
}

/// OpenID Connect Core §3.1.2.1, `max_age`.
fn is_too_old(prepared: &Prepared, signed_in: &SignedIn) -> bool {
    let longest = prepared.request.max_age.or(prepared.client.metadata.default_max_age);
    let when = auth_time(&signed_in.proofs, signed_in.level(), signed_in.now, &Decay::default());
    match (longest, when) {
        (None, _) => false,
        (Some(longest), Some(when)) => {
            signed_in.now - when > Duration::seconds(i64::try_from(longest).unwrap_or(i64::MAX))
        }
        (Some(_), None) => true,
    }
}
