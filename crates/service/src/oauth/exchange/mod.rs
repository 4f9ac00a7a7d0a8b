//! Token exchange (RFC 8693): a client acts for a person, and the token says so.
//!
//! 1. The client has authenticated, is verified, and registered the grant. An assertion for another server is issued by
//!    `oauth/id_jag`; the rest is about access tokens.
//! 2. The subject token is an access token of ours and valid now. A token of an impersonation is refused.
//! 3. What is asked for is within the subject token, what the client may have, what the member holds now, and one
//!    delegation to this client. One thing too many refuses the whole.
//! 4. A token that a client holds for a person is exchanged by another client only where its delegation says so.
//! 5. The new token is bound to the client's key if the subject token was bound, lives five minutes at most and never
//!    longer than the subject token, and has a grant of its own below the subject's (docs/decisions/0088, 0089).

mod decide;
mod derive;
mod refused;

use std::sync::Arc;

use porteiro_protocol::{
    access_token::Claims,
    actor::{ActorChain, ActorKind},
    authority::{Asked, Authority, Widening},
    authorization_details,
    client_metadata::ClientKind,
    error::ErrorCode,
    id::AccountId,
    id_jag::TOKEN_TYPE,
};

use self::{decide::Exchange, derive::derive};
use super::{
    access_token::{self, Spoken},
    acting,
    apis::Apis,
    authority::still_allowed,
    client_documents,
    clients::{Client, OrganizationMode},
    delegations::{self, Delegation},
    details::{Unfit, check_types},
    grant_types::TOKEN_EXCHANGE,
    grants::{self, GrantId},
    id_jag,
    minting::{self, Speaker},
    token_request::{Grant, TokenRequest, TokenResponse},
};
use crate::{
    App, client_policies,
    http::OAuthError,
    limits::{self, Bucket, EXCHANGE_SUBJECT},
    organizations::{self, Agents, Name},
    refusals::Rule,
};

pub const GRANT: Grant = Grant { name: TOKEN_EXCHANGE, run: |request| Box::pin(grant(request)) };

/// A subject token that counts now.
struct Subject {
    spoken: Spoken,
    account: AccountId,
    grant: GrantId,
}

impl Subject {
    const fn claims(&self) -> &Claims {
        &self.spoken.claims
    }
}

async fn grant(request: TokenRequest<'_>) -> Result<TokenResponse, OAuthError> {
    let again = client_documents::read_again(request.app, request.context, request.client).await?;
    let request = TokenRequest { client: again.as_deref().unwrap_or(request.client), ..request };
    let TokenRequest { app, client, form, .. } = request;
    if client.is_public() || !client.is_verified() || !client.may_use_grant(TOKEN_EXCHANGE) {
        let text = "this grant type is for confidential clients that an administrator has verified";
        return Err(OAuthError::new(ErrorCode::UnauthorizedClient, text));
    }
    if form.get("requested_token_type") == Some(TOKEN_TYPE) {
        return id_jag::issue(request).await;
    }
    let asked = decide::read(form)?;
    own_actor_token(app, client, &asked)?;
    let subject = subject(request, &asked).await?;
    let apis = app.directory.apis(&app.store).await?;
    let authority = requested(request, &asked, &subject, &apis).await?;
    allowed(request, &subject, &apis, &authority).await?;
    let delegation = delegation(request, &subject, &apis, &authority).await?;
    let chain = chain(request, &subject, &authority).await?;
    let live = derive(request, &subject, &apis, authority, &delegation, chain).await?;
    let speaker = Speaker::Person(&live);
    let token =
        minting::access_token(app, &apis, &client.id, &speaker, &live.authority, request.binding).await?;
    Ok(TokenResponse { issued_token_type: Some(decide::ACCESS_TOKEN), ..token })
}

/// RFC 8693 §2.2.2: one answer for a token that is not good for an exchange.
fn unfit() -> OAuthError {
    OAuthError::new(
        ErrorCode::InvalidRequest,
        "subject_token is unknown, expired, revoked, or not a person's",
    )
}

/// `actor_token` can only say again who asks.
fn own_actor_token(app: &App, client: &Client, asked: &Exchange<'_>) -> Result<(), OAuthError> {
    let Some(token) = asked.actor_token else { return Ok(()) };
    match access_token::own(app, token) {
        Some(claims) if claims.client_id == client.id => Ok(()),
        Some(_) | None => {
            let text = "actor_token must be a token of the client that sends the request";
            Err(OAuthError::new(ErrorCode::InvalidRequest, text))
        }
    }
}

/// The token that is exchanged, if it counts now; limited before anything is written.
async fn subject(request: TokenRequest<'_>, asked: &Exchange<'_>) -> Result<Subject, OAuthError> {
    let TokenRequest { app, client, .. } = request;
    let claims = access_token::own(app, asked.subject_token).ok_or_else(unfit)?;
    let grant = claims.grant.ok_or_else(unfit)?;
    let key = [claims.subject.as_bytes(), client.id.as_bytes()].join(&0);
    let key = app.secrets.limit_key(EXCHANGE_SUBJECT.name, &key);
    if let Some(limited) = limits::take(&app.store, &[Bucket { rule: EXCHANGE_SUBJECT, key }]).await? {
        return Err(limited.into());
    }
    let spoken = access_token::spoken(app, claims).await?.ok_or_else(unfit)?;
    spoken.admitted(app).map_err(|unmet| OAuthError::from(unmet).at_token_endpoint())?;
    let account = spoken.account.ok_or_else(unfit)?;
    let subject = Subject { spoken, account, grant };
    if subject.claims().impersonator().is_some() {
        return Err(refused::by_rule(request, &subject.spoken, Rule::ExchangeOfActing, &[]).await);
    }
    if !subject.claims().confirmation.is_none() && request.binding.thumbprint().is_none() {
        let text = "the subject token is bound to a key: send a DPoP proof or a client certificate";
        return Err(OAuthError::new(ErrorCode::InvalidRequest, text));
    }
    same_organization(request, &subject, asked).await?;
    Ok(subject)
}

/// `organization` names the one the subject token speaks for, or is refused: authority does not change organizations.
async fn same_organization(
    request: TokenRequest<'_>,
    subject: &Subject,
    asked: &Exchange<'_>,
) -> Result<(), OAuthError> {
    let Some(text) = asked.organization else { return Ok(()) };
    let found = organizations::find_named(&request.app.store, &Name::parse(text)).await?;
    if found.is_some_and(|found| Some(found.id) == subject.claims().organization) {
        return Ok(());
    }
    Err(refused::widening(request, &subject.spoken, Widening::Organization, &[text.to_owned()]).await)
}

/// Exactly what is asked for, if the subject token carries it.
async fn requested(
    request: TokenRequest<'_>,
    asked: &Exchange<'_>,
    subject: &Subject,
    apis: &Arc<Apis>,
) -> Result<Authority, OAuthError> {
    let carried = decide::carried(subject.claims());
    let scope = asked.scope.as_ref();
    let names: Vec<String> = scope.map(|scope| scope.iter().map(str::to_owned).collect()).unwrap_or_default();
    let target = asked.target.map(|target| apis.audience(target, request.app.issuer()));
    let narrowed = match target.filter(|target| *target != carried.audience()) {
        Some(target) => {
            let moved = match (apis.find(target), asked.details) {
                (None, _) => Err(Widening::Audience),
                (Some(_), Some(details)) if details != "[]" => Err(Widening::Details),
                (Some(api), _) => decide::moved(&carried, api, scope),
            };
            return match moved {
                Ok(moved) => Ok(moved),
                Err(widening) => Err(refused::widening(request, &subject.spoken, widening, &names).await),
            };
        }
        None => carried.narrowed(Asked { scope, ..Asked::default() }, |_, _| true),
    };
    let narrowed = match narrowed {
        Ok(narrowed) => narrowed,
        Err(widening) => return Err(refused::widening(request, &subject.spoken, widening, &names).await),
    };
    details(request, asked, subject, apis, narrowed).await
}

/// Less than the subject token carries, where the request names any; and in any case as their schemas say today.
async fn details(
    request: TokenRequest<'_>,
    asked: &Exchange<'_>,
    subject: &Subject,
    apis: &Arc<Apis>,
    carried: Authority,
) -> Result<Authority, OAuthError> {
    let app = request.app;
    let Some(text) = asked.details else {
        app.details.check(apis, &carried).await?;
        return Ok(carried);
    };
    let refused = |text: String| OAuthError::new(ErrorCode::InvalidAuthorizationDetails, text);
    let named = authorization_details::read(text).map_err(|error| refused(error.to_string()))?;
    check_types(request.client, apis.find(carried.audience()), &named)
        .map_err(|error| refused(error.description))?;
    match app.details.narrow(apis, &carried, named).await {
        Ok(fewer) => {
            let details = Some(fewer.asked());
            let narrowed = carried
                .narrowed(Asked { details, ..Asked::default() }, |held, asked| fewer.is_of(held, asked));
            narrowed.map_err(|widening| OAuthError::new(widening.code(), widening.to_string()))
        }
        Err(Unfit::Wider) => {
            Err(refused::widening(request, &subject.spoken, Widening::Details, &[text.to_owned()]).await)
        }
        Err(unfit @ (Unfit::Invalid(_) | Unfit::Busy)) => Err(unfit.into()),
    }
}

/// Whether the client may have it as it is registered now, and the member holds it now.
async fn allowed(
    request: TokenRequest<'_>,
    subject: &Subject,
    apis: &Apis,
    authority: &Authority,
) -> Result<(), OAuthError> {
    let TokenRequest { app, client, .. } = request;
    let api = apis.find(authority.audience());
    still_allowed(client, api, authority)
        .map_err(|refused| OAuthError::new(refused.code, refused.description))?;
    let fits = match (client.organization_mode, &subject.spoken.member) {
        (OrganizationMode::None, Some(_)) | (OrganizationMode::Required, None) => false,
        (OrganizationMode::None | OrganizationMode::Optional, None)
        | (OrganizationMode::Optional | OrganizationMode::Required, Some(_)) => true,
    };
    if !fits {
        return Err(refused::by_rule(request, &subject.spoken, Rule::OrganizationNotForClient, &[]).await);
    }
    let Some(member) = &subject.spoken.member else {
        if acting::needs_organization(authority, api) {
            let text =
                "these scopes are permissions in an organization, and the subject token speaks for none";
            return Err(OAuthError::new(ErrorCode::InvalidScope, text));
        }
        return Ok(());
    };
    match member.organization.policy.agents {
        Agents::Frozen => {
            return Err(refused::by_rule(request, &subject.spoken, Rule::AgentsFrozen, &[]).await);
        }
        Agents::Allowed => {}
    }
    if !client_policies::allows(&app.store, &member.organization, client).await? {
        return Err(refused::by_rule(request, &subject.spoken, Rule::ClientNotAllowed, &[]).await);
    }
    match acting::check(member, authority, api) {
        Ok(()) => Ok(()),
        Err(lacking) => {
            let asked: Vec<String> = authority.scope().iter().map(str::to_owned).collect();
            Err(super::redeem::refused::unheld(request, member, &asked, &lacking).await)
        }
    }
}

/// The one delegation to this client that covers everything.
async fn delegation(
    request: TokenRequest<'_>,
    subject: &Subject,
    apis: &Arc<Apis>,
    authority: &Authority,
) -> Result<Delegation, OAuthError> {
    let TokenRequest { app, client, .. } = request;
    let organization = authority.organization();
    let all = delegations::live(&app.store, subject.account, organization, client).await?;
    let found = delegations::covering(app, apis, &all, authority).await?;
    if let Some(found) = found {
        return Ok(found.clone());
    }
    let asked: Vec<String> = authority.scope().iter().map(str::to_owned).collect();
    Err(refused::by_rule(request, &subject.spoken, Rule::NotDelegated, &asked).await)
}

/// Who acts by the new token.
async fn chain(
    request: TokenRequest<'_>,
    subject: &Subject,
    authority: &Authority,
) -> Result<ActorChain, OAuthError> {
    let TokenRequest { client, .. } = request;
    let before = subject.claims().actor.as_ref();
    if let Some(before) = before
        && !decide::acts_already(before, &client.id)
        && !may_pass_on(request, subject, authority).await?
    {
        return Err(refused::by_rule(request, &subject.spoken, Rule::NotRedelegable, &[]).await);
    }
    let kind = match client.metadata.kind {
        ClientKind::Agent => ActorKind::Agent,
        ClientKind::Application | ClientKind::Service => ActorKind::Service,
    };
    match decide::chain(before, kind, &client.id) {
        Ok(chain) => Ok(chain),
        Err(_) => Err(refused::by_rule(request, &subject.spoken, Rule::ChainTooLong, &[]).await),
    }
}

/// Whether the client that holds the subject token may let another one act: by the delegation of its grant, or, where it
/// acts by consent, by another delegation to it that covers what is passed on. At another API that is all the token
/// carries: which part of it the scopes there come from is that API's business.
async fn may_pass_on(
    request: TokenRequest<'_>,
    subject: &Subject,
    authority: &Authority,
) -> Result<bool, OAuthError> {
    let app = request.app;
    if let Some(redelegable) = grants::redelegable(&app.store, subject.grant, subject.account).await? {
        return Ok(redelegable);
    }
    let carried = decide::carried(subject.claims());
    let passed = if authority.audience() == carried.audience() { authority } else { &carried };
    let holder = &subject.spoken.client;
    let all = delegations::live(&app.store, subject.account, carried.organization(), holder).await?;
    let redelegable: Vec<Delegation> = all.into_iter().filter(|one| one.redelegable).collect();
    let apis = app.directory.apis(&app.store).await?;
    Ok(delegations::covering(app, &apis, &redelegable, passed).await?.is_some())
}
