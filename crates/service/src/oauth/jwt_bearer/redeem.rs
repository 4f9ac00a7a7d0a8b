//! Uses the assertion up: its grant, and the entries in the logs.

use std::sync::Arc;

use porteiro_protocol::{
    actor::ActorChain,
    authority::Authority,
    id::{AccountId, Id, ordered_floor},
    time::{OffsetDateTime, numeric_date},
};
use serde_json::{Value, json};

use super::{
    super::{
        acting::Acting,
        apis::Apis,
        grants::{self, GrantId, Live, NewAsserted, Terms},
        token_request::TokenRequest,
    },
    Asserted, decide, invalid_grant,
};
use crate::{
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    http::OAuthError,
    organizations::Entrance,
    secrets::sha256,
    security_log::{self, EventKind},
    store::{StoreError, Tx},
};

/// One answer for an assertion that was used, and for what ended while it was checked.
fn used() -> OAuthError {
    invalid_grant("the assertion was redeemed before, or what it rests on has just ended; get a new one")
}

pub(super) async fn redeem(
    request: TokenRequest<'_>,
    asserted: &Asserted,
    apis: &Arc<Apis>,
    authority: Authority,
) -> Result<Live, OAuthError> {
    let TokenRequest { app, client, .. } = request;
    let Asserted { said, trust, identity, member } = asserted;
    let (now, account) = (app.clock.now(), member.account.ok_or_else(used)?);
    let seconds = decide::life(apis.find(authority.audience()).map(|api| api.token_seconds));
    let expires = OffsetDateTime::from_unix_timestamp(said.expires).map_err(|_| used())?;
    let id: GrantId = Id::ordered(now, &*app.entropy);
    let terms = terms(request, asserted, seconds);
    let new = &NewAsserted {
        id,
        organization: trust.organization,
        membership: member.id,
        authority_version: member.organization.authority_version,
        client_id: &client.id,
        issuer: trust.id,
        identity: identity.id,
        unused_hash: app.entropy.bytes(),
        seconds,
        authority: &authority,
        terms: &terms,
        // Apart from the client's own assertions, which are remembered in the same table.
        jti_hash: sha256(&[b"id-jag", said.issuer.as_bytes(), said.id.as_bytes()].join(&0)),
        expiry: ordered_floor(expires),
    };
    let written = app.store.run_tx("jwt_bearer.redeem", |tx| async move {
        if !grants::insert_asserted(&tx, new).await? {
            return Ok(false);
        }
        record(request, &tx, asserted, account, new).await?;
        Ok(true)
    });
    if !written.await? {
        return Err(used());
    }
    Ok(Live {
        id,
        account,
        session: trust.id.uuid().into(),
        acting: Some(Acting::from(member)),
        authority_version: Some(member.organization.authority_version),
        authority,
        terms,
        created_at: now,
    })
}

fn terms(request: TokenRequest<'_>, asserted: &Asserted, seconds: i32) -> Terms {
    let TokenRequest { app, client, .. } = request;
    let now = app.clock.now();
    let proved = decide::proved(&asserted.trust, &asserted.said, now);
    Terms {
        level: proved.level,
        auth_time: proved.at.map(numeric_date).unwrap_or_default(),
        amr: Vec::new(),
        nonce: None,
        credentials: Vec::new(),
        details: Vec::new(),
        actor: Some(decide::actor(&client.id, &client.metadata)),
        until: Some(numeric_date(now) + i64::from(seconds)),
        device: false,
        approval: None,
        confined: false,
        directory_epoch: None,
        entrance: Entrance::default(),
    }
}

async fn record(
    request: TokenRequest<'_>,
    tx: &Tx,
    asserted: &Asserted,
    account: AccountId,
    new: &NewAsserted<'_>,
) -> Result<(), StoreError> {
    let TokenRequest { app, context, client, .. } = request;
    let payload = json!({
        "grant_id": new.id,
        "client_id": client.id,
        "issuer": asserted.said.issuer,
        "identity_id": asserted.identity.id,
        "audience": new.authority.audience(),
        "scope": new.authority.scope(),
        "act": new.terms.actor.as_ref().map(ActorChain::claim),
    });
    let kind = EventKind::AssertionRedeemed;
    let event = security_log::Event { kind, subject: account.uuid(), payload: payload.clone() };
    security_log::record(app, tx, context, event).await?;
    let member = asserted.member.id.to_string();
    let actor = Actor { kind: ActorKind::Member, id: member, act: new.terms.actor.clone() };
    let event =
        audit_trail::Event::done(TrailKind::AssertionRedeemed, actor, Target::new("client", &client.id))
            .changing(Value::Null, payload);
    audit_trail::record(app, tx, context, new.organization, &event).await
}
