//! The grant of an exchanged token, below the subject's, and its entries in the logs.

use porteiro_protocol::{
    actor::ActorChain,
    authority::Authority,
    id::{Id, OrganizationId},
    time::numeric_date,
};
use serde_json::{Value, json};

use super::{
    super::{
        acting::Acting,
        apis::Apis,
        delegations::Delegation,
        grants::{self, GrantId, Live, NewDerived, Terms},
        token_request::TokenRequest,
    },
    Subject, decide, unfit,
};
use crate::{
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    http::OAuthError,
    security_log::{self, EventKind},
    store::{StoreError, Tx},
};

/// Writes the grant below the subject's, if that and the delegation count still, and says so in the logs.
pub(super) async fn derive(
    request: TokenRequest<'_>,
    subject: &Subject,
    apis: &Apis,
    authority: Authority,
    delegation: &Delegation,
    chain: ActorChain,
) -> Result<Live, OAuthError> {
    let TokenRequest { app, client, .. } = request;
    let (claims, now) = (subject.claims(), app.clock.now());
    let api_seconds = apis.find(authority.audience()).map_or(i32::MAX, |api| api.token_seconds);
    let until = numeric_date(delegation.expires_at);
    let seconds = decide::life(numeric_date(now), claims.expires, until, api_seconds).ok_or_else(unfit)?;
    let id: GrantId = Id::ordered(now, &*app.entropy);
    let terms = Terms {
        level: claims.proved_level(),
        auth_time: claims.auth_time.unwrap_or_default(),
        amr: Vec::new(),
        nonce: None,
        credentials: Vec::new(),
        details: authority.details().to_vec(),
        actor: Some(chain),
        until: Some(numeric_date(now) + i64::from(seconds)),
        device: false,
        approval: None,
    };
    let new = &NewDerived {
        id,
        parent: subject.grant,
        account: subject.account,
        client_id: &client.id,
        unused_hash: app.entropy.bytes(),
        seconds,
        authority: &authority,
        terms: &terms,
        delegation: Some(delegation.id),
    };
    let written = app.store.run_tx("exchange.derive", |tx| async move {
        let Some(session) = grants::insert_derived(&tx, new).await? else { return Ok(None) };
        record(request, &tx, subject, new).await?;
        Ok(Some(session))
    });
    let session = written.await?.ok_or_else(unfit)?;
    let member = subject.spoken.member.as_ref();
    Ok(Live {
        id,
        account: subject.account,
        session,
        acting: member.map(Acting::from),
        authority_version: member.map(|member| member.organization.authority_version),
        authority,
        terms,
        created_at: now,
    })
}

async fn record(
    request: TokenRequest<'_>,
    tx: &Tx,
    subject: &Subject,
    new: &NewDerived<'_>,
) -> Result<(), StoreError> {
    let TokenRequest { app, context, client, .. } = request;
    let act = new.terms.actor.as_ref().map(ActorChain::claim);
    let payload = json!({
        "grant_id": new.id,
        "from_grant_id": new.parent,
        "client_id": client.id,
        "audience": new.authority.audience(),
        "scope": new.authority.scope(),
        "act": act,
        "delegation_id": new.delegation,
    });
    let event = security_log::Event {
        kind: EventKind::TokenExchanged,
        subject: subject.account.uuid(),
        payload: payload.clone(),
    };
    security_log::record(app, tx, context, event).await?;
    let organization: Option<OrganizationId> = new.authority.organization();
    let (Some(organization), Some(member)) = (organization, subject.spoken.member.as_ref()) else {
        return Ok(());
    };
    let actor = Actor { kind: ActorKind::Member, id: member.id.to_string(), act: new.terms.actor.clone() };
    let event = audit_trail::Event::done(TrailKind::TokenExchanged, actor, Target::new("client", &client.id))
        .changing(Value::Null, payload);
    audit_trail::record(app, tx, context, organization, &event).await
}
