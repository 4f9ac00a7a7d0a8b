//! Client credentials (OAuth 2.1 §4.2): a confidential client acts for itself.
//!
//! The API is named by `resource` (RFC 8707), or follows from the scopes. Every scope must be the API's, within what
//! the client registered, and open to its trust; what is asked beyond is refused, never left out. Permissions in an
//! organization need a membership of the client's own there, and are what its roles hold.

use porteiro_protocol::{authority::Authority, error::ErrorCode, scope::Scope};

use super::{
    acting::{self, Acting},
    apis::Api,
    clients::{Client, Trust},
    minting::{self, Speaker},
    redeem::refused,
    token_request::{Grant, TokenRequest, TokenResponse},
};
use crate::{
    App, client_policies,
    http::OAuthError,
    members::{self, Member, Whom},
    organizations::{self, Name},
};

pub const GRANT: Grant = Grant { name: "client_credentials", run: |request| Box::pin(grant(request)) };

async fn grant(request: TokenRequest<'_>) -> Result<TokenResponse, OAuthError> {
    let TokenRequest { app, client, form, .. } = request;
    if client.is_public() {
        return Err(OAuthError::new(
            ErrorCode::UnauthorizedClient,
            "this grant is for clients that prove themselves",
        ));
    }
    let apis = app.directory.apis(&app.store).await?;
    let (api, scope) = decide(client, &apis, app.issuer(), form.get("resource"), form.get("scope"))?;
    let authority = Authority::granted(scope, api.identifier.clone(), Vec::new());
    let Some(member) = member(app, client, form.get("organization")).await? else {
        if acting::needs_organization(&authority, Some(api)) {
            return Err(OAuthError::new(
                ErrorCode::InvalidScope,
                "these scopes are permissions in an organization: name it with organization",
            ));
        }
        let speaker = Speaker::Client(None);
        return minting::access_token(app, &apis, client, &speaker, &authority, request.binding).await;
    };
    let authority = authority.acting_for(member.organization.id);
    if let Err(lacking) = acting::check(&member, &authority, Some(api)) {
        let asked: Vec<String> = authority.scope().iter().map(str::to_owned).collect();
        let error = refused::unheld(request, &member, &asked, &lacking).await;
        return Err(match lacking {
            acting::Refused::Unusable(_) => unavailable().with_reference(error.reference),
            acting::Refused::Lacks(_) => error,
        });
    }
    let acting = Acting::from(&member);
    let speaker = Speaker::Client(Some(&acting));
    minting::access_token(app, &apis, client, &speaker, &authority, request.binding).await
}

/// One answer for whatever is wrong with an organization.
fn unavailable() -> OAuthError {
    OAuthError::new(ErrorCode::InvalidTarget, "the organization is not available to this client")
}

/// What the client is in the organization it named, or is bound to.
async fn member(app: &App, client: &Client, named: Option<&str>) -> Result<Option<Member>, OAuthError> {
    let organization = match (named, client.organization) {
        (None, None) => return Ok(None),
        (None, Some(own)) => own,
        (Some(text), own) => {
            let found = organizations::find_named(&app.store, &Name::parse(text)).await?;
            let found = found.ok_or_else(unavailable)?.id;
            if own.is_some_and(|own| own != found) {
                return Err(unavailable());
            }
            found
        }
    };
    let member = members::find(&app.store, organization, Whom::Client(&client.id)).await?;
    let member = member.ok_or_else(unavailable)?;
    if client_policies::allows(&app.store, &member.organization, client).await? {
        Ok(Some(member))
    } else {
        Err(unavailable())
    }
}

/// Pure: which API, which scopes, or why not.
fn decide<'a>(
    client: &Client,
    apis: &'a [Api],
    issuer: &str,
    resource: Option<&str>,
    scope: Option<&str>,
) -> Result<(&'a Api, Scope), OAuthError> {
    // No client speaks for itself at our own API, whatever is stored (decision 0083).
    let mut apis = apis.iter().filter(|api| api.identifier != issuer);
    let invalid = |detail: &str| OAuthError::new(ErrorCode::InvalidScope, detail);
    let scope = scope.ok_or_else(|| invalid("scope is missing: say what the token is for"))?;
    let scope: Scope = scope.parse().map_err(|_| invalid("scope is not a list of scopes"))?;
    let first = scope.iter().next().ok_or_else(|| invalid("scope is empty"))?;
    let api = match resource {
        Some(resource) => apis.find(|api| api.identifier == resource),
        None => apis.find(|api| api.scope(first).is_some()),
    };
    let api = api.ok_or_else(|| match resource {
        Some(_) => OAuthError::new(ErrorCode::InvalidTarget, "there is no such API"),
        None => invalid("no API has that scope"),
    })?;
    if let Some(ceiling) = &client.metadata.scope
        && ceiling.first_uncovered(&scope).is_some()
    {
        return Err(invalid("the client did not register all of these scopes"));
    }
    for name in scope.iter() {
        let known = api.scope(name).ok_or_else(|| invalid("not all of these scopes are this API's"))?;
        match client.trust {
            Trust::Unverified if !known.open_to_unverified => {
                return Err(invalid("a scope is not open to clients that nobody has checked"));
            }
            Trust::Unverified | Trust::Verified | Trust::FirstParty => {}
        }
    }
    Ok((api, scope))
}
