//! The client redeems what was approved, once.

use porteiro_protocol::{
    actor::{self, ActorChain},
    authorization_details,
    client_metadata::ClientKind,
    error::ErrorCode,
    id::Id,
    time::numeric_date,
};
use serde_json::{Value, json};

use super::{
    Approval,
    decide::{self, TOKEN_SECONDS},
    deciding::required,
    standing::{no_longer, still_held},
    store::{self, NewGrant},
};
use crate::{
    App, accounts,
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    http::OAuthError,
    members::Member,
    oauth::{
        acting::Acting,
        grants::{GrantId, Live, Terms},
        minting::{self, Speaker},
        token_request::{TokenRequest, TokenResponse},
    },
    security_log::{self, EventKind},
    store::{StoreError, Turn},
};

/// The one token for what was approved. `hash` is that of the handle.
///
/// # Errors
/// When the request names something else than what was approved, when that is no longer allowed, or when another
/// request was first.
pub async fn redeem(
    request: TokenRequest<'_>,
    approval: &Approval,
    hash: &[u8; 32],
) -> Result<TokenResponse, OAuthError> {
    let TokenRequest { app, client, .. } = request;
    is_the_same(request, approval)?;
    let member = still_held(app, client, approval).await?;
    let authority = approval.frozen.authority();
    let with_identity = authority.scope().contains("openid");
    minting::ready(app, client, u32::from(!with_identity))?;
    let terms = terms(request, approval)?;
    let apis = app.directory.apis(&app.store).await?;
    if !decide::proves(required(approval, &apis), &terms, approval.decided_at) {
        return Err(no_longer());
    }
    let live = consume(request, approval, hash, member.as_ref(), terms).await?;
    let speaker = Speaker::Person(&live);
    let mut answer =
        minting::access_token(app, &apis, &client.id, &speaker, &live.authority, request.binding).await?;
    if with_identity {
        answer.id_token = Some(minting::id_token(app, client, &live, &answer.access_token).await?);
    }
    Ok(answer)
}

/// What was approved cannot be changed: not even to less.
fn is_the_same(request: TokenRequest<'_>, approval: &Approval) -> Result<(), OAuthError> {
    let (form, frozen) = (request.form, &approval.frozen);
    let refused = |code, name: &str| Err(OAuthError::new(code, format!("{name} is not what was approved")));
    if form.get("scope").is_some_and(|scope| scope.parse().ok().as_ref() != Some(&frozen.scope)) {
        return refused(ErrorCode::InvalidScope, "scope");
    }
    if form.get("resource").is_some_and(|resource| resource != frozen.audience) {
        return refused(ErrorCode::InvalidTarget, "resource");
    }
    let differ = |text| authorization_details::read(text).ok().as_ref() != Some(&frozen.details);
    if form.get("authorization_details").is_some_and(differ) {
        return refused(ErrorCode::InvalidAuthorizationDetails, "authorization_details");
    }
    Ok(())
}

/// Those of the decision, with the client as the actor.
fn terms(request: TokenRequest<'_>, approval: &Approval) -> Result<Terms, OAuthError> {
    let kind = match request.client.metadata.kind {
        ClientKind::Agent => actor::ActorKind::Agent,
        ClientKind::Application | ClientKind::Service => actor::ActorKind::Service,
    };
    let actor = ActorChain::of(actor::Actor { kind, id: request.client.id.clone() });
    let until = numeric_date(request.app.clock.now()) + i64::from(TOKEN_SECONDS);
    let terms = approval.terms.clone().ok_or_else(no_longer)?;
    Ok(Terms { actor: Some(actor), until: Some(until), ..terms })
}

async fn consume(
    request: TokenRequest<'_>,
    approval: &Approval,
    hash: &[u8; 32],
    member: Option<&Member>,
    terms: Terms,
) -> Result<Live, OAuthError> {
    let TokenRequest { app, client, .. } = request;
    let (proved, minimum) = (terms.proved(app.clock.now()), app.checked.settings.minimum_level);
    let admitted = member.map_or_else(|| proved.reaches(minimum), |member| member.admits(minimum, &proved));
    admitted.map_err(|_| no_longer())?;
    let id: GrantId = Id::ordered(app.clock.now(), &*app.entropy);
    let authority = approval.frozen.authority();
    let written = serde_json::to_value(&terms).map_err(|_| OAuthError::new(ErrorCode::ServerError, ""))?;
    let authority_version = member.map(|member| member.organization.authority_version);
    let new = &NewGrant {
        id,
        account: approval.account,
        approval: approval.id,
        client_id: &client.id,
        secret_hash: *hash,
        digest: approval.digest,
        unused_hash: app.entropy.bytes(),
        scope: &authority.scope().to_string(),
        audience: authority.audience(),
        terms: &written,
        authority_version,
    };
    let turn = Turn::new(approval.account.uuid(), ("approval", client.id.as_str()));
    let consumed = app.store.run_tx_in_turn(turn, "approvals.consume", |tx| async move {
        // Whatever ends the session, a credential or the account holds this lock: it is over before, or sees the grant.
        accounts::lock(&tx, approval.account).await?;
        let Some(created) = store::consume(&tx, new).await? else { return Ok(None) };
        record(app, &tx, request, approval, id).await?;
        Ok(Some(created))
    });
    let created_at = consumed.await?.ok_or_else(no_longer)?;
    Ok(Live {
        id,
        account: approval.account,
        session: approval.session.ok_or_else(no_longer)?,
        authority,
        acting: member.map(Acting::from),
        authority_version,
        terms,
        created_at,
    })
}

async fn record(
    app: &App,
    tx: &crate::store::Tx,
    request: TokenRequest<'_>,
    approval: &Approval,
    grant: GrantId,
) -> Result<(), StoreError> {
    let (context, client_id) = (request.context, &request.client.id);
    let frozen = &approval.frozen;
    let payload = json!({
        "approval_id": approval.id,
        "grant_id": grant,
        "client_id": client_id,
        "audience": frozen.audience,
        "scope": frozen.scope,
        "digest": super::frozen::hex(&approval.digest),
    });
    let (kind, subject) = (EventKind::ApprovalRedeemed, approval.account.uuid());
    security_log::record(app, tx, context, security_log::Event { kind, subject, payload: payload.clone() })
        .await?;
    let Some(organization) = approval.organization else { return Ok(()) };
    let actor = Actor { kind: ActorKind::Client, id: client_id.clone(), act: None };
    let event =
        audit_trail::Event::done(TrailKind::ApprovalRedeemed, actor, Target::new("approval", approval.id))
            .changing(Value::Null, payload);
    audit_trail::record(app, tx, context, organization, &event).await
}
