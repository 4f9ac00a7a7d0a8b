//! Signing in to an organization without a client: what the address does that an organization hands to its people
//! (docs/decisions/0133).
//!
//! 1. A flow `sign_in` names an organization, by id or slug. Its connections are offered at once.
//! 2. One that does not exist or is suspended is answered as one without connections: with the methods that everybody
//!    gets. Only who has signed in hears that it is not available, whatever the reason.
//! 3. Once the person is known they must be an active member, and meet the organization's policy ([`purpose`]).
//! 4. Nothing is granted: the session is all that results. What the browser holds already may be enough.

mod purpose;

use std::sync::Arc;

use porteiro_protocol::{authorization_request::Refused, error::ErrorCode};
use serde_json::{Value, json};

pub use purpose::OrganizationPurpose;

use self::purpose::{Named, Request};
use crate::{
    App, directories,
    flow::{
        self, Answer, Beginning, Continuation, Entering, FlowError, Ready, Source, Started,
        state::{Refusal, Transport},
    },
    http::RequestContext,
    sessions::SignedIn,
};

async fn enter(entering: Entering<'_>) -> Result<Answer, FlowError> {
    let Entering { app, context, transport, .. } = entering;
    let named = Named { named: entering.organization.to_owned() };
    let continuation = Continuation::new(OrganizationPurpose::NAME, &named)?;
    let request = Request::read(Source::Store(&app.store), named).await?;
    let (signed_in, vouched) = match transport {
        Transport::Browser => present(app, context, &request).await?,
        Transport::Api => (None, None),
    };
    let beginning = Beginning {
        transport,
        locales: entering.locale.to_owned(),
        level: entering.level,
        registers: false,
        proves_again: false,
        silent: false,
        client_id: OrganizationPurpose::NAME.to_owned(),
        signed_in,
        vouched,
    };
    let ready = Ready::new(&continuation, Box::new(request));
    Ok(match Box::pin(flow::start(app, context, continuation, ready, beginning)).await? {
        Started::Flow(answer) => *answer,
        Started::Done { delivery, cookies } => {
            Answer { body: over("complete", &delivery.to_json()), cookies }
        }
        Started::Blocked { refused } => Answer::again(blocked(&refused)),
    })
}

/// The session of the browser is that of somebody who does not get in.
fn blocked(refused: &Refused) -> Value {
    let (reason, next) = match refused.code {
        ErrorCode::UnmetAuthenticationRequirements => (Refusal::UnmetRequirements, Value::Null),
        _ => (Refusal::RequestRefused, purpose::unavailable().to_json()),
    };
    let mut body = over("denied", &next);
    body["reason"] = json!(reason);
    body
}

/// A flow that ended before it was stored.
fn over(stage: &str, next: &Value) -> Value {
    json!({"kind": "sign_in", "stage": stage, "actions": [], "notices": [], "continue": next})
}

/// Who is in this browser already, as for an authorization request that names the organization.
async fn present(
    app: &Arc<App>,
    context: &RequestContext,
    request: &Request,
) -> Result<(Option<SignedIn>, Option<directories::Vouched>), FlowError> {
    let mut signed_in = flow::current_session(app, context).await?;
    let Some(place) = request.organization() else { return Ok((signed_in, None)) };
    // Who came by the directory last is not the person who is signed in to an account in this browser.
    if let Some(held) = directories::held(app, context.directory.as_deref(), place).await? {
        return Ok((None, Some(held.vouched)));
    }
    if let Some(it) = &signed_in
        && directories::may_come_by_directory(&app.store, it.account_id, place).await?
    {
        signed_in = None;
    }
    let held = match &signed_in {
        Some(_) => None,
        None => directories::held(app, context.session.as_deref(), place).await?,
    };
    Ok((signed_in, held.map(|held| held.vouched)))
}
