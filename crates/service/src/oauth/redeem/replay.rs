//! A superseded code or refresh token ends its grant, whatever else is wrong with the request: a missing DPoP proof,
//! a malformed scope, refused details (docs/decisions/0073).

use porteiro_protocol::{form::Parameters, id::Id, pkce::CodeVerifier};
use serde_json::json;

use crate::{
    App,
    http::{OAuthError, RequestContext},
    oauth::{
        clients::Client,
        grants::{self, LogEntry, Superseded},
    },
    secrets::{HandleKind, Presented},
    security_log,
    store::StoreError,
};

/// Ends the grant if a request that was refused before presenting carried a superseded code or token; returns the
/// refusal. A current one stays valid. Not for use after presenting: then this very request may have superseded it.
pub async fn looked_at(
    app: &App,
    context: &RequestContext,
    client: &Client,
    form: &Parameters,
    refusal: OAuthError,
) -> OAuthError {
    let Some((handle, challenge)) = carried(app, form) else { return refusal };
    match end_superseded(app, context, client, &handle, challenge).await {
        Ok(()) => refusal,
        Err(error) => error.into(),
    }
}

/// Ends the grant of a genuine handle that was superseded.
pub async fn end_superseded(
    app: &App,
    context: &RequestContext,
    client: &Client,
    handle: &Presented,
    challenge: Option<[u8; 32]>,
) -> Result<(), StoreError> {
    let presented = Superseded {
        grant: handle.route.row,
        account: handle.route.owner,
        client_id: client.id.clone(),
        hash: handle.hash,
        generation: i32::try_from(handle.route.generation).unwrap_or(i32::MAX),
        challenge,
        log: log_entry(app, context),
    };
    grants::end_superseded(&app.store, &presented).await.map(|_| ())
}

/// A refresh token, or a code with its verifier. Malformed ones need no database.
fn carried(app: &App, form: &Parameters) -> Option<(Presented, Option<[u8; 32]>)> {
    let open = |kind, name| form.get(name).and_then(|text| app.secrets.handles.open(kind, text));
    if let Some(handle) = open(HandleKind::Refresh, "refresh_token") {
        return Some((handle, None));
    }
    let handle = open(HandleKind::Code, "code")?;
    let verifier = form.get("code_verifier").and_then(|text| CodeVerifier::parse(text).ok())?;
    Some((handle, Some(verifier.challenge())))
}

/// The entry that a statement writes into the security log along with its change.
pub fn log_entry(app: &App, context: &RequestContext) -> LogEntry {
    LogEntry {
        id: Id::<security_log::Entry>::ordered(app.clock.now(), &*app.entropy).uuid(),
        request: context.request_id.uuid(),
        personal: json!({"address": context.address.to_string(), "user_agent": context.user_agent}),
    }
}
