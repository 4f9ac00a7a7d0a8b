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
        clients::Client,
        delegations::Delegation,
        grants::{self, GrantId, Live, NewDerived, Place, Terms},
        redeem::replay::log_entry,
        token_request::TokenRequest,
    },
    Subject, decide, unfit,
};
use crate::{
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    http::OAuthError,
    members::Member,
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
        confined: false,
        directory_epoch: None,
        entrance: subject.spoken.entrance,
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
        log: log_entry(app, request.context),
        event: event(id, subject, client, &authority, &terms, delegation),
    };
    let member = subject.spoken.member.as_ref();
    let session = match (authority.organization(), member) {
        (Some(organization), Some(member)) => {
            let written = app.store.run_tx("exchange.derive", |tx| async move {
                let Some(session) = grants::insert_derived(Place::In(&tx), new).await? else {
                    return Ok(None);
                };
                record(request, &tx, organization, member, new).await?;
                Ok(Some(session))
            });
            written.await?
        }
        // One statement, which also writes the log.
        (Some(_), None) | (None, _) => grants::insert_derived(Place::Alone(&app.store), new).await?,
    };
    let session = session.ok_or_else(unfit)?;
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

fn event(
    id: GrantId,
    subject: &Subject,
    client: &Client,
    authority: &Authority,
    terms: &Terms,
    delegation: &Delegation,
) -> Value {
    json!({
        "grant_id": id,
        "from_grant_id": subject.grant,
        "client_id": client.id,
        "audience": authority.audience(),
        "scope": authority.scope(),
        "act": terms.actor.as_ref().map(ActorChain::claim),
        "delegation_id": delegation.id,
    })
}

/// The entry in the organization's trail.
async fn record(
    request: TokenRequest<'_>,
    tx: &Tx,
    organization: OrganizationId,
    member: &Member,
    new: &NewDerived<'_>,
) -> Result<(), StoreError> {
    let TokenRequest { app, context, client, .. } = request;
    let actor = Actor { kind: ActorKind::Member, id: member.id.to_string(), act: new.terms.actor.clone() };
    let event = audit_trail::Event::done(TrailKind::TokenExchanged, actor, Target::new("client", &client.id))
        .changing(Value::Null, new.event.clone());
    audit_trail::record(app, tx, context, organization, &event).await
}
