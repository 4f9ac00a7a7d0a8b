//! A flow on behalf of a client: from the request to its answer at once, or to the person who must be asked.

use std::{fmt::Write, sync::Arc};

use porteiro_protocol::{
    assurance::{Decay, auth_time},
    authorization_request::{Prompt, Refused},
    error::ErrorCode,
    id::{FlowId, Id},
    time::Duration,
};

use super::{
    FlowError, complete, decide,
    decide::{Facts, Next},
    facts, open, phrase,
    representation::Answer,
    state::{Kind, Refusal, Stage, State, Transport},
    store::Loaded,
};
use crate::{
    App, accounts,
    http::RequestContext,
    limits::{self, AUTHORIZATION_SUBJECT, Bucket},
    mail::templates::Locale,
    oauth::authorization::{Continued, Delivery, Prepared, decide::refuse, is_named},
    refusals::{self, RefusalId},
    sessions::SignedIn,
    settings::Registration,
    store::{Reader, StoreError, Turn},
};

/// What became of it.
#[derive(Debug)]
pub enum Started {
    /// Nobody had to be asked.
    Done {
        delivery: Delivery,
        cookies: Vec<String>,
    },
    /// Somebody has to be asked and may not be, or no answer of theirs would help.
    Blocked {
        refused: Refused,
    },
    Flow(Box<Answer>),
}

pub async fn start(
    app: &Arc<App>,
    context: &RequestContext,
    continued: Continued,
    prepared: &Prepared,
) -> Result<Started, FlowError> {
    let transport = if continued.challenge { Transport::Api } else { Transport::Browser };
    let signed_in = match transport {
        Transport::Browser => open::current_session(app, context).await?,
        Transport::Api => None,
    };
    // Whoever else is meant is not the one who sits there.
    let signed_in = match signed_in {
        Some(it) if is_named(&app.store, &continued, prepared, it.account_id).await? => Some(it),
        Some(_) | None => None,
    };
    let mut state = begin(app, context, continued, prepared, signed_in);
    let silent = prepared.request.prompts(Prompt::None);
    let (next, done, facts) = decided(app, context, &state).await?;
    match next {
        Next::Complete => {
            let delivery =
                done.ok_or_else(|| FlowError::Internal("a completion without its answer".into()))?;
            Ok(Started::Done { delivery, cookies: Vec::new() })
        }
        Next::Ask { stage, .. } if silent => {
            Ok(Started::Blocked { refused: asked_in_vain(in_the_way(stage)) })
        }
        Next::Ask { stage, .. } => {
            state.note_asking(stage, &facts);
            Ok(Started::Flow(Box::new(open::insert(app, context, state).await?)))
        }
        Next::Refuse(refused) => {
            let mut told = refusal(refused, &facts);
            if let Some(why) = why(refused, &facts)
                && let Some(reference) = refusals::record(app, context, why).await
            {
                told = referring(told, reference);
            }
            Ok(Started::Blocked { refused: told })
        }
        Next::Cancelled => Ok(Started::Blocked { refused: asked_in_vain(ErrorCode::AccessDenied) }),
    }
}

/// OpenID Connect Core §3.1.2.6: why it cannot be done without the person.
const fn in_the_way(stage: Stage) -> ErrorCode {
    match stage {
        Stage::Consent => ErrorCode::ConsentRequired,
        Stage::Confirm => ErrorCode::AccountSelectionRequired,
        Stage::Organization | Stage::Enrol => ErrorCode::InteractionRequired,
        Stage::Authenticate
        | Stage::Challenge
        | Stage::Raise
        | Stage::Profile
        | Stage::Device
        | Stage::Complete
        | Stage::Denied
        | Stage::Cancelled => ErrorCode::LoginRequired,
    }
}

fn asked_in_vain(code: ErrorCode) -> Refused {
    refuse(code, "the person would have to be asked")
}

/// What the client hears of a refusal. Why the person could not be them is not its business.
pub fn refusal(refusal: Refusal, facts: &Facts) -> Refused {
    let unable = "the person could not do what was asked";
    match refusal {
        Refusal::UnmetRequirements => refuse(ErrorCode::UnmetAuthenticationRequirements, unable),
        Refusal::RequestRefused => facts
            .authorization
            .as_ref()
            .and_then(|standing| standing.refused.clone())
            .unwrap_or_else(|| refuse(ErrorCode::LoginRequired, unable)),
        Refusal::NoAccount
        | Refusal::AccountUnavailable
        | Refusal::RecoveryHeld
        | Refusal::SessionEnded
        | Refusal::Denied => refuse(ErrorCode::AccessDenied, "the person did not allow it"),
    }
}

/// What is remembered of a refusal of authority.
pub fn why(refusal: Refusal, facts: &Facts) -> Option<&refusals::Refusal> {
    let standing = facts.authorization.as_ref().filter(|_| refusal == Refusal::RequestRefused)?;
    standing.why.as_deref()
}

/// The same, with the reference that explains it.
pub fn referring(mut refused: Refused, reference: RefusalId) -> Refused {
    let _ = write!(refused.description, " (reference {reference})");
    refused
}

/// What the flow begins with: whoever is signed in, unless the request wants it proved again.
fn begin(
    app: &App,
    context: &RequestContext,
    continued: Continued,
    prepared: &Prepared,
    signed_in: Option<SignedIn>,
) -> State {
    let request = &prepared.request;
    let locales = request.ui_locales.join(",");
    let locale = if locales.is_empty() { &context.accept_language } else { &locales };
    let transport = if continued.challenge { Transport::Api } else { Transport::Browser };
    let mut state =
        State::new(Kind::SignIn, transport, Locale::negotiate(locale).as_str(), phrase::draw(&*app.entropy));
    state.need.level = prepared.level;
    let signed_in = signed_in.filter(|it| continued.hinted.is_none_or(|hinted| hinted == it.account_id));
    let signed_in = signed_in.filter(|_| !request.prompts(Prompt::Create));
    if request.prompts(Prompt::Create) && app.checked.settings.registration == Registration::Open {
        state.kind = Kind::Register;
    }
    state.continuation = Some(Box::new(continued));
    if let Some(signed_in) = signed_in {
        let stale = request.prompts(Prompt::Login) || is_too_old(prepared, &signed_in);
        state.inherit(signed_in);
        // A passkey is offered to people who come, not to people who are here.
        state.offer_dismissed = true;
        if stale {
            // What was proved before does not count for what is to be proved now.
            state.proofs.clear();
            state.inherited = 0;
            state.kind = Kind::Reauthenticate;
            state.need.fresh = true;
        }
    }
    state
}

/// OpenID Connect Core §3.1.2.1, `max_age`.
fn is_too_old(prepared: &Prepared, signed_in: &SignedIn) -> bool {
    let longest = prepared.request.max_age.or(prepared.client.metadata.default_max_age);
    let when = auth_time(&signed_in.proofs, signed_in.level(), signed_in.now, &Decay::default());
    match (longest, when) {
        (None, _) => false,
        (Some(longest), Some(when)) => {
            signed_in.now - when > Duration::seconds(i64::try_from(longest).unwrap_or(i64::MAX))
        }
        (Some(_), None) => true,
    }
}

/// Decides; and where nothing is in the way, completes in the same transaction.
async fn decided(
    app: &Arc<App>,
    context: &RequestContext,
    state: &State,
) -> Result<(Next, Option<Delivery>, Facts), FlowError> {
    let Some(account) = state.account() else {
        let mut loaded = unsaved(app, &app.store, state).await?;
        let gathered = facts::gather(app, &app.store, &mut loaded).await?;
        return Ok((decide::next(&loaded.state, &gathered.facts), None, gathered.facts));
    };
    let rule = AUTHORIZATION_SUBJECT;
    let client = state.continuation.as_ref().and_then(|continued| continued.request.addressee().ok());
    let client = client.map_or("", |addressee| addressee.client_id);
    let whom = [account.uuid().as_bytes().as_slice(), client.as_bytes()].concat();
    let bucket = &Bucket { rule, key: app.secrets.limit_key(rule.name, &whom) };
    let turn = Turn::new(account.uuid(), ("authorization", state.session));
    let outcome = app
        .store
        .run_tx_in_turn(turn, "flow.silent", |tx| async move {
            accounts::lock(&tx, account).await?;
            let mut loaded = unsaved(app, &tx, state).await?;
            let gathered = facts::gather(app, &tx, &mut loaded).await?;
            let next = decide::next(&loaded.state, &gathered.facts);
            // Only what leaves a grant counts, and for this client alone: a page that asks in vain takes nothing from
            // the person's other applications.
            if matches!(next, Next::Complete)
                && let Some(limited) = limits::take_in(&tx, std::slice::from_ref(bucket)).await?
            {
                return Ok(Err(limited));
            }
            let delivery = match next {
                Next::Complete => complete::complete(app, &tx, context, &mut loaded, &gathered)
                    .await?
                    .and_then(complete::Completion::into_delivery),
                Next::Ask { .. } | Next::Refuse(_) | Next::Cancelled => None,
            };
            Ok(Ok((next, delivery, gathered.facts)))
        })
        .await?;
    outcome.map_err(|limited| {
        metrics::counter!("porteiro_limited_total", "rule" => rule.name).increment(1);
        limited.into()
    })
}

/// The flow as it would be stored, by the database's clock.
async fn unsaved(app: &App, reader: &impl Reader, state: &State) -> Result<Loaded, StoreError> {
    let now = super::store::now(reader).await?;
    let id: FlowId = Id::ordered(app.clock.now(), &*app.entropy);
    Ok(Loaded {
        id,
        step: 1,
        binding_hash: Vec::new(),
        state: state.clone(),
        expires_at: now,
        expired: false,
        finished: false,
        result: None,
        now,
    })
}
