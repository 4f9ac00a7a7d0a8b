//! The person decides.

use porteiro_protocol::{
    assurance::{Decay, Level, amr, auth_time},
    time::OffsetDateTime,
};
use serde_json::{Value, json};

use super::{
    Approval, BlockReason, State,
    asking::is_irreversible,
    decide, ping,
    store::{self, NewDecision},
};
use crate::{
    App, accounts,
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    directories::VouchedBy,
    http::RequestContext,
    oauth::{apis::Apis, grants::Terms},
    organizations::Entrance,
    security_log::{self, EventKind},
    sessions::SignedIn,
    store::{StoreError, Turn, Tx},
};

/// What approving this requires: what it did when the client asked, or more if the API has said since that it cannot be
/// undone.
pub fn required(approval: &Approval, apis: &Apis) -> (Level, bool) {
    let irreversible = approval.irreversible || is_irreversible(apis, &approval.frozen.authority());
    (decide::required_level(irreversible, Some(approval.level)), irreversible)
}

/// Whether the person has proved enough, recently enough, to approve this.
pub fn may_approve(approval: &Approval, apis: &Apis, me: &SignedIn) -> bool {
    let (level, irreversible) = required(approval, apis);
    decide::may_approve(level, irreversible, me.level(), &me.proofs, me.now)
}

/// How the person entered, in an organization that requires its connection, and which identity at its directory vouched.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrival {
    pub entrance: Entrance,
    pub vouched_by: Option<VouchedBy>,
}

/// Approves, if the number is the one that the client shows; a wrong one denies. Returns the new state; `None` where the
/// request no longer waits. The caller has checked [`may_approve`].
pub async fn approve(
    app: &App,
    context: &RequestContext,
    me: &SignedIn,
    approval: &Approval,
    arrival: Arrival,
    number: i16,
) -> Result<Option<State>, StoreError> {
    decided(app, context, me, approval, arrival, Some(number)).await
}

/// Denies what waits, or takes back what was approved and not used.
pub async fn deny(
    app: &App,
    context: &RequestContext,
    me: &SignedIn,
    approval: &Approval,
) -> Result<Option<State>, StoreError> {
    decided(app, context, me, approval, Arrival::default(), None).await
}

async fn decided(
    app: &App,
    context: &RequestContext,
    me: &SignedIn,
    approval: &Approval,
    arrival: Arrival,
    picked: Option<i16>,
) -> Result<Option<State>, StoreError> {
    let terms = serde_json::to_value(terms(approval, me, arrival));
    let terms = &terms.map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    app.store
        .run_tx_in_turn(turn(me), "approvals.decide", |tx| async move {
            accounts::lock(&tx, me.account_id).await?;
            let decision = NewDecision { picked, session: me.session_id, terms };
            let decided = store::decide(&tx, me.account_id, approval.id, &decision).await?;
            let Some(state) = decided else { return Ok(None) };
            record(app, &tx, context, approval, state).await?;
            if state == State::Denied {
                let until = store::block_after_denials(&tx, me.account_id, &approval.client_id).await?;
                if let Some(until) = until {
                    record_block(app, &tx, context, approval, BlockReason::Denials, until).await?;
                }
            }
            ping::enqueue(app, &tx, me.account_id).await?;
            Ok(Some(state))
        })
        .await
}

/// "I did not ask for this": the client may not ask this person for a while, and what it fetched already ends. `false`
/// where it was decided otherwise.
pub async fn report(
    app: &App,
    context: &RequestContext,
    me: &SignedIn,
    approval: &Approval,
) -> Result<bool, StoreError> {
    app.store
        .run_tx_in_turn(turn(me), "approvals.report", |tx| async move {
            accounts::lock(&tx, me.account_id).await?;
            if store::report(&tx, me.account_id, approval.id).await? {
                record(app, &tx, context, approval, State::Blocked).await?;
            } else if !store::revoke_used(&tx, me.account_id, approval.id).await? {
                return Ok(false);
            }
            let (client, reason) = (&approval.client_id, BlockReason::Report);
            let until = store::block_client(&tx, me.account_id, client, reason).await?;
            record_block(app, &tx, context, approval, reason, until).await?;
            ping::enqueue(app, &tx, me.account_id).await?;
            Ok(true)
        })
        .await
}

/// Changes of one account wait for each other; each session has its own queue.
fn turn(me: &SignedIn) -> Turn {
    Turn::new(me.account_id.uuid(), ("approval", me.session_id))
}

/// How the person had proved who they are: the token says the same.
fn terms(approval: &Approval, me: &SignedIn, arrival: Arrival) -> Terms {
    let (identity, directory_epoch) = arrival.vouched_by.unzip();
    let level = me.level();
    let when = auth_time(&me.proofs, level, me.now, &Decay::default());
    Terms {
        level,
        auth_time: when.unwrap_or(me.now).unix_timestamp(),
        // `mfa` means AAL2.
        amr: amr(&me.proofs)
            .into_iter()
            .filter(|value| *value != "mfa" || level == Level::Aal2)
            .map(str::to_owned)
            .collect(),
        nonce: None,
        credentials: me.proofs.iter().filter_map(|proof| proof.credential).chain(identity).collect(),
        details: approval.frozen.details.clone(),
        actor: None,
        until: None,
        device: false,
        approval: Some(approval.id.uuid()),
        confined: false,
        directory_epoch,
        entrance: arrival.entrance,
    }
}

fn actor(approval: &Approval) -> Actor {
    let id = match approval.membership {
        Some(membership) => membership.to_string(),
        None => approval.account.to_string(),
    };
    Actor { kind: ActorKind::Member, id, act: None }
}

async fn record(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    approval: &Approval,
    state: State,
) -> Result<(), StoreError> {
    let payload = json!({"approval_id": approval.id, "client_id": approval.client_id, "state": state});
    log(app, tx, context, approval, (EventKind::ApprovalDecided, TrailKind::ApprovalDecided), payload).await
}

async fn record_block(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    approval: &Approval,
    reason: BlockReason,
    until: OffsetDateTime,
) -> Result<(), StoreError> {
    let until = until.unix_timestamp();
    let payload = json!({"client_id": approval.client_id, "reason": reason, "until": until});
    let kinds = (EventKind::ApprovalClientBlocked, TrailKind::ApprovalClientBlocked);
    log(app, tx, context, approval, kinds, payload).await
}

async fn log(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    approval: &Approval,
    (event, entry): (EventKind, TrailKind),
    payload: Value,
) -> Result<(), StoreError> {
    let subject = approval.account.uuid();
    let written = security_log::Event { kind: event, subject, payload: payload.clone() };
    security_log::record(app, tx, context, written).await?;
    let Some(organization) = approval.organization else { return Ok(()) };
    let target = Target::new("approval", approval.id);
    let entry = audit_trail::Event::done(entry, actor(approval), target).changing(Value::Null, payload);
    audit_trail::record(app, tx, context, organization, &entry).await
}
