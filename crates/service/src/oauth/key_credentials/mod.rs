//! API keys as clients (OAuth 2.1 §4.2, docs/decisions/0048): a key is never sent to an API, it obtains a token for
//! it.
//!
//! 1. HTTP Basic, with the key's id as user name; as password its secret, or the whole key. No client has such an id.
//! 2. Only `client_credentials`, and only at the token endpoint.
//! 3. One organizational API; the key must hold every requested scope, or no token is issued.
//! 4. The token is for the key's organization: its subject is the member the key belongs to, or the key itself. It is
//!    valid for five minutes at most, never longer than the key, and only while the key is (`api_keys::token_alive`).

mod decide;

use std::sync::Arc;

use porteiro_protocol::{
    api_key::{self, ApiKey},
    error::ErrorCode,
    form::Parameters,
    time::numeric_date,
};

use super::{
    access_token::Claims,
    apis::Api,
    authority::{Asked, AskedScope, Requester, requested_authority},
    binding::{self, Binding, Remember},
    client_auth,
    minting::{self, Speaker},
    token_request::TokenResponse,
};
use crate::{
    App,
    api_keys::{self, Refused, Usable},
    http::{OAuthError, RequestContext},
    limits::{self, Bucket, CLIENT_FAILURE, network},
};

const GRANT: &str = "client_credentials";

/// A presented key, possibly malformed.
pub struct Presented {
    id: String,
    key: Option<ApiKey>,
}

impl std::fmt::Debug for Presented {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<api key {}>", self.id)
    }
}

/// The key of the request, if its Basic user name is a key id.
pub fn presented(context: &RequestContext) -> Option<Presented> {
    let (id, password) = client_auth::basic(context).filter(|(id, _)| api_key::is_id(id))?;
    let key = ApiKey::from_basic(&id, &password);
    Some(Presented { id, key })
}

pub async fn respond(
    app: &Arc<App>,
    context: &RequestContext,
    form: &Parameters,
    presented: &Presented,
    path: &str,
) -> Result<TokenResponse, OAuthError> {
    let other_way = form.get("client_secret").is_some() || form.get("client_assertion").is_some();
    if other_way || form.get("client_id").is_some_and(|named| named != presented.id) {
        let text = "use exactly one client authentication method";
        return Err(OAuthError::new(ErrorCode::InvalidRequest, text));
    }
    let usable = authenticate(app, context, presented).await?;
    if form.get("grant_type") != Some(GRANT) {
        let text = "an API key can use the client_credentials grant only";
        return Err(OAuthError::new(ErrorCode::UnauthorizedClient, text));
    }
    let Some(organization) = usable.organization.as_ref() else {
        let text = "a platform key belongs to no organization and cannot obtain tokens";
        return Err(OAuthError::new(ErrorCode::UnauthorizedClient, text));
    };
    decide::names(organization, form.get("organization"))?;
    let apis = app.directory.apis(&app.store).await?;
    let asked = Asked {
        resource: form.get("resource"),
        scope: AskedScope::Text(form.get("scope")),
        details: &[],
        organization: Some(organization.id),
    };
    let requester = Requester::Key(&usable.held);
    let authority = requested_authority(requester, asked, &apis, app.issuer())?.authority;
    let proof = binding::proof(app, context, "POST", path, None).await?;
    if let Some(proof) = &proof {
        binding::spend(app, proof, Remember::Yes).await?;
    }
    let binding = proof.map_or(Binding::Bearer, |proof| Binding::Key(proof.jkt));
    api_keys::used(app, context, &usable).await?;
    let speaker = Speaker::Key {
        subject: &api_keys::subject(&usable.key),
        role: usable.member.as_ref().map(|member| member.primary_role.as_str()),
        until: numeric_date(usable.key.expires_at),
    };
    minting::access_token(app, &apis, &usable.key.id, &speaker, &authority, binding).await
}

/// Whether the key would still get the token's scopes at its API: key or API may have been narrowed since.
pub fn still_given(app: &App, usable: &Usable, apis: &[Api], claims: &Claims) -> bool {
    let asked = Asked {
        resource: Some(&claims.audience),
        scope: AskedScope::Read(&claims.scope),
        details: &[],
        organization: claims.organization,
    };
    requested_authority(Requester::Key(&usable.held), asked, apis, app.issuer()).is_ok()
}

/// One error for every invalid key. A malformed key, including a wrong checksum, is not looked up.
async fn authenticate(
    app: &App,
    context: &RequestContext,
    presented: &Presented,
) -> Result<Usable, OAuthError> {
    let checked = match &presented.key {
        Some(key) => api_keys::check(app, key, context.address).await,
        None => Err(Refused::Invalid),
    };
    match checked {
        Ok(usable) => Ok(usable),
        Err(Refused::Store(error)) => Err(error.into()),
        Err(Refused::Suspended(_)) => {
            Err(OAuthError::new(ErrorCode::AccessDenied, "the organization is suspended"))
        }
        Err(Refused::BelowLevel(_)) => {
            let text = "the key was created at a lower level than is now required";
            Err(OAuthError::new(ErrorCode::AccessDenied, text))
        }
        Err(Refused::NotByConnection(_)) => {
            Err(OAuthError::new(ErrorCode::AccessDenied, api_keys::NOT_BY_CONNECTION))
        }
        Err(Refused::Exceeds { .. }) => {
            let text = "the owner of the key no longer holds all of its permissions";
            Err(OAuthError::new(ErrorCode::InvalidScope, text))
        }
        Err(Refused::Invalid) => {
            let key = app.secrets.limit_key(CLIENT_FAILURE.name, &network(context.address));
            let bucket = Bucket { rule: CLIENT_FAILURE, key };
            if let Some(limited) = limits::take(&app.store, std::slice::from_ref(&bucket)).await? {
                return Err(limited.into());
            }
            Err(OAuthError::new(ErrorCode::InvalidClient, "client authentication failed")
                .challenge(Some("Basic")))
        }
    }
}
