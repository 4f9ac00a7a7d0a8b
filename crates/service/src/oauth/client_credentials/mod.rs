//! Client credentials (OAuth 2.1 §4.2): a confidential client acts for itself.
//!
//! The API is named by `resource` (RFC 8707), or follows from the scopes. Every scope must belong to the API, be
//! registered by the client, and be open to its trust; other scopes are refused, never dropped. Permissions in an
//! organization require that the client is a member there and holds them through its roles.

use porteiro_protocol::error::ErrorCode;

use super::{
    acting::{self, Acting},
    authority::{Asked, AskedScope, Requested, Requester, requested_authority},
    clients::Client,
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
            "this grant type is for confidential clients only",
        ));
    }
    let apis = app.directory.apis(&app.store).await?;
    let asked = Asked {
        resource: form.get("resource"),
        scope: AskedScope::Text(form.get("scope")),
        details: &[],
        organization: None,
    };
    // A client cannot act for itself at our own API, except to provision members (docs/decisions/0083, 0124).
    let requester = Requester::ClientItself(client);
    let Requested { api, authority } = requested_authority(requester, asked, &apis, app.issuer())?;
    let Some(member) = member(app, client, form.get("organization")).await? else {
        if acting::needs_organization(&authority, api) {
            return Err(OAuthError::new(
                ErrorCode::InvalidScope,
                "these scopes are permissions in an organization: send organization",
            ));
        }
        let speaker = Speaker::Client(None);
        return minting::access_token(app, &apis, &client.id, &speaker, &authority, request.binding).await;
    };
    let authority = authority.acting_for(member.organization.id);
    if let Err(lacking) = acting::check(&member, &authority, api) {
        let asked: Vec<String> = authority.scope().iter().map(str::to_owned).collect();
        let error = refused::unheld(request, &member, &asked, &lacking).await;
        return Err(match lacking {
            acting::Refused::Unusable(_) => unavailable().with_reference(error.reference),
            acting::Refused::Lacks(_) => error,
        });
    }
    let acting = Acting::from(&member);
    let speaker = Speaker::Client(Some(&acting));
    minting::access_token(app, &apis, &client.id, &speaker, &authority, request.binding).await
}

/// One error for every unavailable organization.
fn unavailable() -> OAuthError {
    OAuthError::new(ErrorCode::InvalidTarget, "the organization is not available to this client")
}

/// The client's membership in the organization that it named or belongs to.
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
