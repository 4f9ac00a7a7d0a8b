//! A flow on behalf of a client: answers the request at once, or opens a flow for the person.

use std::{fmt::Write, sync::Arc};

use porteiro_protocol::{
    assurance::Level,
    authorization_request::Refused,
    error::ErrorCode,
    id::{FlowId, Id},
};

use super::{
    FlowError, complete, decide,
    decide::{Facts, Next},
    delivery::Delivery,
    discovery::Remembered,
    facts, open, phrase,
    purpose::{Continuation, Ready, Source},
    representation::Answer,
    state::{Kind, Refusal, Stage, State, Transport},
    store::Loaded,
};
use crate::{
    App, accounts,
    directories::Vouched,
    http::RequestContext,
    limits::{self, AUTHORIZATION_SUBJECT, Bucket},
    mail::templates::Locale,
    refusals::{self, RefusalId},
    sessions::SignedIn,
    settings::Registration,
    store::{Reader, StoreError, Turn},
};

/// The result of starting a flow.
#[derive(Debug)]
pub enum Started {
    /// No interaction was required.
    Done {
        delivery: Delivery,
        cookies: Vec<String>,
    },
    /// Interaction is required but not allowed, or could not help.
    Blocked {
        refused: Refused,
    },
    Flow(Box<Answer>),
}

/// How a request wants its flow to start.
#[derive(Debug)]
pub struct Beginning {
    pub transport: Transport,
    /// The languages for the person, best first; empty: those of the browser.
    pub locales: String,
    pub level: Level,
    /// Start with registration, if it is allowed.
    pub registers: bool,
    /// The session's proofs do not count.
    pub proves_again: bool,
    /// No interaction is allowed (`prompt=none`).
    pub silent: bool,
    /// The client whose grants without interaction are counted.
    pub client_id: String,
    pub signed_in: Option<SignedIn>,
    /// What a directory of the request's organization vouches for in the session, if nobody is signed in.
    pub vouched: Option<Vouched>,
}

pub async fn start(
    app: &Arc<App>,
    context: &RequestContext,
    continuation: Continuation,
    ready: Ready,
    beginning: Beginning,
) -> Result<Started, FlowError> {
    let (silent, client_id) = (beginning.silent, beginning.client_id.clone());
    let mut state = begin(app, context, continuation, beginning);
    let decided = Box::pin(decided(app, context, &state, &client_id, ready)).await?;
    match decided.next {
        Next::Complete => {
            let delivery = decided.delivery;
            let delivery =
                delivery.ok_or_else(|| FlowError::Internal("a completion without its answer".into()))?;
            Ok(Started::Done { delivery, cookies: Vec::new() })
        }
        Next::Ask { stage, .. } if silent => {
            Ok(Started::Blocked { refused: interaction_required(interaction_error(stage)) })
        }
        Next::Ask { stage, .. } => {
            state.store_shown_digest(stage, &decided.facts);
            Ok(Started::Flow(Box::new(open::insert(app, context, state, decided.ready).await?)))
        }
        Next::Refuse(refused) => {
            let mut told = refusal(refused, &decided.facts);
            if let Some(why) = why(refused, &decided.facts)
                && let Some(reference) = refusals::record(app, context, why).await
            {
                told = referring(told, reference);
            }
            Ok(Started::Blocked { refused: told })
        }
        Next::Cancelled => Ok(Started::Blocked { refused: interaction_required(ErrorCode::AccessDenied) }),
    }
}

/// OpenID Connect Core §3.1.2.6: the error when interaction is required.
const fn interaction_error(stage: Stage) -> ErrorCode {
    match stage {
        Stage::Consent => ErrorCode::ConsentRequired,
        Stage::Confirm => ErrorCode::AccountSelectionRequired,
        Stage::Organization | Stage::Enrol | Stage::Claim => ErrorCode::InteractionRequired,
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

fn refuse(code: ErrorCode, description: &str) -> Refused {
    Refused { code, description: description.to_owned() }
}

fn interaction_required(code: ErrorCode) -> Refused {
    refuse(code, "user interaction is required")
}

/// The error that the client receives. It does not learn why the person could not authenticate.
pub fn refusal(refusal: Refusal, facts: &Facts) -> Refused {
    let unable = "the person could not meet the request's requirements";
    match refusal {
        Refusal::UnmetRequirements => refuse(ErrorCode::UnmetAuthenticationRequirements, unable),
        Refusal::RequestRefused => facts
            .standing
            .as_ref()
            .and_then(|standing| standing.refused.clone())
            .unwrap_or_else(|| refuse(ErrorCode::LoginRequired, unable)),
        Refusal::NoAccount
        | Refusal::AccountUnavailable
        | Refusal::RecoveryHeld
        | Refusal::SessionEnded
        | Refusal::Denied => refuse(ErrorCode::AccessDenied, "access was denied"),
    }
}

/// The record of a refusal of authority.
pub fn why(refusal: Refusal, facts: &Facts) -> Option<&refusals::Refusal> {
    let standing = facts.standing.as_ref().filter(|_| refusal == Refusal::RequestRefused)?;
    standing.why.as_deref()
}

/// Adds the reference of the record.
pub fn referring(mut refused: Refused, reference: RefusalId) -> Refused {
    let _ = write!(refused.description, " (reference {reference})");
    refused
}

/// The initial state: with the account of the session, unless the request requires a new proof.
fn begin(app: &App, context: &RequestContext, continuation: Continuation, beginning: Beginning) -> State {
    let locales = &beginning.locales;
    let locale = if locales.is_empty() { &context.accept_language } else { locales };
    let locale = Locale::negotiate(locale).as_str();
    let mut state = State::new(Kind::SignIn, beginning.transport, locale, phrase::draw(&*app.entropy));
    state.need.level = beginning.level;
    state.remembered = match beginning.transport {
        Transport::Browser => context.door.as_deref().and_then(Remembered::parse),
        Transport::Api => None,
    };
    if beginning.registers && app.checked.settings.registration == Registration::Open {
        state.kind = Kind::Register;
    }
    state.continuation = Some(Box::new(continuation));
    if let Some(signed_in) = beginning.signed_in {
        state.inherit(signed_in);
        // A passkey is offered at sign-in, not to a person who is already signed in.
        state.offer_dismissed = true;
        if beginning.proves_again {
            // Earlier proofs do not meet the new requirement.
            state.proofs.clear();
            state.inherited = 0;
            state.kind = Kind::Reauthenticate;
            state.need.fresh = true;
        }
    } else {
        state.vouched = beginning.vouched;
    }
    state
}

/// The decision, and the response if all requirements are met.
struct Decided {
    next: Next,
    delivery: Option<Delivery>,
    facts: Facts,
    /// The request as it was decided: the person decides about exactly what is shown.
    ready: Option<Ready>,
}

/// Decides and, if all requirements are met, completes in the same transaction.
async fn decided(
    app: &Arc<App>,
    context: &RequestContext,
    state: &State,
    client_id: &str,
    ready: Ready,
) -> Result<Decided, FlowError> {
    let Some(account) = state.concerned() else {
        let source = Source::Store(&app.store);
        let mut loaded = unsaved(app, &source, state).await?;
        let gathered = facts::gather(app, source, &mut loaded, Some(ready)).await?;
        let next = decide::next(&loaded.state, &gathered.facts);
        return Ok(Decided { next, delivery: None, facts: gathered.facts, ready: gathered.ready });
    };
    let rule = AUTHORIZATION_SUBJECT;
    // A directory takes nothing from what the account may ask for elsewhere.
    let confined = state.vouched.as_ref().filter(|_| state.account().is_none());
    let confined = confined.map_or([0; 16], |vouched| vouched.organization.uuid().into_bytes());
    let whom = [account.uuid().as_bytes().as_slice(), client_id.as_bytes(), &confined].concat();
    let bucket = &Bucket { rule, key: app.secrets.limit_key(rule.name, &whom) };
    let vouched = state.vouched.as_ref().and_then(|vouched| vouched.session.as_ref());
    let session = state.session.or_else(|| vouched.map(|(session, _)| *session));
    let turn = Turn::new(account.uuid(), ("authorization", session));
    let outcome = app
        .store
        .run_tx_in_turn(turn, "flow.silent", |tx| {
            Box::pin(async move {
                accounts::lock(&tx, account).await?;
                let mut loaded = unsaved(app, &tx, state).await?;
                let gathered = facts::gather(app, Source::Tx(&tx), &mut loaded, None).await?;
                let next = decide::next(&loaded.state, &gathered.facts);
                // Only a new grant is counted, and for this client alone: a page that only tries takes nothing from the
                // person's other clients.
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
                Ok(Ok(Decided { next, delivery, facts: gathered.facts, ready: gathered.ready }))
            })
        })
        .await?;
    match outcome {
        Ok(decided) => Ok(decided),
        Err(limited) => {
            metrics::counter!("porteiro_limited_total", "rule" => rule.name).increment(1);
            Err(limited.into())
        }
    }
}

/// The flow as it would be stored, with the database's time.
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
        connections: Vec::new(),
        now,
    })
}
