//! The token endpoint (OAuth 2.1 §3.2).
//!
//! 1. The form is read, each parameter once.
//! 2. The client authenticates.
//! 3. `grant_type` selects a row of [`GRANT_TYPES`], which the client must have registered.
//! 4. The binding of the tokens is proved, if there is one.
//! 5. The grant decides (`registers.rs` lists the code of each grant type); `minting` signs.
//! 6. A code or refresh token that was used before ends its grant, even if the request is refused ([`replay`]).

mod endpoint;

use std::sync::Arc;

use porteiro_protocol::{error::ErrorCode, form::Parameters};

use super::{
    binding::{self, Binding, Remember},
    clients::{self, Client},
    grant_types::{GRANT_TYPES, GrantType},
    redeem::replay,
    token_request::{Grant, TokenRequest, TokenResponse},
};
use crate::{
    App,
    http::{OAuthError, RequestContext, Route},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

async fn respond(
    app: &Arc<App>,
    context: &RequestContext,
    client: &Client,
    form: &Parameters,
) -> Result<TokenResponse, OAuthError> {
    let (grant, binding) = match begin(app, context, client, form).await {
        Ok(begun) => begun,
        Err(error) => return Err(replay::looked_at(app, context, client, form, error).await),
    };
    let answer = (grant.run)(TokenRequest { app, context, client, form, binding }).await?;
    clients::used(app, client).await;
    Ok(answer)
}

/// The grant type of the request, and the binding of its tokens.
async fn begin(
    app: &App,
    context: &RequestContext,
    client: &Client,
    form: &Parameters,
) -> Result<(&'static Grant, Binding), OAuthError> {
    let name = form
        .get("grant_type")
        .ok_or_else(|| OAuthError::new(ErrorCode::InvalidRequest, "grant_type is missing"))?;
    let names = |known: &&GrantType| known.name == name || known.short == Some(name);
    let known = GRANT_TYPES.iter().find(names).filter(|known| (known.served)(&app.checked.settings));
    let served =
        app.registers.grants.iter().find(|grant| known.is_some_and(|known| known.name == grant.name));
    let (known, grant) = known.zip(served).ok_or_else(|| {
        OAuthError::new(ErrorCode::UnsupportedGrantType, "this grant type is not supported")
    })?;
    if !client.may_use_grant(grant.name) {
        return Err(OAuthError::new(
            ErrorCode::UnauthorizedClient,
            "the client did not register this grant type",
        ));
    }
    let remember = remember(app, client, known, form);
    let binding = binding::of_request(app, context, client, endpoint::PATH, remember).await?;
    Ok((grant, binding))
}

/// Whether to store the use of a DPoP proof: not beside a code or token that is not ours, which the grant type will
/// refuse.
fn remember(app: &App, client: &Client, grant: &GrantType, form: &Parameters) -> Remember {
    let Some((name, kind)) = grant.presents else { return Remember::Yes };
    match form.get(name).and_then(|text| app.secrets.handles.open(kind, text)) {
        Some(presented) => Remember::within(client, presented.route.row),
        None => Remember::No,
    }
}
