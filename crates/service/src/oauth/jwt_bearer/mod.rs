//! The JWT bearer grant (RFC 7523 §2.1), in the profile of ID-JAG (draft-ietf-oauth-identity-assertion-authz-grant): a client
//! redeems another server's assertion about a member for an access token of ours.
//!
//! 1. The client has authenticated, is verified, and registered the grant (docs/decisions/0101).
//! 2. An organization trusts the assertion's issuer for this client. Nothing is fetched for any other issuer. We are no
//!    issuer of assertions for ourselves.
//! 3. The signature is verified by the issuer's published keys and the algorithms that the organization pinned, then every
//!    claim.
//! 4. The member is found by issuer and subject, through a link that was made for the membership, and by nothing else
//!    (docs/decisions/0102).
//! 5. What is asked for is within the assertion, what the client may have, and what the member holds now. One thing too
//!    many refuses the whole (docs/decisions/0100).
//! 6. One statement uses the assertion up and writes the grant, if trust, link, membership and client still count. The token
//!    names the client as the actor, lives five minutes at most, and has no refresh token.

mod decide;
mod issuer;
mod redeem;
mod refused;

use std::sync::Arc;

use porteiro_protocol::{authority::Authority, error::ErrorCode, id_jag::IdJag, jose::peek_claims};

use super::{
    acting,
    apis::Apis,
    authority::{Asked, AskedScope, Requester, requested_authority},
    clients::OrganizationMode,
    grant_types::JWT_BEARER,
    minting::{self, Speaker},
    token_request::{Grant, TokenRequest, TokenResponse},
};
use crate::{
    client_policies,
    http::OAuthError,
    limits::{self, ASSERTION_SUBJECT, Bucket},
    members::{self, Member, Whom},
    organizations::{self, Agents, Name},
    refusals::Rule,
    trusts::{AssertionIssuer, ExternalIdentity, identities, issuers},
};

pub const GRANT: Grant = Grant { name: JWT_BEARER, run: |request| Box::pin(grant(request)) };

/// An assertion that was verified, by whom it is trusted, and whom it is about.
struct Asserted {
    said: IdJag,
    trust: AssertionIssuer,
    identity: ExternalIdentity,
    member: Member,
}

async fn grant(request: TokenRequest<'_>) -> Result<TokenResponse, OAuthError> {
    let TokenRequest { app, client, form, .. } = request;
    if client.is_public() || !client.is_verified() {
        let text = "this grant type is for confidential clients that an administrator has verified";
        return Err(OAuthError::new(ErrorCode::UnauthorizedClient, text));
    }
    let missing = || OAuthError::new(ErrorCode::InvalidRequest, "assertion is missing");
    let assertion = form.get("assertion").ok_or_else(missing)?;
    let trust = trust(request, assertion).await?;
    let said = issuer::verified(app, client, &trust, assertion).await?;
    decide::bound(&said, request.binding)?;
    limit(request, &trust, &said).await?;
    let (identity, member) = member(request, &trust, &said).await?;
    let asserted = Asserted { said, trust, identity, member };
    allowed(request, &asserted).await?;
    let apis = app.directory.apis(&app.store).await?;
    let authority = authority(request, &asserted, &apis).await?;
    let live = redeem::redeem(request, &asserted, &apis, authority).await?;
    let speaker = Speaker::Person(&live);
    minting::access_token(app, &apis, &client.id, &speaker, &live.authority, request.binding).await
}

fn invalid_grant(description: &str) -> OAuthError {
    OAuthError::new(ErrorCode::InvalidGrant, description)
}

/// The trust by which the assertion may count. What it says of itself is not verified yet, and only selects.
async fn trust(request: TokenRequest<'_>, assertion: &str) -> Result<AssertionIssuer, OAuthError> {
    let TokenRequest { app, client, form, .. } = request;
    let claims = peek_claims(assertion).map_err(|_| invalid_grant("the assertion is malformed"))?;
    let issuer = claims["iss"].as_str().unwrap_or_default();
    if issuer == app.issuer() {
        return Err(invalid_grant("the assertion is our own: it is for another server"));
    }
    let named = match form.get("organization") {
        Some(text) => {
            let found = organizations::find_named(&app.store, &Name::parse(text)).await?;
            Some(found.ok_or_else(untrusted)?.id)
        }
        None => client.organization.or_else(|| claims["aud_tenant"].as_str().and_then(|id| id.parse().ok())),
    };
    let mut all = issuers::find(&app.store, &client.id, issuer, named).await?;
    all.retain(|trust| claims["tenant"].as_str() == trust.tenant.as_deref());
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) => {
            let text = "several organizations trust this issuer: send organization";
            Err(OAuthError::new(ErrorCode::InvalidRequest, text))
        }
        (None, _) => Err(untrusted()),
    }
}

fn untrusted() -> OAuthError {
    invalid_grant("no organization trusts this issuer, and its tenant, for this client")
}

/// Each assertion that is redeemed is a grant.
async fn limit(request: TokenRequest<'_>, trust: &AssertionIssuer, said: &IdJag) -> Result<(), OAuthError> {
    let TokenRequest { app, client, .. } = request;
    let key = [trust.id.to_string().as_bytes(), said.subject.as_bytes(), client.id.as_bytes()].join(&0);
    let key = app.secrets.limit_key(ASSERTION_SUBJECT.name, &key);
    let limited = limits::take(&app.store, &[Bucket { rule: ASSERTION_SUBJECT, key }]).await?;
    limited.map_or(Ok(()), |limited| Err(limited.into()))
}

/// The member that the subject is, by a link that was made for the membership.
async fn member(
    request: TokenRequest<'_>,
    trust: &AssertionIssuer,
    said: &IdJag,
) -> Result<(ExternalIdentity, Member), OAuthError> {
    let (app, place) = (request.app, trust.organization);
    let tenant = trust.tenant.as_deref();
    let found = identities::find(&app.store, place, &trust.issuer, tenant, &said.subject).await?;
    let Some(identity) = found else {
        return Err(refused::unlinked(request, trust).await);
    };
    let member = members::find(&app.store, place, Whom::Id(identity.membership)).await?;
    match member.filter(|member| member.account.is_some()) {
        Some(member) => Ok((identity, member)),
        None => Err(refused::unlinked(request, trust).await),
    }
}

/// Whether this client may act for the member now.
async fn allowed(request: TokenRequest<'_>, asserted: &Asserted) -> Result<(), OAuthError> {
    let TokenRequest { app, client, .. } = request;
    let organization = &asserted.member.organization;
    let proved = decide::proved(&asserted.trust, &asserted.said, app.clock.now());
    if let Err(unmet) = asserted.member.admits(app.checked.settings.minimum_level, &proved) {
        return Err(OAuthError::from(unmet).at_token_endpoint());
    }
    let rule = match (organization.policy.agents, client.organization_mode) {
        (Agents::Frozen, _) => Rule::AgentsFrozen,
        (Agents::Allowed, OrganizationMode::None) => Rule::OrganizationNotForClient,
        (Agents::Allowed, OrganizationMode::Optional | OrganizationMode::Required) => {
            if client_policies::allows(&app.store, organization, client).await? {
                return Ok(());
            }
            Rule::ClientNotAllowed
        }
    };
    Err(refused::by_rule(request, &asserted.member, rule, &[]).await)
}

/// Exactly what is asked for, if the assertion carries it, the client may have it and the member holds it now. An
/// organization can only give its permissions; other scopes are the person's.
async fn authority(
    request: TokenRequest<'_>,
    asserted: &Asserted,
    apis: &Arc<Apis>,
) -> Result<Authority, OAuthError> {
    let TokenRequest { app, client, form, .. } = request;
    let (said, member) = (&asserted.said, &asserted.member);
    let scope = decide::scope(form.get("scope"), said.scope.as_ref())?;
    let resource = decide::resource(form.get("resource"), said.resource.as_deref())?;
    let asked = Asked {
        resource,
        scope: scope.as_ref().map_or(AskedScope::Registered, AskedScope::Read),
        details: &[],
        organization: Some(member.organization.id),
    };
    let requested = requested_authority(Requester::Client(client), asked, apis, app.issuer())?;
    let names: Vec<String> = requested.authority.scope().iter().map(str::to_owned).collect();
    if let Err(lacking) = acting::check(member, &requested.authority, requested.api) {
        return Err(super::redeem::refused::unheld(request, member, &names, &lacking).await);
    }
    let permissions = acting::permissions(&requested.authority, requested.api);
    if names.is_empty() || permissions.len() != names.len() {
        return Err(refused::by_rule(request, member, Rule::NotAPermission, &names).await);
    }
    Ok(requested.authority)
}
