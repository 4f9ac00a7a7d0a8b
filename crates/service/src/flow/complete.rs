//! Completion: everything that a finished flow writes, in the transaction of its last step.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{
    address::EmailAddress,
    assurance::Level,
    id::{AccountId, Id, SessionId},
    time::OffsetDateTime,
};
use serde_json::{Value, json};

use super::{
    decide,
    delivery::Delivery,
    discovery::Remembered,
    door::entrance,
    facts::Gathered,
    lost::remove_unproved_factors,
    notify::{device, happening, knows_device, tell},
    proofs::{counted, vouched},
    purpose::{Authentication, Completing},
    representation::Answer,
    state::{Kind, Pending, Refusal, State, Transport},
    store::Loaded,
};
use crate::{
    App,
    accounts::{self, IdentifierKind, NewAccount},
    bootstrap, credentials,
    credentials::{NewCredential, email},
    directories,
    endings::{self, Why},
    http::{DEVICE_COOKIE, DOOR_COOKIE, RequestContext, SESSION_COOKIE, set_cookie},
    mail::templates,
    platform,
    secrets::{HandleKind, Issued},
    security_log::{self, EventKind},
    sessions::{self, Ended},
    store::{StoreError, Tx},
};

/// Tokens to return once.
#[derive(Debug)]
pub struct Completion {
    /// A new session token; `None` if the session did not change.
    pub(super) session: Option<Issued>,
    /// The cookie for it.
    pub(super) cookie: &'static str,
    pub(super) device: Option<Issued>,
    /// The connection by which the person came.
    pub(super) door: Option<Remembered>,
    /// The response to the client.
    pub(super) delivery: Option<Delivery>,
    pub(super) level: Level,
}

impl Completion {
    pub fn into_delivery(self) -> Option<Delivery> {
        self.delivery
    }
}

const SESSION_SECONDS: u32 = 30 * 86_400;
const DEVICE_SECONDS: u32 = 400 * 86_400;

/// `None` if the flow could not complete; `state.refusal` then has the reason.
pub async fn complete(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    loaded: &mut Loaded,
    gathered: &Gathered,
) -> Result<Option<Completion>, StoreError> {
    if loaded.state.account().is_none() && gathered.facts.vouched.is_some() {
        return super::vouched::complete(app, tx, context, loaded, gathered).await;
    }
    let (now, state) = (loaded.now, &mut loaded.state);
    let account = match state.account() {
        Some(account) => account,
        None => match register(app, tx, context, state, now).await? {
            Some(account) => account,
            None => return Ok(None),
        },
    };
    let (session_id, mut session) = match state.session {
        // The person only answered a request; the session does not change.
        Some(session) if state.continuation.is_some() && !state.has_new_proofs() => (session, None),
        Some(session) => (session, Some(raise(app, tx, context, state, account, session).await?)),
        None => {
            let new = sign_in(app, tx, context, state, account, gathered).await?;
            (new.id, Some(new.token))
        }
    };
    if let Some(vouched) = state.vouched.as_ref().filter(|it| it.account == account && it.session.is_none()) {
        let (place, proof) = (vouched.organization, &vouched.proof);
        // A new proof is a new token, also in a session that did not change otherwise (ASVS 7.2.4).
        if session.is_none() {
            session = Some(sealed(sessions::issue(app, session_id, account))?);
        }
        let hash = session.as_ref().map(|token| &token.hash);
        sessions::add_directory(tx, session_id, account, place, proof, hash).await?;
        directories::remember(tx, vouched, session_id).await?;
    }
    end_pointless_hold(app, tx, context, state, gathered, now).await?;
    let device = match (state.transport, &session) {
        (Transport::Browser, Some(_)) => Some(device(app, state, gathered, account)?),
        (Transport::Browser | Transport::Api, _) => None,
    };
    let (level, proofs) = (decide::level_here(state, &gathered.facts), counted(state, &gathered.facts));
    let directory_epoch = vouched(state, &gathered.facts).map(|it| it.epoch);
    let authentication = Authentication {
        account,
        session: session_id,
        proofs: &proofs,
        level,
        confined_to: None,
        directory_epoch,
        entrance: entrance(state, &gathered.facts),
        now,
    };
    let delivery = deliver(app, tx, context, state, gathered, &authentication).await?;
    let door = Remembered::of(state.vouched.as_ref(), vouched(state, &gathered.facts));
    Ok(Some(Completion { session, cookie: SESSION_COOKIE, device, door, delivery, level }))
}

/// Completes the request of the flow, if it has one.
pub(super) async fn deliver(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    state: &State,
    gathered: &Gathered,
    authentication: &Authentication<'_>,
) -> Result<Option<Delivery>, StoreError> {
    match (&state.continuation, &gathered.ready) {
        (Some(continuation), Some(ready)) => {
            let completing = Completing { authentication, continuation, locale: &state.locale };
            ready.prepared.complete(app, tx, context, completing).await.map(Some)
        }
        (Some(_), None) => Err(StoreError::Inconsistent("a completion without its request".into())),
        (None, _) => Ok(None),
    }
}

/// Creates the account with its credentials; `None` if another account took the address meanwhile.
async fn register(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    state: &mut State,
    now: OffsetDateTime,
) -> Result<Option<AccountId>, StoreError> {
    let (Some(pending), Some(address)) = (state.pending.clone(), state.proved_address.clone()) else {
        return Err(StoreError::Inconsistent("a registration without its parts".into()));
    };
    let mailbox = mailbox(app, &address)?;
    let handle = app.secrets.identifier_key("user_handle", &pending.user_handle);
    let claimed = accounts::insert_identifier(tx, &mailbox.1, IdentifierKind::Email, pending.account_id)
        .await?
        && accounts::insert_identifier(tx, &handle, IdentifierKind::UserHandle, pending.account_id).await?;
    if !claimed {
        state.refusal = Some(Refusal::AccountUnavailable);
        return Ok(None);
    }
    // An invitation creates one account, with the mailbox it was sent to.
    if state.invited.as_deref().is_some_and(|invited| invited != mailbox.1) {
        return Err(StoreError::Inconsistent("another mailbox than the invited one was proved".into()));
    }
    // The bootstrap key is spent last, so that a registration that fails does not spend it.
    if let Some(hash) = &state.bootstrap {
        let hash = URL_SAFE_NO_PAD.decode(hash).unwrap_or_default();
        if !bootstrap::spend(tx, &hash).await? {
            accounts::remove_identifier(tx, &mailbox.1, pending.account_id).await?;
            accounts::remove_identifier(tx, &handle, pending.account_id).await?;
            state.refusal = Some(Refusal::NoAccount);
            return Ok(None);
        }
    }
    write_account(app, tx, context, state, &pending, &mailbox.0, now).await?;
    state.subject = super::state::Subject::Account(pending.account_id);
    state.pending = None;
    Ok(Some(pending.account_id))
}

fn mailbox(app: &App, address: &str) -> Result<(NewCredential, [u8; 32]), StoreError> {
    let parsed = EmailAddress::parse(address)
        .map_err(|_| StoreError::Inconsistent("a proved address does not parse".into()))?;
    let key = app.secrets.identifier_key("email", parsed.canonical().as_bytes());
    Ok((email::credential(Id::random(&*app.entropy), &parsed), key))
}

async fn write_account(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    state: &mut State,
    pending: &Pending,
    mailbox: &NewCredential,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let new = NewAccount {
        id: pending.account_id,
        display_name: pending.display_name.as_deref().unwrap_or_default(),
        locale: &state.locale,
        user_handle: &pending.user_handle,
        platform_administrator: pending.platform_administrator,
    };
    accounts::insert(tx, &new).await?;
    if pending.platform_administrator {
        platform::set(tx, pending.account_id, &platform::ordinary()).await?;
    }
    let payload = json!({"platform_administrator": pending.platform_administrator});
    log(app, tx, context, pending.account_id, EventKind::AccountCreated, payload).await?;
    for credential in std::iter::once(mailbox).chain(&pending.credentials) {
        credentials::insert(tx, pending.account_id, credential).await?;
        let payload = json!({"credential_id": credential.id, "kind": credential.kind});
        log(app, tx, context, pending.account_id, EventKind::CredentialAdded, payload).await?;
    }
    state.proofs.push(porteiro_protocol::assurance::Proof {
        method: porteiro_protocol::assurance::Method::Email,
        credential: Some(mailbox.id.uuid()),
        at: now,
        user_verified: false,
    });
    Ok(())
}

async fn log(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    kind: EventKind,
    payload: Value,
) -> Result<(), StoreError> {
    security_log::record(app, tx, context, security_log::Event { kind, subject: account.uuid(), payload })
        .await
}

fn methods(state: &State) -> Vec<&'static str> {
    state.proofs.iter().map(|proof| proof.method.as_str()).collect()
}

/// Sealing a handle fails only if the crypto library does.
pub(super) fn sealed<T>(outcome: Result<T, crate::secrets::MasterKeyError>) -> Result<T, StoreError> {
    outcome.map_err(|error| StoreError::Inconsistent(error.to_string()))
}

/// The token that the browser presented is invalidated, of whichever account it was (ASVS 7.2.4, CVE-2026-7507).
pub(super) async fn end_presented(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    token: Option<&str>,
) -> Result<(), StoreError> {
    let old = token.and_then(|text| app.secrets.handles.open(HandleKind::Session, text));
    let Some(old) = old else { return Ok(()) };
    let (account, session) = (old.route.owner.into(), old.route.row.into());
    accounts::lock(tx, account).await?;
    if sessions::end_presented(tx, &old, Ended::SignedOut).await? {
        endings::sessions_ended(app, tx, context, account, &[session], Ended::SignedOut).await?;
    }
    Ok(())
}

async fn sign_in(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    state: &State,
    account: AccountId,
    gathered: &Gathered,
) -> Result<sessions::NewSession, StoreError> {
    end_presented(app, tx, context, context.session.as_deref()).await?;
    if state.kind == Kind::Recover {
        let ended = sessions::end_others(tx, account, None, Ended::Recovered).await?;
        let why = (Ended::Recovered, Why::Recovered);
        endings::everything_ended(app, tx, context, account, &ended, why).await?;
        accounts::set_hold(tx, account, None).await?;
        remove_unproved_factors(app, tx, context, state, account, &gathered.credentials).await?;
        log(app, tx, context, account, EventKind::AccountRecovered, json!({"methods": methods(state)}))
            .await?;
    }
    let session = sealed(sessions::prepare(app, account))?;
    let ended = sessions::open(tx, account, &session, &state.proofs, context).await?;
    endings::sessions_ended(app, tx, context, account, &ended, Ended::TooMany).await?;
    let new_device = !knows_device(app, context, account);
    let level = decide::level(state, app.clock.now());
    let payload = json!({"session_id": session.id, "methods": methods(state), "level": level, "new_device": new_device});
    log(app, tx, context, account, EventKind::SignInSucceeded, payload).await?;
    let signs_in = matches!(state.kind, Kind::SignIn | Kind::Purpose(_));
    if new_device && signs_in && gathered.account.is_some() {
        let what = happening(app, Some(&context.user_agent));
        tell(app, tx, account, &state.locale, |locale| templates::new_device(locale, &what)).await?;
    }
    Ok(session)
}

/// Ends a recovery hold when the person proved everything the account has: the recovery is not needed, or another
/// person requested it.
async fn end_pointless_hold(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    state: &State,
    gathered: &Gathered,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let (Some(account), Some(facts)) = (&gathered.account, &gathered.facts.account) else { return Ok(()) };
    if state.kind == Kind::Recover
        || account.recovery_hold_until.is_none()
        || !decide::may_bind(&state.proofs, &facts.bound, now)
    {
        return Ok(());
    }
    accounts::set_hold(tx, account.id, None).await?;
    log(app, tx, context, account.id, EventKind::AccountRecoveryStopped, json!({})).await
}

async fn raise(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    state: &State,
    account: AccountId,
    session: SessionId,
) -> Result<Issued, StoreError> {
    let token = sealed(sessions::issue(app, session, account))?;
    if !sessions::raise(tx, session, account, &token, &state.proofs).await? {
        // The session ended a moment ago: the step is rolled back. The next request reports it.
        return Err(StoreError::Inconsistent("the session ended while its flow completed".into()));
    }
    let payload = json!({"session_id": session, "methods": methods(state)});
    log(app, tx, context, account, EventKind::SessionRaised, payload).await?;
    Ok(token)
}

/// The answer to a repeated request within a minute: everything but the tokens.
pub fn result(loaded: &Loaded, completion: &Completion) -> Value {
    let told = match &completion.delivery {
        None => json!({"type": "session"}),
        Some(delivery) => delivery.to_json_again(),
    };
    json!({
        "id": loaded.id,
        "kind": loaded.state.kind,
        "stage": "complete",
        "step": loaded.step,
        "assurance": {"have": completion.level},
        "actions": [],
        "notices": loaded.state.notices,
        "continue": told,
    })
}

pub fn present(loaded: &Loaded, completion: &Completion, show: Value) -> Answer {
    let mut body = result(loaded, completion);
    if !show.is_null() {
        body["challenge"] = show;
    }
    if let Some(delivery) = &completion.delivery {
        body["continue"] = delivery.to_json();
    }
    let mut answer = Answer::again(body);
    match loaded.state.transport {
        Transport::Browser => {
            if let Some(session) = &completion.session {
                answer.cookies.push(set_cookie(completion.cookie, &session.text, SESSION_SECONDS));
            }
            if let Some(device) = &completion.device {
                answer.cookies.push(set_cookie(DEVICE_COOKIE, &device.text, DEVICE_SECONDS));
            }
            if let Some(door) = completion.door {
                answer.cookies.push(set_cookie(DOOR_COOKIE, &door.to_cookie(), DEVICE_SECONDS));
            }
        }
        Transport::Api => {
            // An app that requested a code receives the code with its authority, not the person's session.
            let code = match completion.delivery {
                Some(Delivery::Browser(_) | Delivery::Direct(_)) => true,
                Some(Delivery::Elsewhere(_)) | None => false,
            };
            if let Some(session) = completion.session.as_ref().filter(|_| !code) {
                answer.body["continue"]["session_token"] = json!(*session.text);
            }
        }
    }
    answer
}
