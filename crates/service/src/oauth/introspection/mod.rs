//! Introspection (RFC 7662).
//!
//! 1. The caller authenticates; public clients cannot.
//! 2. Only the client a token was issued to and clients of its API receive its claims. For all others, and for a
//!    token that is not valid now, the answer is `{"active": false}`.
//! 3. Validity is read from the database: the grant, the account, the client, and the organization's policy.
//! 4. With `consume=true`, a client of the API uses up the token of an approval: of any number of such calls, one is told
//!    that the token is active (docs/decisions/0111).

mod endpoint;
mod store;

use std::sync::Arc;

pub use store::STATEMENT;

use porteiro_protocol::{api_key::is_id as is_key_id, error::ErrorCode, form::Parameters, id::AccountId};
use serde::Serialize;
use serde_json::{Value, json};
use store::Consumed;

use super::{
    access_token::{self, Claims},
    binding::Binding,
    client_auth,
    clients::Client,
    key_credentials,
};
use crate::{
    App, api_keys,
    http::{OAuthError, RequestContext, Route},
    secrets::HandleKind,
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// The response for a valid access token: its claims and `active` (§2.2).
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    claims: &'a Claims,
    active: bool,
    token_type: &'static str,
    /// This call used the token up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    consumed: bool,
}

fn inactive() -> Value {
    json!({"active": false})
}

async fn introspect(
    app: &Arc<App>,
    context: &RequestContext,
    form: &Parameters,
) -> Result<Value, OAuthError> {
    let authenticated = client_auth::authenticate(app, context, form).await?;
    let caller = authenticated.client.as_ref();
    if caller.is_public() {
        return Err(OAuthError::new(ErrorCode::InvalidClient, "client authentication failed"));
    }
    let token =
        form.get("token").ok_or_else(|| OAuthError::new(ErrorCode::InvalidRequest, "token is missing"))?;
    // `token_type_hint` is ignored: a token identifies its own type.
    if let Some(handle) = app.secrets.handles.open(HandleKind::Refresh, token) {
        let found = store::refresh_token(&app.store, &handle, caller).await?;
        let found =
            found.filter(|found| found.is_admitted(app.checked.settings.minimum_level, app.clock.now()));
        return Ok(found.map_or_else(inactive, |found| refresh_token(app, &found)));
    }
    let Some(claims) = access_token::own(app, token) else { return Ok(inactive()) };
    let consumes = consumes(form)?;
    let of_api = is_of_api(app, caller, &claims).await?;
    if !of_api && claims.client_id != caller.id {
        return Ok(inactive());
    }
    if consumes && !of_api {
        let text = "only a client of the API may use up its tokens";
        return Err(OAuthError::new(ErrorCode::UnauthorizedClient, text));
    }
    let Some((claims, account)) = alive(app, claims).await? else { return Ok(inactive()) };
    let consumed = match (consumes, claims.grant, account) {
        (true, Some(grant), Some(account)) => match store::consume(&app.store, grant, account).await? {
            Consumed::Now => true,
            Consumed::Before => return Ok(inactive()),
            Consumed::Reusable => false,
        },
        // Without a person there was no approval.
        (false, _, _) | (true, None, _) | (true, Some(_), None) => false,
    };
    let token_type = Binding::from(claims.confirmation).token_type();
    let told = Told { active: true, token_type, consumed, claims: &claims };
    serde_json::to_value(&told).map_err(|error| OAuthError::new(ErrorCode::ServerError, error.to_string()))
}

/// An additional parameter, as RFC 7662 §2.1 allows (docs/decisions/0111).
fn consumes(form: &Parameters) -> Result<bool, OAuthError> {
    match form.get("consume") {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(OAuthError::new(ErrorCode::InvalidRequest, "consume must be true or false")),
    }
}

/// The claims of a token that counts now, and the person's account.
async fn alive(app: &App, claims: Claims) -> Result<Option<(Claims, Option<AccountId>)>, OAuthError> {
    let client = &claims.client_id;
    if is_key_id(client) {
        let usable = api_keys::token_alive(app, client, claims.organization, &claims.subject).await?;
        let apis = app.directory.apis(&app.store).await?;
        let holds = |usable: &api_keys::Usable| key_credentials::still_given(app, usable, &apis, &claims);
        return Ok(usable.as_ref().is_some_and(holds).then_some((claims, None)));
    }
    let spoken = access_token::spoken(app, claims).await?;
    let admitted = spoken.filter(|spoken| spoken.admitted(app).is_ok());
    Ok(admitted.map(|spoken| (spoken.claims, spoken.account)))
}

/// Whether the caller belongs to the API for which the token is.
async fn is_of_api(app: &App, caller: &Client, claims: &Claims) -> Result<bool, OAuthError> {
    let apis = app.directory.apis(&app.store).await?;
    let api = apis.iter().find(|api| api.identifier == claims.audience);
    Ok(api.is_some_and(|api| api.introspected_by.contains(&caller.id)))
}

fn refresh_token(app: &App, found: &store::RefreshToken) -> Value {
    let mut told = json!({
        "active": true,
        "iss": app.issuer(),
        "client_id": found.client_id,
        "sub": found.subject,
        "aud": found.audience,
        "scope": found.scope,
        "iat": found.issued_at.unix_timestamp(),
        "exp": found.expires_at.unix_timestamp(),
        "token_type": "refresh_token",
    });
    if let Some(organization) = found.organization {
        told["org"] = json!(organization);
    }
    told
}
