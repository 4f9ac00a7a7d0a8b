//! One flow engine for sign-in, registration, recovery, step-up and enrolment.
//!
//! 1. A flow is opened and bound to the browser (cookie) or app (rotating token) that opened it.
//! 2. [`decide::next`] returns the stage and the actions it offers; a client only chooses among them.
//! 3. An action is limited, then handled by its module, then applied in one transaction that increments the flow's
//!    step: a stale, parallel or replayed call changes nothing.
//! 4. After every step the requirements are computed again from the database; when none is unmet the flow completes in
//!    that same transaction.
//! 5. What a flow continues to, such as an authorization, is a purpose of the register ([`purpose`]); the engine knows
//!    none of them.

pub mod actions;
mod apply;
mod authenticate;
mod change;
mod complete;
pub mod decide;
mod delivery;
mod describe;
mod directory;
mod discovery;
mod door;
mod endpoint;
mod enrolment;
mod facts;
mod limits;
mod lost;
mod mailbox;
mod notify;
mod open;
mod phrase;
mod proofs;
pub mod purpose;
mod recovery;
mod representation;
mod second_factor;
mod start;
pub mod state;
pub mod step;
pub mod store;
mod vouched;

use std::sync::Arc;

use porteiro_protocol::id::FlowId;
use serde_json::Value;

pub use apply::HOLD;
pub use delivery::Delivery;
pub use open::{Entering, OpenRequest, current_session, open, present_sessions};
pub use purpose::{
    Authentication, Choice, Completing, Continuation, Entered, Opening, Person, Prepared, Purpose, Ready,
    Source, Standing, Work,
};
pub use recovery::HOLD_GOOD_FOR;
pub use representation::Answer;
pub use state::{Kind, Stage, State};

use self::{
    actions::Action,
    state::Transport,
    step::{Step, Stopped},
    store::{Lifetime, Loaded},
};
use crate::{
    App,
    credentials::{
        self, CredentialKind,
        password::{self, Unfit},
    },
    http::{RequestContext, Route},
    mail::templates::Locale,
    secrets::{MasterKeyError, sha256},
    security_log,
    store::StoreError,
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// Why a call on a flow fails, before it becomes a problem.
#[derive(Debug)]
pub enum FlowError {
    /// Unknown, or of another browser or app: the same answer.
    NotFound,
    UnknownKind,
    BrowserNotAllowed,
    OriginRefused,
    UnknownAction,
    KindNotOpen(&'static str),
    NotSignedIn,
    StepStale(Box<Answer>),
    Expired,
    Finished,
    Refused(Box<Answer>),
    UnknownPasskey {
        credential_id: String,
    },
    Invalid {
        field: &'static str,
        detail: String,
    },
    Password(Unfit),
    SlowDown,
    /// Too often or too soon: the seconds until the next attempt.
    Early {
        seconds: u32,
    },
    Unavailable,
    Internal(String),
}

impl From<crate::limits::Limited> for FlowError {
    fn from(limited: crate::limits::Limited) -> Self {
        Self::Early { seconds: limited.seconds }
    }
}

impl From<StoreError> for FlowError {
    fn from(_: StoreError) -> Self {
        Self::Unavailable
    }
}

impl From<MasterKeyError> for FlowError {
    fn from(error: MasterKeyError) -> Self {
        Self::Internal(error.to_string())
    }
}

pub const fn lifetime(kind: &Kind, transport: Transport) -> Lifetime {
    match (kind, transport) {
        (_, Transport::Api) => Lifetime { total_seconds: 900.0, idle_seconds: 600.0 },
        (Kind::Register | Kind::Recover, Transport::Browser) => {
            Lifetime { total_seconds: 3_600.0, idle_seconds: 900.0 }
        }
        (Kind::SignIn | Kind::Reauthenticate | Kind::Enrol | Kind::Purpose(_), Transport::Browser) => {
            Lifetime { total_seconds: 1_800.0, idle_seconds: 600.0 }
        }
    }
}

pub use notify::{HOLD_REMINDERS, happening, notify, remind_of_holds, tell};
pub use start::{Beginning, Started, start};

/// The flow, if this browser or app opened it.
async fn owned(app: &App, context: &RequestContext, id: FlowId) -> Result<Loaded, FlowError> {
    let mut loaded = store::load(&app.store, id).await?.ok_or(FlowError::NotFound)?;
    // The person may have changed the language since the flow was opened.
    if let Some(locale) = &context.locale {
        Locale::negotiate(locale).as_str().clone_into(&mut loaded.state.locale);
    }
    let secret = match loaded.state.transport {
        Transport::Browser => context.bind.as_deref(),
        Transport::Api => {
            context.authorization.as_ref().filter(|(scheme, _)| scheme == "flow").map(|(_, it)| it.as_str())
        }
    };
    let owner = secret.is_some_and(|secret| {
        subtle::ConstantTimeEq::ct_eq(sha256(secret.as_bytes()).as_slice(), loaded.binding_hash.as_slice())
            .into()
    });
    if !owner {
        return Err(FlowError::NotFound);
    }
    let from_browser = context.origin.is_some() || context.has_cookies;
    match loaded.state.transport {
        Transport::Api if from_browser => Err(FlowError::BrowserNotAllowed),
        Transport::Api | Transport::Browser => Ok(loaded),
    }
}

/// The flow's representation. Changes nothing.
pub async fn show(app: &Arc<App>, context: &RequestContext, id: FlowId) -> Result<Answer, FlowError> {
    let mut loaded = owned(app, context, id).await?;
    if let Some(result) = loaded.result {
        return Ok(Answer::again(result));
    }
    if loaded.finished {
        return Err(FlowError::Finished);
    }
    if loaded.expired {
        return Err(FlowError::Expired);
    }
    let gathered = facts::gather(app, Source::Store(&app.store), &mut loaded, None).await?;
    Ok(representation::dressed(app, &loaded, &gathered, &Value::Null).await?)
}

/// One step.
pub async fn act(
    app: &Arc<App>,
    context: &RequestContext,
    id: FlowId,
    action: &str,
    input: &Value,
) -> Result<Answer, FlowError> {
    let mut loaded = owned(app, context, id).await?;
    endpoint::same_origin(app, context, loaded.state.transport)?;
    if loaded.finished {
        return Err(FlowError::Finished);
    }
    if loaded.expired {
        return Err(FlowError::Expired);
    }
    let gathered = facts::gather(app, Source::Store(&app.store), &mut loaded, None).await?;
    let current = decide::next(&loaded.state, &gathered.facts);
    // The flow ended through an event elsewhere, so it offers no action any more.
    if matches!(current, decide::Next::Refuse(_) | decide::Next::Cancelled) {
        return Err(FlowError::Finished);
    }
    if input["step"].as_i64() != Some(i64::from(loaded.step)) {
        let now = representation::dressed(app, &loaded, &gathered, &Value::Null).await?;
        return Err(FlowError::StepStale(Box::new(now)));
    }
    let action = current.find(action).ok_or(FlowError::UnknownAction)?;

    let buckets = limits::buckets(app, context, &loaded, action, input);
    if let Some(limited) = crate::limits::take(&app.store, &buckets).await? {
        note_limit(app, context, &loaded, action, &limited.bucket).await?;
        return Err(limited.into());
    }
    let step = Step {
        app,
        context,
        flow_id: loaded.id,
        state: &loaded.state,
        facts: &gathered.facts,
        account: gathered.account.as_ref(),
        credentials: &gathered.credentials,
        challenges: &gathered.challenges,
        typed: limits::typed(app, context, &loaded, action, input),
        now: loaded.now,
    };
    match actions::run(&step, action, input).await {
        Ok(effect) => {
            let answer = apply::apply(app, context, &loaded, action, effect).await?;
            match answer {
                apply::Applied::Done(answer) => {
                    // The step is applied, even if the refund fails.
                    give_back(app, &limits::refundable(&buckets)).await;
                    Ok(*answer)
                }
                apply::Applied::Lost => {
                    note_refusal(app, context, &loaded, "used meanwhile", None, action).await?;
                    Err(FlowError::Refused(Box::new(refreshed(app, context, id, gathered.ready).await?)))
                }
            }
        }
        Err(stopped) => {
            let guess = action == password::CHECK && matches!(stopped, Stopped::Refused { .. });
            if matches!(stopped, Stopped::Busy | Stopped::Early { .. }) {
                // Nothing was verified and nothing was sent.
                give_back(app, &buckets).await;
            }
            let error = stop(app, context, &loaded, action, stopped, gathered.ready).await?;
            if guess && limits::looks_like_stuffing(app, context, &loaded, input).await? {
                metrics::counter!("porteiro_stuffing_suspected_total").increment(1);
                let payload = serde_json::json!({"people": crate::limits::STUFFING_ADDRESS.burst});
                note(app, context, uuid::Uuid::nil(), security_log::EventKind::StuffingSuspected, payload)
                    .await?;
            }
            Err(error)
        }
    }
}

async fn give_back(app: &App, buckets: &[crate::limits::Bucket]) {
    if let Err(error) = crate::limits::refund(&app.store, buckets).await {
        tracing::warn!(%error, "a limit could not be refunded");
    }
}

async fn refreshed(
    app: &Arc<App>,
    context: &RequestContext,
    id: FlowId,
    kept: Option<Ready>,
) -> Result<Answer, FlowError> {
    let mut loaded = owned(app, context, id).await?;
    let gathered = facts::gather(app, Source::Store(&app.store), &mut loaded, kept).await?;
    Ok(representation::dressed(app, &loaded, &gathered, &Value::Null).await?)
}

/// Counts a refusal against the credential and records it, in transactions of their own.
async fn stop(
    app: &Arc<App>,
    context: &RequestContext,
    loaded: &Loaded,
    action: Action,
    stopped: Stopped,
    kept: Option<Ready>,
) -> Result<FlowError, FlowError> {
    Ok(match stopped {
        Stopped::Refused { method: _, credential, reason } => {
            // Without a credential the failure is counted against a nil id, so that an unknown person costs the same
            // statements.
            let nobody = (uuid::Uuid::nil().into(), uuid::Uuid::nil().into(), CredentialKind::Password);
            let (account, credential_id, kind) = credential.unwrap_or(nobody);
            let limit = kind.info().max_failures;
            if credentials::count_failure(&app.store, account, credential_id, limit).await? {
                note(
                    app,
                    context,
                    account.uuid(),
                    security_log::EventKind::CredentialExhausted,
                    serde_json::json!({"credential_id": credential_id, "kind": kind}),
                )
                .await?;
            }
            let subject = credential.map(|(account, ..)| account.uuid());
            note_refusal(app, context, loaded, reason, subject, action).await?;
            FlowError::Refused(Box::new(refreshed(app, context, loaded.id, kept).await?))
        }
        Stopped::UnknownPasskey { credential_id } => {
            note_refusal(app, context, loaded, "unknown passkey", None, action).await?;
            FlowError::UnknownPasskey { credential_id }
        }
        Stopped::Invalid { field, detail } => FlowError::Invalid { field, detail },
        Stopped::Rejected { by, reason, logged } => {
            note_refusal(app, context, loaded, logged, None, action).await?;
            directory::reject(app, context, &by, &reason).await?;
            FlowError::Refused(Box::new(refreshed(app, context, loaded.id, kept).await?))
        }
        Stopped::Password(unfit) => FlowError::Password(unfit),
        // The queue is usually free again within two seconds.
        Stopped::Busy => FlowError::Early { seconds: 2 },
        Stopped::Early { seconds } => FlowError::Early { seconds },
        Stopped::Store(_) => FlowError::Unavailable,
        Stopped::Internal(what) => FlowError::Internal(what),
    })
}

async fn note_limit(
    app: &Arc<App>,
    context: &RequestContext,
    loaded: &Loaded,
    action: Action,
    empty: &crate::limits::Bucket,
) -> Result<(), FlowError> {
    let rule = empty.rule.name;
    let subject = loaded.state.account().map_or(uuid::Uuid::nil(), porteiro_protocol::id::Id::uuid);
    metrics::counter!("porteiro_limited_total", "rule" => rule).increment(1);
    // Once per bucket in ten minutes: a flood must not fill an append-only log.
    let key = app.secrets.limit_key(crate::limits::LIMIT_LOGGED.name, &empty.key);
    let logged = crate::limits::Bucket { rule: crate::limits::LIMIT_LOGGED, key };
    if crate::limits::take(&app.store, &[logged]).await?.is_none() {
        let payload = serde_json::json!({"action": action.path(), "rule": rule});
        note(app, context, subject, security_log::EventKind::ProofLimited, payload).await?;
    }
    Ok(())
}

async fn note_refusal(
    app: &Arc<App>,
    context: &RequestContext,
    loaded: &Loaded,
    reason: &'static str,
    subject: Option<uuid::Uuid>,
    action: Action,
) -> Result<(), FlowError> {
    let subject = subject
        .or_else(|| loaded.state.account().map(porteiro_protocol::id::Id::uuid))
        .unwrap_or_else(uuid::Uuid::nil);
    let payload = serde_json::json!({"method": action.path(), "flow_id": loaded.id, "reason": reason});
    note(app, context, subject, security_log::EventKind::ProofRefused, payload).await
}

async fn note(
    app: &Arc<App>,
    context: &RequestContext,
    subject: uuid::Uuid,
    kind: security_log::EventKind,
    payload: Value,
) -> Result<(), FlowError> {
    let payload = &payload;
    app.store
        .run_tx("flow.note", |tx| async move {
            let event = security_log::Event { kind, subject, payload: payload.clone() };
            security_log::record(app, &tx, context, event).await
        })
        .await
        .map_err(Into::into)
}

/// Ends the flow and refuses its request.
pub async fn cancel(app: &Arc<App>, context: &RequestContext, id: FlowId) -> Result<Answer, FlowError> {
    let loaded = owned(app, context, id).await?;
    endpoint::same_origin(app, context, loaded.state.transport)?;
    if loaded.finished {
        return Err(FlowError::Finished);
    }
    let mut state = loaded.state.clone();
    state.cancelled = true;
    match Box::pin(apply::finish(app, context, &loaded, state)).await? {
        Some(answer) => Ok(answer),
        None => Err(FlowError::Finished),
    }
}
