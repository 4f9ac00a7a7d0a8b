//! A member for whom only a directory vouches: what the flow asks of them, and what it completes with. Nothing here knows
//! their account but by its id (docs/decisions/0097, docs/decisions/0120).

use porteiro_protocol::{
    assurance::{Level, Proof},
    id::{AccountId, ConnectionId, Id, OrganizationId, SessionId},
};
use serde_json::{Value, json};

use super::{
    actions,
    authenticate::authenticate,
    complete::{Completion, deliver, end_presented},
    decide::{AccountFacts, Facts, Next, Policy, binding_actions, may_bind, raise_or_refuse},
    discovery::Remembered,
    door::{entrance, lacks_connection},
    facts::Gathered,
    proofs::{is_too_old, level_here, needed_level},
    purpose::{Authentication, Source},
    state::{Stage, State},
    store::Loaded,
};
use crate::{
    App,
    directories::{self, Admission, Claim},
    endings,
    http::{DIRECTORY_COOKIE, RequestContext, SESSION_COOKIE},
    secrets::{HandleKind, Issued, Presented},
    security_log::{self, EventKind},
    sessions::{self, Ended},
    settings::Registration,
    store::{StoreError, Tx},
};

/// A member for whom a directory of the request's organization vouches, as far as the flow knows them.
#[derive(Debug, Clone)]
pub struct Vouched {
    pub account: AccountId,
    /// The proof, in the organization of the request.
    pub proof: Proof,
    /// The epoch of the directory's connection.
    pub epoch: i64,
    pub connection: ConnectionId,
    /// How the organization calls the member. Nothing else is known of them here.
    pub display_name: String,
}

/// Reads whether the directory's word still counts for this request; if not, the flow forgets it.
pub(super) async fn facts(
    source: Source<'_>,
    state: &mut State,
    place: Option<OrganizationId>,
) -> Result<Option<Vouched>, StoreError> {
    let Some(vouched) = state.vouched.take() else { return Ok(None) };
    // Who registers an account in this flow is somebody else.
    if state.account().is_none() && state.proved_address.is_some() {
        return Ok(None);
    }
    let Some(proof) = place.and_then(|place| vouched.proof.within(place)).cloned() else { return Ok(None) };
    if let Some((session, token)) = &vouched.session
        && !sessions::is_alive(&source, *session, vouched.account, token).await?
    {
        return Ok(None);
    }
    let epoch = vouched.proof.epoch();
    let identity = directories::standing(&source, vouched.organization, vouched.identity, epoch).await?;
    let identity = identity.filter(|identity| identity.account == vouched.account);
    let facts = identity.map(|identity| Vouched {
        account: vouched.account,
        proof,
        epoch,
        connection: identity.connection,
        display_name: identity.display_name,
    });
    state.vouched = facts.is_some().then_some(vouched);
    Ok(facts)
}

/// What is shown of the member: what the organization knows, nothing of the account.
pub(super) fn shown(vouched: &Vouched) -> Value {
    json!({"display_name": vouched.display_name, "masked_address": null, "locale": null})
}

/// No account is proved. A directory may vouch for a member, or for somebody whom the organization does not know.
pub(super) fn nobody(state: &State, facts: &Facts) -> Next {
    match (&state.claim, &facts.vouched) {
        (Some(claim), _) if !claim.has_account => {
            let mut actions = vec![actions::CLAIM_EXISTING];
            // A directory's word is never more than AAL1, and the account would have nothing else.
            let suffices = needed_level(state, facts) <= Level::Aal1 && !claim.needs_credentials;
            if suffices && may_be_new(claim, facts.policy) {
                actions.insert(0, actions::CLAIM_NEW);
            }
            Next::Ask { stage: Stage::Claim, actions }
        }
        (None, Some(_)) => next(state, facts).unwrap_or_else(|| authenticate(state, facts)),
        (Some(_), _) | (None, None) => authenticate(state, facts),
    }
}

/// Whether an account is made for the person: the organization admits them, which is as good as an invitation.
const fn may_be_new(claim: &Claim, policy: Policy) -> bool {
    let is_admitted = match claim.admission {
        Admission::Joins | Admission::Claims(_) => true,
        Admission::Member => false,
    };
    let is_open = match policy.registration {
        Registration::Open | Registration::Invited => true,
        Registration::Closed => false,
    };
    is_admitted && is_open
}

/// Links an identity as a credential is bound: after a recent proof, at the best level the account can reach.
pub(super) fn attach(state: &State, account: &AccountFacts, facts: &Facts) -> Next {
    if !may_bind(&state.proofs, &account.bound, facts.now) {
        return raise_or_refuse(facts, binding_actions(state, account, facts));
    }
    let mut actions = vec![actions::CLAIM_ATTACH];
    if state.session.is_some() {
        actions.push(actions::ACCOUNT_SWITCH);
    }
    actions.sort();
    Next::Ask { stage: Stage::Claim, actions }
}

/// Consent, or nothing; `None` if the request requires more than a directory's word. Whether the account has a second
/// factor is not asked: what the organization requires of its members is its own decision.
fn next(state: &State, facts: &Facts) -> Option<Next> {
    let standing = facts.standing.as_ref()?;
    let is_low = level_here(state, facts) < needed_level(state, facts) || is_too_old(state, facts);
    if is_low || lacks_connection(state, facts) {
        return None;
    }
    if !standing.needs_consent {
        return Some(Next::Complete);
    }
    let mut actions = vec![actions::CONSENT_ALLOW, actions::CONSENT_DENY];
    if state.vouched.as_ref().is_some_and(|vouched| vouched.session.is_some()) {
        actions.push(actions::ACCOUNT_SWITCH);
    }
    actions.sort();
    Some(Next::Ask { stage: Stage::Consent, actions })
}

/// Completes the flow: the session that results is worth something in the organization alone.
pub(super) async fn complete(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    loaded: &mut Loaded,
    gathered: &Gathered,
) -> Result<Option<Completion>, StoreError> {
    let (Some(vouched), Some(facts)) = (&loaded.state.vouched, &gathered.facts.vouched) else {
        return Err(StoreError::Inconsistent("a completion for nobody".into()));
    };
    let opened = if let Some((session, _)) = &vouched.session {
        Opened { session: *session, token: None, cookie: DIRECTORY_COOKIE }
    } else {
        let opened = open(app, tx, context, vouched).await?;
        directories::remember(tx, vouched, opened.session).await?;
        opened
    };
    let level = level_here(&loaded.state, &gathered.facts);
    let authentication = Authentication {
        account: facts.account,
        session: opened.session,
        proofs: std::slice::from_ref(&facts.proof),
        level,
        confined_to: Some(vouched.organization),
        directory_epoch: Some(facts.epoch),
        entrance: entrance(&loaded.state, &gathered.facts),
        now: loaded.now,
    };
    let delivery = deliver(app, tx, context, &loaded.state, gathered, &authentication).await?;
    let Opened { token, cookie, .. } = opened;
    let door = Remembered::of(Some(vouched), Some(facts));
    Ok(Some(Completion { session: token, cookie, device: None, door, delivery, level }))
}

/// The session in which the member is from now on.
struct Opened {
    session: SessionId,
    /// None if it did not change.
    token: Option<Issued>,
    cookie: &'static str,
}

/// Adds the proof to a session of the same account that the browser has, or opens a new one. That has a cookie of its
/// own: the person who is signed in to an account in this browser stays so. The browser does not become a known device,
/// and the owner of the account gets no mail, because nobody signed in to the account.
async fn open(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    vouched: &directories::Vouched,
) -> Result<Opened, StoreError> {
    let account = vouched.account;
    let apart = context.directory.as_deref();
    for (cookie, text) in [(SESSION_COOKIE, context.session.as_deref()), (DIRECTORY_COOKIE, apart)] {
        let old = text.and_then(|text| app.secrets.handles.open(HandleKind::Session, text));
        let Some(old) = old.filter(|old| old.route.owner == account.uuid()) else { continue };
        if let Some((session, token)) = join(app, tx, context, vouched, &old).await? {
            if cookie == SESSION_COOKIE {
                // Otherwise the next request would be answered by it.
                end_presented(app, tx, context, apart).await?;
            }
            return Ok(Opened { session, token: Some(token), cookie });
        }
    }
    end_presented(app, tx, context, apart).await?;
    let id = Id::ordered(app.clock.now(), &*app.entropy);
    let session = sessions::NewSession { id, token: issue(app, id, account)? };
    let ended =
        sessions::open_confined(tx, account, vouched.organization, &session, &vouched.proof, context).await?;
    endings::sessions_ended(app, tx, context, account, &ended, Ended::TooMany).await?;
    note(app, tx, context, vouched, EventKind::SignInSucceeded, id).await?;
    Ok(Opened { session: id, token: Some(session.token), cookie: DIRECTORY_COOKIE })
}

/// `None` if the session has ended.
async fn join(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    vouched: &directories::Vouched,
    old: &Presented,
) -> Result<Option<(SessionId, Issued)>, StoreError> {
    let (session, account) = (old.route.row.into(), vouched.account);
    if !sessions::is_alive(tx, session, account, &old.hash).await? {
        return Ok(None);
    }
    let token = issue(app, session, account)?;
    let (place, proof) = (vouched.organization, &vouched.proof);
    if !sessions::add_directory(tx, session, account, place, proof, Some(&token.hash)).await? {
        return Ok(None);
    }
    note(app, tx, context, vouched, EventKind::SessionRaised, session).await?;
    Ok(Some((session, token)))
}

fn issue(app: &App, session: SessionId, account: AccountId) -> Result<Issued, StoreError> {
    sessions::issue(app, session, account).map_err(|error| StoreError::Inconsistent(error.to_string()))
}

async fn note(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    vouched: &directories::Vouched,
    kind: EventKind,
    session: SessionId,
) -> Result<(), StoreError> {
    let payload =
        json!({"session_id": session, "methods": ["federated"], "organization_id": vouched.organization});
    let event = security_log::Event { kind, subject: vouched.account.uuid(), payload };
    security_log::record(app, tx, context, event).await
}
