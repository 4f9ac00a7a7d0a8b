//! The one transaction of a step: claims it, makes its change, evaluates the requirements again, and completes the flow
//! if all are met.

use std::sync::Arc;

use porteiro_protocol::{
    authorization_request::Refused, error::ErrorCode, id::OrganizationId, time::Duration,
};
use serde_json::{Value, json};

use super::{
    FlowError,
    actions::Action,
    change::{bind, hold},
    complete, decide,
    decide::Next,
    delivery::Delivery,
    directory,
    discovery::was_discovered,
    facts::{self, Gathered},
    lifetime,
    mailbox::prove_mailbox,
    open,
    purpose::{self, Ready, Source},
    representation::{self, Answer},
    start,
    state::{Refusal, State, Subject, Transport},
    step::Effect,
    store::{self, Loaded},
};
use crate::{
    App, accounts,
    credentials::{self, Effect as Credential, KINDS, Letter, Once, recovery_code},
    http::RequestContext,
    mail, refusals,
    secrets::sha256,
    sms,
    store::{StoreError, Turn, Tx},
};

#[derive(Debug)]
pub enum Applied {
    Done(Box<Answer>),
    /// A concurrent call used the step or the credential first.
    Lost,
}

/// The transaction's result, for the response.
struct Outcome {
    loaded: Loaded,
    gathered: Gathered,
    completion: Option<complete::Completion>,
    /// The final representation of a flow that ended without success.
    refused: Option<Value>,
    secret: Option<String>,
}

/// How long a recovery without a remaining factor waits, so that the account's owner can notice it.
pub const HOLD: Duration = Duration::hours(72);

pub async fn apply(
    app: &Arc<App>,
    context: &RequestContext,
    loaded: &Loaded,
    action: Action,
    effect: Effect,
) -> Result<Applied, FlowError> {
    let effect = &effect;
    let outcome = app
        .store
        .run_tx_in_turn(turn(loaded), "flow.step", |tx| async move {
            Box::pin(once(app, &tx, context, loaded, action, effect)).await
        })
        .await?;
    let Some(outcome) = outcome else { return Ok(Applied::Lost) };
    let show = effect.show();
    let mut answer = match (outcome.completion, outcome.refused) {
        (Some(completion), _) => complete::present(&outcome.loaded, &completion, show),
        (None, Some(refused)) => Answer::again(refused),
        (None, None) => representation::dressed(app, &outcome.loaded, &outcome.gathered, &show).await?,
    };
    if let Some(secret) = &outcome.secret {
        answer.bind(Transport::Api, secret, true);
    }
    Ok(Applied::Done(Box::new(answer)))
}

/// Steps of one account wait for each other; before the account is known, steps of one flow do.
fn turn(loaded: &Loaded) -> Turn {
    let flow = loaded.id.uuid();
    Turn::new(loaded.state.concerned().map_or(flow, porteiro_protocol::id::Id::uuid), flow)
}

async fn once(
    app: &Arc<App>,
    tx: &Tx,
    context: &RequestContext,
    loaded: &Loaded,
    action: Action,
    effect: &Effect,
) -> Result<Option<Outcome>, StoreError> {
    if !store::claim(tx, loaded.id, loaded.step).await? {
        return Ok(None);
    }
    // The action took time, and what allowed it may be gone. Changes of one account wait for each other here, and the
    // decision is made again from the present rows.
    if let Some(account) = loaded.state.concerned() {
        accounts::lock(tx, account).await?;
    }
    let mut moved = reload(tx, loaded).await?;
    let before = facts::gather(app, Source::Tx(tx), &mut moved, None).await?;
    if !decide::next(&moved.state, &before.facts).offers(action) {
        return Ok(None);
    }
    let raises_level = decide::raises_level(&moved.state, &before.facts);
    let mut state = moved.state;
    if !change(app, tx, context, loaded, &mut state, effect, raises_level, before.ready.as_ref()).await? {
        return Ok(None);
    }
    let secret = (state.transport == Transport::Api).then(|| open::new_secret(app));
    let binding =
        secret.as_ref().map_or_else(|| loaded.binding_hash.clone(), |it| sha256(it.as_bytes()).to_vec());
    // The step may have identified the account: it is locked from here on.
    if let Some(account) = state.concerned() {
        accounts::lock(tx, account).await?;
    }
    let mut moved = reload(tx, loaded).await?;
    moved.state = state;
    // A step that identifies the person waits for their account's lock only here, and the client may have changed in the
    // meantime: the request is prepared again.
    let waited = moved.state.concerned() != loaded.state.concerned();
    let ready = before.ready.filter(|_| !waited);
    let gathered = facts::gather(app, Source::Tx(tx), &mut moved, ready).await?;
    let completion = match decide::next(&moved.state, &gathered.facts) {
        Next::Complete => Box::pin(complete::complete(app, tx, context, &mut moved, &gathered)).await?,
        Next::Ask { stage, .. } => {
            moved.state.store_shown_digest(stage, &gathered.facts);
            None
        }
        Next::Refuse(_) | Next::Cancelled => None,
    };
    // A completion may turn out to be impossible, so the decision is made again.
    let refused = match (&completion, decide::next(&moved.state, &gathered.facts)) {
        (None, Next::Refuse(refusal)) => {
            let mut body = representation::present(&moved, &gathered, &Value::Null).body;
            let mut refused = start::refusal(refusal, &gathered.facts);
            if let Some(why) = start::why(refusal, &gathered.facts) {
                let reference = refusals::record_within(app, tx, context, why).await?;
                refused = start::referring(refused, reference);
                body["reference"] = json!(reference);
            }
            if let Some(delivery) =
                refuse(app, tx, context, &moved.state, &gathered, refusal, refused).await?
            {
                body["continue"] = delivery.to_json();
            }
            Some(body)
        }
        (_, _) => None,
    };
    let result = completion
        .as_ref()
        .map(|completion| complete::result(&moved, completion))
        .or_else(|| refused.clone());
    let idle = lifetime(&moved.state.kind, moved.state.transport).idle_seconds;
    store::save(tx, loaded.id, &binding, &moved.state, idle, result.as_ref()).await?;
    Ok(Some(Outcome { loaded: moved, gathered, completion, refused, secret }))
}

/// The flow ended without success: withdraws its request, and reports it to the client where the purpose does so.
async fn refuse(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    state: &State,
    gathered: &Gathered,
    refusal: Refusal,
    refused: Refused,
) -> Result<Option<Delivery>, StoreError> {
    let Some(ready) = &gathered.ready else { return Ok(None) };
    if let Some(account) = state.account() {
        ready.prepared.withdraw(app, tx, context, account).await?;
    }
    ready.prepared.tell(app, refusal, refused).await
}

async fn reload(tx: &Tx, loaded: &Loaded) -> Result<Loaded, StoreError> {
    let reloaded = store::load(tx, loaded.id).await?;
    let mut reloaded = reloaded.ok_or_else(|| StoreError::Inconsistent("a flow left".into()))?;
    reloaded.state.locale.clone_from(&loaded.state.locale);
    Ok(reloaded)
}

/// Makes the change of an effect. `false` if a single-use credential or challenge was already used.
#[expect(clippy::too_many_arguments, reason = "one effect, and everything it may change")]
async fn change(
    app: &Arc<App>,
    tx: &Tx,
    context: &RequestContext,
    loaded: &Loaded,
    state: &mut State,
    effect: &Effect,
    raises_level: bool,
    ready: Option<&Ready>,
) -> Result<bool, StoreError> {
    match effect {
        Effect::Credential(effect) => {
            change_credential(app, tx, context, loaded, state, effect, raises_level).await
        }
        Effect::Profile { display_name } => {
            if let Some(pending) = &mut state.pending {
                pending.display_name = Some(display_name.clone());
            }
            Ok(true)
        }
        Effect::Skip => {
            state.offer_dismissed = true;
            Ok(true)
        }
        Effect::Back => {
            for sent in KINDS.iter().filter_map(|info| info.sent.as_ref()) {
                credentials::drop_challenges(tx, loaded.id, sent.module).await?;
            }
            if was_discovered(state)
                && let Some(continued) = &mut state.continuation
            {
                continued.organization = None;
            }
            Ok(true)
        }
        Effect::Hold => hold(app, tx, context, loaded, state).await,
        Effect::Confirm => {
            if let Some(continued) = &mut state.continuation {
                continued.confirmed = true;
            }
            Ok(true)
        }
        Effect::Switch => {
            if let (Some(ready), Some(account)) = (ready, state.account()) {
                ready.prepared.release(tx, account).await?;
            }
            state.forget_session();
            Ok(true)
        }
        Effect::Choose { organization } => Ok(choose(state, *organization)),
        Effect::Lead { organization, challenge } => {
            let is_first = credentials::consume_challenge(tx, loaded.id, *challenge).await?;
            Ok(is_first && choose(state, *organization))
        }
        Effect::Found { continuation, level, code } => {
            let (Some(purpose), Some(account)) = (purpose::purpose_of(app, state), state.account()) else {
                return Ok(false);
            };
            if !purpose.claim(tx, continuation, account).await? {
                return Ok(false);
            }
            state.brought = Some(code.clone());
            state.need.level = state.need.level.max(*level);
            state.continuation = Some(continuation.clone());
            Ok(true)
        }
        Effect::Directory(effect) => directory::change(app, tx, context, loaded, state, effect).await,
        Effect::Allow => {
            if let Some(continued) = &mut state.continuation {
                continued.consented.clone_from(&continued.shown);
            }
            Ok(true)
        }
        Effect::Deny => {
            state.refusal = Some(Refusal::Denied);
            Ok(true)
        }
    }
}

/// `false` if the flow has no request.
fn choose(state: &mut State, organization: OrganizationId) -> bool {
    let Some(continued) = &mut state.continuation else { return false };
    continued.organization = Some(organization);
    true
}

/// The same for an effect of a credential.
async fn change_credential(
    app: &Arc<App>,
    tx: &Tx,
    context: &RequestContext,
    loaded: &Loaded,
    state: &mut State,
    effect: &Credential,
    raises_level: bool,
) -> Result<bool, StoreError> {
    match effect {
        Credential::Prove { account, proof, once, stored } => {
            for guard in once {
                if !use_once(tx, loaded, *account, guard).await? {
                    return Ok(false);
                }
            }
            if let Some((credential, body)) = stored {
                credentials::replace_body(tx, *account, *credential, body).await?;
            }
            Ok(decide::prove(state, *account, proof.clone()))
        }
        Credential::ProveMailbox { address, challenge } => {
            if !credentials::consume_challenge(tx, loaded.id, *challenge).await? {
                return Ok(false);
            }
            prove_mailbox(app, tx, state, address, loaded).await
        }
        Credential::Challenge { new, letter, typed, .. } => {
            credentials::replace_challenge(tx, loaded.id, new).await?;
            if let Some(typed) = typed {
                state.typed = Some(typed.clone());
                if state.subject == Subject::None {
                    state.subject = Subject::Shadow;
                }
            }
            match letter {
                Some(Letter::Mail(letter)) => mail::enqueue(app, tx, letter).await?,
                Some(Letter::Sms(letter)) => sms::enqueue(app, tx, letter).await?,
                None => return Ok(true),
            }
            state.sends = state.sends.saturating_add(1);
            Ok(true)
        }
        Credential::Bind { new, identifier, challenge, recovery_codes, .. } => {
            if let Some(challenge) = challenge
                && !credentials::consume_challenge(tx, loaded.id, *challenge).await?
            {
                return Ok(false);
            }
            let identifier = identifier.as_ref();
            bind(app, tx, context, loaded, state, new, identifier, recovery_codes, raises_level).await
        }
    }
}

async fn use_once(
    tx: &Tx,
    loaded: &Loaded,
    account: porteiro_protocol::id::AccountId,
    guard: &Once,
) -> Result<bool, StoreError> {
    match guard {
        Once::Challenge(challenge) => credentials::consume_challenge(tx, loaded.id, *challenge).await,
        Once::Counter { credential, counter } => {
            credentials::advance_counter(tx, account, *credential, *counter).await
        }
        Once::RecoveryCode { credential, selector } => Ok(recovery_code::spend(tx, account, selector)
            .await?
            && credentials::used(tx, account, *credential).await?),
        Once::Repeatable(credential) => credentials::used(tx, account, *credential).await,
    }
}

/// Writes a state that no action leads to, such as a cancellation.
pub async fn finish(
    app: &Arc<App>,
    context: &RequestContext,
    loaded: &Loaded,
    state: State,
) -> Result<Option<Answer>, FlowError> {
    let state = &state;
    let ready = purpose::prepare(app, Source::Store(&app.store), state, None).await?;
    let good = ready.as_ref().filter(|ready| ready.prepared.is_good());
    let told = match good {
        Some(ready) => {
            let description = "the person did not continue".to_owned();
            let refused = Refused { code: ErrorCode::AccessDenied, description };
            ready.prepared.tell(app, Refusal::Denied, refused).await?
        }
        None => None,
    };
    let told = told.map_or_else(|| json!({"type": "none"}), |delivery| delivery.to_json());
    let (told, ready) = (&told, &ready);
    let moved = app
        .store
        .run_tx_in_turn(turn(loaded), "flow.finish", |tx| async move {
            if !store::claim(&tx, loaded.id, loaded.step).await? {
                return Ok(None);
            }
            if let (Some(ready), Some(account)) = (ready, state.account()) {
                ready.prepared.withdraw(app, &tx, context, account).await?;
            }
            let result = json!({"id": loaded.id, "kind": state.kind, "stage": "cancelled", "continue": told});
            store::save(&tx, loaded.id, &loaded.binding_hash, state, 60.0, Some(&result)).await?;
            Ok(Some(result))
        })
        .await?;
    Ok(moved.map(Answer::again))
}
