//! Completes an authorization: writes the grant and its code, which is generation 0.

use porteiro_protocol::{
    actor::{self, ActorChain},
    assurance::{Decay, Level, amr, auth_time},
    authorization_request::Refused,
    client_metadata::ClientKind,
    error::ErrorCode,
    id::{AccountId, Id, ordered_floor},
    time::{Duration, OffsetDateTime},
};
use serde_json::json;
use zeroize::Zeroizing;

use super::{
    super::{
        acting::{self, Acting},
        clients::Client,
        delegations::{self, Delegator},
        grants::{self, GrantId, NewGrant, Terms},
    },
    Continued, Prepared, Turned, decide,
    decide::refuse,
    life, place, pushed, respond, store,
};
use crate::{
    App, accounts,
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    client_policies,
    flow::{Authentication, Completing, Delivery, Person},
    http::RequestContext,
    members::{self, Member, Whom},
    organizations::Proved,
    secrets::{HandleKind, Route},
    security_log,
    security_log::EventKind,
    store::{StoreError, Tx},
};

/// What the person may be granted, checked again under lock.
#[derive(Debug)]
pub struct Admitted {
    terms: Terms,
    /// The member, and the version of the organization's authority that was checked.
    acting: Option<(Acting, i64)>,
    /// The member used a passkey in place of the connection that the organization requires.
    broke_glass: bool,
}

/// Writes the grant. A refusal is also a response to the client, and commits.
pub(super) async fn issue(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    continued: &Continued,
    prepared: &Prepared,
    completing: Completing<'_>,
) -> Result<Delivery, StoreError> {
    let (client, authentication) = (&prepared.client, completing.authentication);
    if let Some(pushed) = continued.pushed
        && !pushed::consume(tx, pushed, &client.id).await?
    {
        return turned(app, prepared, ErrorCode::InvalidRequestUri, "the pushed request was already used")
            .await;
    }
    let challenge = prepared.request.code_challenge.as_bytes();
    if !store::use_challenge(tx, &client.id, challenge, end_of_day(authentication.now)).await? {
        let text = "this code_challenge was already used: create a new code_verifier for every request";
        return turned(app, prepared, ErrorCode::InvalidRequest, text).await;
    }
    let admitted = match admit(app, tx, continued, prepared, authentication).await? {
        Ok(admitted) => admitted,
        Err(refused) => return turned(app, prepared, refused.code, &refused.description).await,
    };
    let consented = completing.continuation.consented.is_some();
    if consented {
        let person =
            Person { account: authentication.account, confined: authentication.confined_to.is_some() };
        store::remember(tx, person, client, &prepared.authority).await?;
        // Whom only a directory vouches for makes no delegation: it would outlive the directory's word. Nor does whoever
        // came without it, or is leaving.
        let lasting = !person.confined && !admitted.broke_glass;
        if lasting && !accounts::is_leaving(tx, person.account).await? {
            delegate(app, tx, context, prepared, authentication.account, &admitted).await?;
        }
    }
    let id: GrantId = Id::ordered(app.clock.now(), &*app.entropy);
    let (text, code) = issue_code(app, authentication.account, id)?;
    write_grant(app, tx, context, prepared, authentication, &admitted, &code, consented).await?;
    let mut parameters = vec![("code", text.as_str())];
    if let Some(state) = &prepared.request.state {
        parameters.push(("state", state));
    }
    let mode = decide::mode(&prepared.request);
    respond::deliver(app, client, prepared.redirect_uri.as_deref(), mode, &parameters)
        .await
        .map_err(|error| StoreError::Inconsistent(error.to_string()))
}

/// Whether this person may be granted the request, and is the one it names.
pub async fn admit(
    app: &App,
    tx: &Tx,
    continued: &Continued,
    prepared: &Prepared,
    authentication: &Authentication<'_>,
) -> Result<Result<Admitted, Refused>, StoreError> {
    let somebody_else =
        || refuse(ErrorCode::LoginRequired, "the person who signed in is not the requested one");
    if continued.hinted.is_some_and(|hinted| hinted != authentication.account) {
        return Ok(Err(somebody_else()));
    }
    let terms = terms(prepared, authentication);
    let proved = terms.proved(authentication.now);
    let (acting, broke_glass) = match acting(app, tx, prepared, authentication.account, &proved).await? {
        Ok(Some((member, acting))) => (Some(acting), breaks_glass(&member, &proved)),
        Ok(None) => (None, false),
        Err(refused) => return Ok(Err(refused)),
    };
    // What a directory vouches for is worth nothing outside its organization (docs/decisions/0097).
    let acts_in = acting.as_ref().map(|(acting, _)| acting.organization);
    if authentication.confined_to.is_some() && authentication.confined_to != acts_in {
        return Ok(Err(refuse(ErrorCode::AccessDenied, "the organization is not available")));
    }
    let subject =
        acting.as_ref().map_or(authentication.account.uuid(), |(acting, _)| acting.membership.uuid());
    if continued.subject.is_some_and(|named| named != subject) {
        return Ok(Err(somebody_else()));
    }
    Ok(Ok(Admitted { terms, acting, broke_glass }))
}

/// Whether the member was admitted without the connection that the organization requires.
fn breaks_glass(member: &Member, proved: &Proved) -> bool {
    let max_age = member.organization.policy.max_age;
    member.door().is_some_and(|door| !door.is_passed(&proved.entrance, max_age, proved.now))
}

/// What a person allows an agent, it may do by token exchange too.
async fn delegate(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    prepared: &Prepared,
    account: AccountId,
    admitted: &Admitted,
) -> Result<(), StoreError> {
    let membership = admitted.acting.as_ref().map(|(acting, _)| acting.membership);
    let id = membership.map_or_else(|| account.to_string(), |membership| membership.to_string());
    let actor = Actor { kind: ActorKind::Member, id, act: None };
    let delegator = Delegator::Person { account, membership };
    let (client, authority) = (&prepared.client, &prepared.authority);
    delegations::by_consent(app, tx, context, &actor, delegator, client, authority).await
}

/// Writes the grant and its log entries.
#[expect(clippy::too_many_arguments, reason = "who is granted what, by which proof and under which code")]
pub async fn write_grant(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    prepared: &Prepared,
    authentication: &Authentication<'_>,
    admitted: &Admitted,
    code: &Code,
    consented: bool,
) -> Result<(), StoreError> {
    let (client, account) = (&prepared.client, authentication.account);
    let offline = prepared.authority.scope().contains("offline_access");
    let new = NewGrant {
        id: code.grant,
        account,
        client_id: &client.id,
        session: authentication.session,
        code_hash: code.hash,
        code_seconds: code.seconds,
        life: life::life(client, offline, prepared.way()),
        offline,
        code_challenge: prepared.request.code_challenge.as_bytes(),
        redirect_uri: prepared.redirect_uri.as_deref(),
        bound_key: prepared.request.dpop_jkt.as_deref().and_then(thumbprint),
        authority: &prepared.authority,
        acting: admitted.acting.as_ref().map(|(acting, version)| (acting, *version)),
        definition: prepared.definition,
        terms: &admitted.terms,
    };
    grants::insert(tx, &new).await?;
    if let Some((acting, _)) = admitted.acting.as_ref().filter(|_| admitted.broke_glass) {
        record_broken_glass(app, tx, context, acting, client, authentication).await?;
    }
    if let Some((acting, _)) = &admitted.acting {
        let actor = Actor { kind: ActorKind::Member, id: acting.membership.to_string(), act: None };
        let event =
            audit_trail::Event::done(TrailKind::GrantCreated, actor, Target::new("client", &client.id));
        audit_trail::record(app, tx, context, acting.organization, &event).await?;
    }
    let payload = json!({
        "grant_id": code.grant,
        "client_id": client.id,
        "audience": prepared.authority.audience(),
        "scope": prepared.authority.scope(),
        "consented": consented,
        "device": prepared.device.is_some(),
    });
    let event = security_log::Event { kind: EventKind::GrantIssued, subject: account.uuid(), payload };
    security_log::record(app, tx, context, event).await
}

/// Tells the organization, and the account's owner, that the required connection was passed by.
async fn record_broken_glass(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    acting: &Acting,
    client: &Client,
    authentication: &Authentication<'_>,
) -> Result<(), StoreError> {
    let actor = Actor { kind: ActorKind::Member, id: acting.membership.to_string(), act: None };
    let target = Target::new("client", &client.id);
    let event = audit_trail::Event::done(TrailKind::BreakGlassUsed, actor, target);
    audit_trail::record(app, tx, context, acting.organization, &event).await?;
    let payload = json!({
        "organization_id": acting.organization,
        "membership_id": acting.membership,
        "client_id": client.id,
        "session_id": authentication.session,
    });
    let (kind, subject) = (EventKind::BreakGlassUsed, authentication.account.uuid());
    security_log::record(app, tx, context, security_log::Event { kind, subject, payload }).await
}

/// The code of a grant.
#[derive(Debug)]
pub struct Code {
    pub grant: GrantId,
    pub hash: [u8; 32],
    pub seconds: f64,
}

/// The lifetime of a code; it can be redeemed once.
const CODE_SECONDS: f64 = 60.0;

fn issue_code(
    app: &App,
    account: AccountId,
    grant: GrantId,
) -> Result<(Zeroizing<String>, Code), StoreError> {
    let route = Route { owner: account.uuid(), row: grant.uuid(), generation: 0 };
    let issued = app
        .secrets
        .handles
        .issue(HandleKind::Code, route, &*app.entropy)
        .map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    Ok((issued.text, Code { grant, hash: issued.hash, seconds: CODE_SECONDS }))
}

/// The member, checked again under lock; `None` where the request is for no organization.
async fn acting(
    app: &App,
    tx: &Tx,
    prepared: &Prepared,
    account: AccountId,
    proved: &Proved,
) -> Result<Result<Option<(Member, (Acting, i64))>, Refused>, StoreError> {
    let denied = || refuse(ErrorCode::AccessDenied, "the organization is not available");
    let Some(member) = &prepared.member else {
        return Ok(if place::is_needed(prepared) { Err(denied()) } else { Ok(None) });
    };
    members::hold(tx, member.organization.id, member.id).await?;
    let member = members::find(tx, member.organization.id, Whom::Id(member.id)).await?;
    let Some(member) = member.filter(|it| it.account == Some(account)) else { return Ok(Err(denied())) };
    if acting::check(&member, &prepared.authority, prepared.api.as_ref()).is_err() {
        return Ok(Err(denied()));
    }
    // Policy and version come from one statement: a grant that is written with a version was allowed under it.
    if !client_policies::allows(tx, &member.organization, &prepared.client).await? {
        return Ok(Err(denied()));
    }
    if member.admits(app.checked.settings.minimum_level, proved).is_err() {
        let text =
            "a higher level, a more recent authentication or the organization's own connection is required";
        return Ok(Err(refuse(ErrorCode::UnmetAuthenticationRequirements, text)));
    }
    let acting = (Acting::from(&member), member.organization.authority_version);
    Ok(Ok(Some((member, acting))))
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

fn terms(prepared: &Prepared, authentication: &Authentication<'_>) -> Terms {
    let when = auth_time(authentication.proofs, authentication.level, authentication.now, &Decay::default());
    Terms {
        level: authentication.level,
        auth_time: when.unwrap_or(authentication.now).unix_timestamp(),
        // `mfa` means AAL2, so it is omitted if the proofs no longer reach that level.
        amr: amr(authentication.proofs)
            .into_iter()
            .filter(|value| *value != "mfa" || authentication.level == Level::Aal2)
            .map(str::to_owned)
            .collect(),
        credentials: authentication.proofs.iter().filter_map(|proof| proof.credential).collect(),
        nonce: prepared.request.nonce.clone(),
        details: prepared.authority.details().to_vec(),
        actor: acting_agent(&prepared.client),
        until: None,
        device: prepared.device.is_some(),
        approval: None,
        confined: authentication.confined_to.is_some(),
        directory_epoch: authentication.directory_epoch,
        entrance: prepared.member.as_ref().map(|_| authentication.entrance).unwrap_or_default(),
    }
}

/// An agent holds its tokens for someone else, and they say so (docs/decisions/0089).
fn acting_agent(client: &Client) -> Option<ActorChain> {
    match client.metadata.kind {
        ClientKind::Agent => {
            Some(ActorChain::of(actor::Actor { kind: actor::ActorKind::Agent, id: client.id.clone() }))
        }
        ClientKind::Application | ClientKind::Service => None,
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
