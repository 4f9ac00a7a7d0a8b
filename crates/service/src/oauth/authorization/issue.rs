//! The end of a good authorization: a grant, and the code that is its first generation.

use porteiro_protocol::{
    assurance::{Decay, Level, Proof, amr, auth_time},
    authorization_request::Refused,
    error::ErrorCode,
    id::{AccountId, Id, SessionId, ordered_floor},
    time::{Duration, OffsetDateTime},
};
use serde_json::json;
use zeroize::Zeroizing;

use super::{
    super::{
        acting::{self, Acting},
        device::{self, Asking},
        grants::{self, GrantId, NewGrant, Terms},
        pushed_authorization,
    },
    Continued, Prepared, Turned, decide,
    decide::refuse,
    life, place,
    respond::{self, Confirmed, Delivery},
    store,
};
use crate::{
    App, audit,
    audit::EventKind,
    client_policies,
    http::RequestContext,
    members::{self, Whom},
    organizations::Proved,
    secrets::{HandleKind, Route},
    store::{StoreError, Tx},
    trail::{self, Actor, ActorKind, Target, TrailKind},
};

/// Who sits there, and how they proved it.
#[derive(Debug)]
pub struct Sitting<'a> {
    pub account: AccountId,
    pub session: SessionId,
    pub proofs: &'a [Proof],
    pub level: Level,
    pub now: OffsetDateTime,
}

/// Writes the grant. A refusal is an answer to the client too, and commits.
pub async fn issue(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    continued: &Continued,
    prepared: &Prepared,
    sitting: &Sitting<'_>,
) -> Result<Delivery, StoreError> {
    let client = &prepared.client;
    if let Some(pushed) = continued.pushed
        && !pushed_authorization::consume(tx, pushed, &client.id).await?
    {
        return turned(app, prepared, ErrorCode::InvalidRequestUri, "the pushed request was used before")
            .await;
    }
    let challenge = prepared.request.code_challenge.as_bytes();
    // Of a device nobody else could have chosen it.
    if continued.device.is_none()
        && !store::use_challenge(tx, &client.id, challenge, end_of_day(sitting.now)).await?
    {
        let text = "this code_challenge was used before: make a new verifier for every request";
        return turned(app, prepared, ErrorCode::InvalidRequest, text).await;
    }
    if continued.hinted.is_some_and(|hinted| hinted != sitting.account) {
        let text = "somebody else signed in than was asked for";
        return turned(app, prepared, ErrorCode::LoginRequired, text).await;
    }
    let terms = terms(prepared, sitting);
    let acting = match acting(tx, prepared, &terms.proved(sitting.now)).await? {
        Ok(acting) => acting,
        Err(refused) => return turned(app, prepared, refused.code, &refused.description).await,
    };
    let subject = acting.as_ref().map_or(sitting.account.uuid(), |(acting, _)| acting.membership.uuid());
    if continued.subject.is_some_and(|named| named != subject) {
        let text = "somebody else signed in than was asked for";
        return turned(app, prepared, ErrorCode::LoginRequired, text).await;
    }
    // A yes to a device is a yes to that one.
    if continued.consented.is_some() && continued.device.is_none() {
        store::remember(tx, sitting.account, client, &prepared.authority).await?;
    }
    let id: GrantId = Id::ordered(app.clock.now(), &*app.entropy);
    let code = match &continued.device {
        None => Code::issued(app, sitting.account, id)?,
        Some(asking) => {
            if !device::approve(tx, asking.id, sitting.account, id).await? {
                return decided_before(tx, asking, sitting.account).await;
            }
            Code::of_device(prepared)
        }
    };
    let offline = prepared.authority.scope().contains("offline_access");
    let new = NewGrant {
        id,
        account: sitting.account,
        client_id: &client.id,
        session: sitting.session,
        code_hash: code.hash,
        code_seconds: code.seconds,
        life: life::life(client, offline, prepared.way()),
        offline,
        code_challenge: challenge,
        redirect_uri: prepared.redirect_uri.as_deref(),
        bound_key: prepared.request.dpop_jkt.as_deref().and_then(thumbprint),
        authority: &prepared.authority,
        acting: acting.as_ref().map(|(acting, version)| (acting, *version)),
        definition: prepared.definition,
        terms: &terms,
    };
    grants::insert(tx, &new).await?;
    if let Some((acting, _)) = &acting {
        let actor = Actor { kind: ActorKind::Member, id: acting.membership.to_string(), act: None };
        let event = trail::Event::done(TrailKind::GrantCreated, actor, Target::new("client", &client.id));
        trail::record(app, tx, context, acting.organization, &event).await?;
    }
    let payload = json!({
        "grant_id": id,
        "client_id": client.id,
        "audience": prepared.authority.audience(),
        "scope": prepared.authority.scope(),
        "consented": continued.consented.is_some(),
        "device": continued.device.is_some(),
    });
    let event = audit::Event { kind: EventKind::GrantIssued, subject: sitting.account.uuid(), payload };
    audit::record(app, tx, context, event).await?;
    let Some(code) = code.text else { return Ok(Delivery::Device(Confirmed::Now)) };
    let mut parameters = vec![("code", code.as_str())];
    if let Some(state) = &prepared.request.state {
        parameters.push(("state", state));
    }
    let mode = decide::mode(&prepared.request);
    respond::deliver(app, client, prepared.redirect_uri.as_deref(), mode, &parameters)
        .await
        .map_err(|error| StoreError::Inconsistent(error.to_string()))
}

/// The code of a new grant.
struct Code {
    /// To be handed over now; none where the device has it already.
    text: Option<Zeroizing<String>>,
    hash: [u8; 32],
    seconds: f64,
}

impl Code {
    /// A code lives this long (decisions: 60 s, once).
    const SECONDS: f64 = 60.0;

    fn issued(app: &App, account: AccountId, grant: GrantId) -> Result<Self, StoreError> {
        let route = Route { owner: account.uuid(), row: grant.uuid(), generation: 0 };
        let code = app
            .secrets
            .handles
            .issue(HandleKind::Code, route, &*app.entropy)
            .map_err(|error| StoreError::Inconsistent(error.to_string()))?;
        Ok(Self { text: Some(code.text), hash: code.hash, seconds: Self::SECONDS })
    }

    /// The device code, which is its own verifier.
    const fn of_device(prepared: &Prepared) -> Self {
        let hash = *prepared.request.code_challenge.as_bytes();
        Self { text: None, hash, seconds: device::NOTICED_SECONDS }
    }
}

/// Too late, or in another window: what they said there holds.
async fn decided_before(tx: &Tx, asking: &Asking, account: AccountId) -> Result<Delivery, StoreError> {
    Ok(Delivery::Device(match device::outcome(tx, asking.id, account).await? {
        Some(device::State::Approved) => Confirmed::Before,
        Some(device::State::Denied) => Confirmed::Not(ErrorCode::AccessDenied),
        Some(device::State::Pending) | None => Confirmed::Not(ErrorCode::ExpiredToken),
    }))
}

/// As whom the person acts, asked once more while nobody can change it; `None` where no organization is.
async fn acting(
    tx: &Tx,
    prepared: &Prepared,
    proved: &Proved,
) -> Result<Result<Option<(Acting, i64)>, Refused>, StoreError> {
    let denied = || refuse(ErrorCode::AccessDenied, "the organization is not available");
    let Some(member) = &prepared.member else {
        return Ok(if place::is_needed(prepared) { Err(denied()) } else { Ok(None) });
    };
    members::hold(tx, member.organization.id, member.id).await?;
    let member = members::find(tx, member.organization.id, Whom::Id(member.id)).await?;
    let Some(member) = member else { return Ok(Err(denied())) };
    if acting::check(&member, &prepared.authority, prepared.api.as_ref()).is_err() {
        return Ok(Err(denied()));
    }
    // With the policy and the version of one statement: a grant that is written under a version was allowed under it.
    if !client_policies::allows(tx, &member.organization, &prepared.client).await? {
        return Ok(Err(denied()));
    }
    if member.organization.policy.admits(proved).is_err() {
        let text = "the organization asks for a stronger or a more recent proof";
        return Ok(Err(refuse(ErrorCode::UnmetAuthenticationRequirements, text)));
    }
    Ok(Ok(Some((Acting::from(&member), member.organization.authority_version))))
}

async fn turned(
    app: &App,
    prepared: &Prepared,
    code: ErrorCode,
    description: &str,
) -> Result<Delivery, StoreError> {
    respond::refusal(app, &Turned::new(prepared, refuse(code, description)))
        .await
        .map_err(|error| StoreError::Inconsistent(error.to_string()))
}

fn terms(prepared: &Prepared, sitting: &Sitting<'_>) -> Terms {
    let when = auth_time(sitting.proofs, sitting.level, sitting.now, &Decay::default());
    Terms {
        level: sitting.level,
        auth_time: when.unwrap_or(sitting.now).unix_timestamp(),
        // `mfa` means AAL2, and proofs that lapsed do not make it.
        amr: amr(sitting.proofs)
            .into_iter()
            .filter(|value| *value != "mfa" || sitting.level == Level::Aal2)
            .map(str::to_owned)
            .collect(),
        credentials: sitting.proofs.iter().filter_map(|proof| proof.credential).collect(),
        nonce: prepared.request.nonce.clone(),
        details: prepared.authority.details().to_vec(),
        actor: None,
        until: None,
        device: prepared.device.is_some(),
    }
}

fn end_of_day(now: OffsetDateTime) -> uuid::Uuid {
    const DAY: i64 = 86_400;
    let start = now.unix_timestamp().div_euclid(DAY) * DAY;
    ordered_floor(OffsetDateTime::from_unix_timestamp(start).unwrap_or(now) + Duration::DAY)
}

fn thumbprint(text: &str) -> Option<[u8; 32]> {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}
