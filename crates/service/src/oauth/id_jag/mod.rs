//! Assertions about members for other authorization servers, ID-JAG (draft-ietf-oauth-identity-assertion-authz-grant): a
//! token exchange with `requested_token_type` [`TOKEN_TYPE`].
//!
//! 1. The client has authenticated, is verified, and registered the grant (`oauth/exchange`).
//! 2. The subject token is an ID token of ours for this client, in a session that is open, or the client's current refresh
//!    token. Its grant is for an organization, and lives. Nothing is rotated.
//! 3. The organization allows the client, has not frozen agents, and the person's proof meets its policy.
//! 4. The organization registered the server that `audience` names for this client. A resource or a scope too many refuses
//!    the whole (docs/decisions/0100).
//! 5. Grant and registration are read again in the transaction that writes the logs. Then the assertion is signed. It
//!    names the client by its id there and the member as our ID tokens do, lives five minutes, and is bound to the
//!    client's DPoP key if there is one.

mod decide;
mod refused;
mod subject;

use porteiro_protocol::{
    error::ErrorCode,
    id::Id,
    id_jag::{ISSUED_SECONDS, IdJag, TOKEN_TYPE, TYPE},
    jose::Algorithm,
    scope::Scope,
    time::numeric_date,
};
use serde_json::{Value, json};

use self::{
    decide::{Asked, Granted},
    subject::Subject,
};
use super::{
    binding::Binding,
    clients::OrganizationMode,
    grants, minting,
    token_request::{TokenRequest, TokenResponse},
};
use crate::{
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    client_policies,
    http::OAuthError,
    organizations::{self, Agents, Name},
    refusals::Rule,
    security_log::{self, EventKind},
    store::{StoreError, Tx},
    trusts::{AuthorizationServer, servers},
};

/// Type of the ids of assertions.
enum Assertion {}

/// Serves a token exchange of a confidential, verified client that asks for an assertion.
///
/// # Errors
/// Why there is none.
pub async fn issue(request: TokenRequest<'_>) -> Result<TokenResponse, OAuthError> {
    let asked = decide::read(request.form)?;
    let subject = subject::find(request, &asked).await?;
    allowed(request, &asked, &subject).await?;
    let server = server(request, &asked, &subject).await?;
    let granted = granted(request, &asked, &subject, &server).await?;
    let assertion = assertion(request, &subject, &server, granted);
    let live = request.app.store.run_tx("id_jag.issue", |tx| {
        let (subject, server, assertion) = (&subject, &server, &assertion);
        async move { record(request, &tx, subject, server, assertion).await }
    });
    if !live.await? {
        return Err(subject::unfit());
    }
    let signed = minting::sign(request.app, Algorithm::Es256, TYPE, &assertion).await?;
    Ok(TokenResponse {
        access_token: signed,
        issued_token_type: Some(TOKEN_TYPE),
        // RFC 8693 §2.2.1: it is not an access token.
        token_type: "N_A",
        expires_in: ISSUED_SECONDS,
        scope: assertion.scope.map(|scope| scope.to_string()).unwrap_or_default(),
        refresh_token: None,
        id_token: None,
        organization: Some(subject.member.organization.id),
        authorization_details: Vec::new(),
    })
}

/// Whether this client may speak for the member now.
async fn allowed(request: TokenRequest<'_>, asked: &Asked<'_>, subject: &Subject) -> Result<(), OAuthError> {
    let TokenRequest { app, client, .. } = request;
    let organization = &subject.member.organization;
    if let Some(text) = asked.organization {
        let found = organizations::find_named(&app.store, &Name::parse(text)).await?;
        if found.is_none_or(|found| found.id != organization.id) {
            let text = [text.to_owned()];
            return Err(refused::by_rule(request, subject, Rule::OrganizationSwitched, &text).await);
        }
    }
    let proved = subject.live.terms.proved(app.clock.now());
    if let Err(unmet) = subject.member.admits(app.checked.settings.minimum_level, &proved) {
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
    Err(refused::by_rule(request, subject, rule, &[]).await)
}

/// The server that `audience` names, as the organization registered it for this client.
async fn server(
    request: TokenRequest<'_>,
    asked: &Asked<'_>,
    subject: &Subject,
) -> Result<AuthorizationServer, OAuthError> {
    let TokenRequest { app, client, .. } = request;
    let place = subject.member.organization.id;
    if let Some(server) = servers::find(&app.store, place, asked.audience, &client.id).await? {
        return Ok(server);
    }
    let named = [asked.audience.to_owned()];
    Err(refused::by_rule(request, subject, Rule::ServerNotRegistered, &named).await)
}

/// Exactly what is asked for, if the registration allows it.
async fn granted(
    request: TokenRequest<'_>,
    asked: &Asked<'_>,
    subject: &Subject,
    server: &AuthorizationServer,
) -> Result<Granted, OAuthError> {
    match decide::granted(server, asked) {
        Ok(granted) => Ok(granted),
        Err((rule, names)) => Err(refused::by_rule(request, subject, rule, &names).await),
    }
}

fn assertion(
    request: TokenRequest<'_>,
    subject: &Subject,
    server: &AuthorizationServer,
    granted: Granted,
) -> IdJag {
    let app = request.app;
    let (now, terms) = (numeric_date(app.clock.now()), &subject.live.terms);
    let mut confirmation = request.binding.confirmation();
    match request.binding {
        Binding::Key(_) | Binding::Bearer => {}
        // The client may have another certificate there; the draft binds to keys alone.
        Binding::Certificate(_) => confirmation.certificate = None,
    }
    IdJag {
        issuer: app.issuer().to_owned(),
        subject: subject.live.subject().to_string(),
        audience: server.issuer.clone(),
        client_id: server.remote_client_id.clone(),
        id: Id::<Assertion>::random(&*app.entropy).to_string(),
        expires: now + ISSUED_SECONDS,
        issued: now,
        resource: granted.resource,
        scope: Some(granted.scope).filter(|scope: &Scope| !scope.is_empty()),
        auth_time: Some(terms.auth_time).filter(|at| *at > 0),
        acr: Some(terms.level.acr().to_owned()),
        tenant: Some(subject.member.organization.id.to_string()),
        audience_tenant: None,
        confirmation,
    }
}

/// Writes the logs, if the grant and the registration count still.
async fn record(
    request: TokenRequest<'_>,
    tx: &Tx,
    subject: &Subject,
    server: &AuthorizationServer,
    assertion: &IdJag,
) -> Result<bool, StoreError> {
    let TokenRequest { app, context, client, .. } = request;
    let place = subject.member.organization.id;
    let registered = servers::find(tx, place, &server.issuer, &client.id).await?;
    if registered.as_ref() != Some(server)
        || grants::find_assertable(tx, &subject.again(client)).await?.is_empty()
    {
        return Ok(false);
    }
    let payload = json!({
        "grant_id": subject.live.id,
        "client_id": client.id,
        "audience": assertion.audience,
        "resource": assertion.resource,
        "scope": assertion.scope,
        "jti": assertion.id,
    });
    let event = security_log::Event {
        kind: EventKind::AssertionIssued,
        subject: subject.live.account.uuid(),
        payload: payload.clone(),
    };
    security_log::record(app, tx, context, event).await?;
    let actor = Actor { kind: ActorKind::Member, id: subject.member.id.to_string(), act: None };
    let event =
        audit_trail::Event::done(TrailKind::AssertionIssued, actor, Target::new("client", &client.id))
            .changing(Value::Null, payload);
    audit_trail::record(app, tx, context, place, &event).await?;
    Ok(true)
}

fn invalid(description: &str) -> OAuthError {
    OAuthError::new(ErrorCode::InvalidRequest, description)
}
