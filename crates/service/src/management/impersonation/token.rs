//! The authority an impersonation may request, and its tokens.

use porteiro_protocol::{authority::Authority, id::OrganizationId, permission::Permission, scope::Scope};
use serde_json::json;

use super::Going;
use crate::{
    App,
    audit_trail::{self, TrailKind},
    http::{OAuthError, RequestContext},
    impersonation::{Impersonation, target},
    management::{Caller, Presented},
    oauth::{
        acting,
        apis::Api,
        authority::{Asked, AskedScope, Requested, Requester, requested_authority},
        minting::{self, Speaker},
        token_request::TokenResponse,
    },
    refusals::Rule,
};

/// The requested authority at one API, and which scopes are permissions. Whether the member holds them is decided
/// later.
pub(super) fn authority(
    app: &App,
    apis: &[Api],
    token: &Presented,
    organization: OrganizationId,
    scope: &Scope,
    resource: Option<&str>,
) -> Result<(Authority, Vec<Permission>), Rule> {
    let asked = Asked {
        resource: Some(resource.unwrap_or(app.issuer())),
        scope: AskedScope::Read(scope),
        details: &[],
        organization: Some(organization),
    };
    let requested = requested_authority(Requester::Client(&token.client), asked, apis, app.issuer());
    let Requested { api, authority } = requested.map_err(|_| Rule::ScopeNotForClient)?;
    let permissions = acting::permissions(&authority, api);
    Ok((authority, permissions))
}

/// Issues a token, after the organization's audit trail has recorded it.
pub(super) async fn mint(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    token: &Presented,
    going: &Going,
) -> Result<TokenResponse, OAuthError> {
    let (it, authority) = (&going.impersonation, &going.live.authority);
    let said = json!({"scope": authority.scope().to_string(), "audience": authority.audience()});
    let kind = TrailKind::ImpersonationToken;
    let event = audit_trail::Event::done(kind, caller.actor.clone(), target(it.membership))
        .changing(serde_json::Value::Null, said);
    record(app, context, it, &event).await?;
    let apis = app.directory.apis(&app.store).await?;
    let speaker = Speaker::Person(&going.live);
    minting::access_token(app, &apis, &token.client.id, &speaker, authority, token.binding).await
}

async fn record(
    app: &App,
    context: &RequestContext,
    it: &Impersonation,
    event: &audit_trail::Event,
) -> Result<(), OAuthError> {
    app.store
        .run_tx("impersonation.token", |tx| async move {
            audit_trail::record(app, &tx, context, it.organization, event).await
        })
        .await?;
    Ok(())
}
