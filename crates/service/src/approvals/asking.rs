//! A client asks a person.

use std::sync::Arc;

use porteiro_protocol::{
    assurance::Level,
    authority::Authority,
    authorization_details::has_unseen,
    error::ErrorCode,
    id::{AccountId, ApprovalId, Id},
};
use serde_json::{Value, json};

use super::{
    Frozen, announce, decide,
    frozen::{Shown, hex},
    notify, ping,
    store::{self, NewApproval},
};
use crate::{
    App, accounts,
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    client_policies,
    http::{OAuthError, RequestContext},
    limits::{self, APPROVAL_ASK, Bucket},
    members::Member,
    oauth::{
        acting,
        apis::Apis,
        authority::{Asked, AskedScope, Requester, requested_authority},
        clients::Client,
        delegations,
    },
    organizations::Agents,
    secrets::{HandleKind, Issued, Route},
    security_log::{self, EventKind},
    store::{StoreError, Turn, TxError},
};

/// What a client wants a person to approve.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub client: &'a Client,
    pub account: AccountId,
    /// As whom, in an organization.
    pub member: Option<&'a Member>,
    pub resource: Option<&'a str>,
    pub scope: &'a str,
    pub details: &'a [Value],
    pub binding_message: Option<&'a str>,
    /// What the client wants the person to have proved.
    pub level: Option<Level>,
    pub seconds: i32,
    /// The bearer token with which the client is notified of the decision.
    pub notification_token: Option<&'a str>,
}

/// What the client gets: a handle for the outcome, and the number to show.
#[derive(Debug)]
pub struct Question {
    pub id: ApprovalId,
    pub handle: Issued,
    pub number: i16,
    pub seconds: i32,
}

/// One answer for people who do not exist, who delegated nothing to the client, and who cannot act: the error does
/// not reveal who exists.
pub fn unknown() -> OAuthError {
    OAuthError::new(ErrorCode::UnknownUserId, "nobody of this id lets the client ask")
}

fn denied(text: &str) -> OAuthError {
    OAuthError::new(ErrorCode::AccessDenied, text)
}

/// Asks, if the client may ask this person for this now.
///
/// # Errors
/// For the client.
pub async fn ask(
    app: &Arc<App>,
    context: &RequestContext,
    wanted: &Wanted<'_>,
) -> Result<Question, OAuthError> {
    let organization = wanted.member.map(|member| member.organization.id);
    // Any delegation will do: the client asks for more than it was given.
    let all = delegations::live(&app.store, wanted.account, organization, wanted.client).await?;
    let delegation = all.first().ok_or_else(unknown)?.id;
    let key = [wanted.account.uuid().as_bytes().as_slice(), wanted.client.id.as_bytes()].concat();
    let key = app.secrets.limit_key(APPROVAL_ASK.name, &key);
    if let Some(limited) = limits::take(&app.store, &[Bucket { rule: APPROVAL_ASK, key }]).await? {
        return Err(limited.into());
    }
    let apis = app.directory.apis(&app.store).await?;
    let authority = check(app, wanted, &apis).await?;
    let frozen = Frozen {
        account: wanted.account,
        client_id: wanted.client.id.clone(),
        organization,
        membership: wanted.member.map(|member| member.id),
        audience: authority.audience().to_owned(),
        scope: authority.scope().clone(),
        details: authority.details().to_vec(),
        binding_message: wanted.binding_message.map(str::to_owned),
        shown: Some(Shown::new(wanted.client.metadata.client_name.clone(), &apis, &authority)),
    };
    let (text, digest) = frozen.seal().map_err(|_| OAuthError::new(ErrorCode::ServerError, ""))?;
    let irreversible = is_irreversible(&apis, &authority);
    let id: ApprovalId = Id::ordered(app.clock.now(), &*app.entropy);
    let (handle, sealed) = secrets(app, wanted, id)?;
    let (number, numbers) = decide::draw_numbers(&*app.entropy);
    let new = NewApproval {
        id,
        account: wanted.account,
        client_id: &wanted.client.id,
        organization,
        membership: frozen.membership,
        delegation,
        frozen: &text,
        digest,
        number,
        numbers: &numbers,
        level: decide::required_level(irreversible, wanted.level),
        irreversible,
        secret_hash: handle.hash,
        notification_token: sealed.as_deref(),
        seconds: wanted.seconds,
        limits: decide::Limits::of(app.checked.settings.approval_limit_factor),
    };
    write(app, context, &new, &frozen).await?;
    Ok(Question { id, handle, number, seconds: wanted.seconds })
}

fn secrets(app: &App, wanted: &Wanted<'_>, id: ApprovalId) -> Result<(Issued, Option<Vec<u8>>), OAuthError> {
    let failed = |error| {
        tracing::error!(%error, "the secrets of an approval could not be created");
        OAuthError::new(ErrorCode::ServerError, "")
    };
    let route = Route { owner: wanted.account.uuid(), row: id.uuid(), generation: 0 };
    let handle =
        app.secrets.handles.issue(HandleKind::ApprovalRequest, route, &*app.entropy).map_err(failed)?;
    let seal = |token: &str| ping::seal(app, id, token, handle.text.as_str());
    let sealed = wanted.notification_token.map(seal).transpose().map_err(failed)?;
    Ok((handle, sealed))
}

/// Exactly what is asked for, if the client may have it and the member holds it.
async fn check(app: &App, wanted: &Wanted<'_>, apis: &Arc<Apis>) -> Result<Authority, OAuthError> {
    let asked = Asked {
        resource: wanted.resource,
        scope: AskedScope::Text(Some(wanted.scope)),
        details: wanted.details,
        organization: wanted.member.map(|member| member.organization.id),
    };
    let requested = requested_authority(Requester::Client(wanted.client), asked, apis, app.issuer())?;
    let (api, authority) = (requested.api, requested.authority);
    if let Some(name) = delegations::first_undelegable(&authority) {
        return Err(OAuthError::new(
            ErrorCode::InvalidScope,
            format!("{name} is not for clients that act for people"),
        ));
    }
    match wanted.member {
        Some(member) => {
            match member.organization.policy.agents {
                Agents::Frozen => return Err(denied("the organization has frozen its agents")),
                Agents::Allowed => {}
            }
            if !client_policies::allows(&app.store, &member.organization, wanted.client).await? {
                return Err(denied("the organization does not allow this client"));
            }
            if acting::check(member, &authority, api).is_err() {
                return Err(OAuthError::new(
                    ErrorCode::InvalidScope,
                    "the person does not hold all of these scopes",
                ));
            }
        }
        None if acting::needs_organization(&authority, api) => {
            let text = "these scopes are permissions in an organization: name a member of one";
            return Err(OAuthError::new(ErrorCode::InvalidScope, text));
        }
        None => {}
    }
    app.details.check(apis, &authority).await?;
    if authority.details().iter().any(has_unseen) {
        let text = "authorization_details has a character that the person could not see";
        return Err(OAuthError::new(ErrorCode::InvalidAuthorizationDetails, text));
    }
    Ok(authority)
}

/// As the API is registered now.
pub(super) fn is_irreversible(apis: &Apis, authority: &Authority) -> bool {
    let types = apis.find(authority.audience()).map(|api| api.details.as_slice()).unwrap_or_default();
    let named = |name: &str| authority.details().iter().any(|detail| detail["type"] == name);
    types.iter().any(|kind| kind.irreversible && named(&kind.name))
}

async fn write(
    app: &App,
    context: &RequestContext,
    new: &NewApproval<'_>,
    frozen: &Frozen,
) -> Result<(), OAuthError> {
    let turn = Turn::new(new.account.uuid(), ("approval", new.client_id));
    let written = app.store.try_tx_in_turn(turn, "approvals.ask", |tx| async move {
        // Requests for one person count each other, whichever node they arrive at.
        accounts::lock(&tx, new.account).await?;
        if !store::insert(&tx, new).await? {
            let blocked = store::is_blocked(&tx, new.account, new.client_id).await?;
            return Err(TxError::Refused(if blocked {
                denied("the person does not want to be asked by this client")
            } else {
                OAuthError::slow_down()
            }));
        }
        let payload = json!({
            "approval_id": new.id,
            "client_id": new.client_id,
            "audience": frozen.audience,
            "scope": frozen.scope,
            "digest": hex(&new.digest),
        });
        let kind = EventKind::ApprovalRequested;
        let event = security_log::Event { kind, subject: new.account.uuid(), payload: payload.clone() };
        security_log::record(app, &tx, context, event).await?;
        if let Some(organization) = new.organization {
            let actor = Actor { kind: ActorKind::Client, id: new.client_id.to_owned(), act: None };
            let target = Target::new("approval", new.id);
            let event = audit_trail::Event::done(TrailKind::ApprovalRequested, actor, target)
                .changing(Value::Null, payload);
            audit_trail::record(app, &tx, context, organization, &event).await?;
        }
        announce::enqueue(app, &tx, new).await?;
        Ok(notify::person(app, &tx, new.account, new.seconds).await?)
    });
    match written.await {
        Ok(()) => Ok(()),
        Err(TxError::Store(error)) => Err(StoreError::into(error)),
        Err(TxError::Refused(error) | TxError::Recorded(error)) => Err(error),
    }
}
