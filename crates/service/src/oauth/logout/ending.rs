//! Ends any number of grants together (decision record 0067).
//!
//! 1. One row ends them, from the commit on and for every node.
//! 2. The first batch is revoked in the same transaction. Few people have more grants than that.
//! 3. A job does the rest. Each client is notified of each session once, and the log has an entry per client and
//!    batch.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use porteiro_protocol::id::{AccountId, Id, JobId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    super::grants::{self, Begun, Ending, EndingId, Owner, Revoked, Why},
    backchannel,
};
use crate::{
    App,
    audit_trail::{self, Target, TrailKind},
    endings::{Cause, Dependent, Gone, Membership},
    http::RequestContext,
    jobs::{self, JobError, JobKind},
    security_log::{self, EventKind, Origin},
    store::{StoreError, Tx},
};

pub const DEPENDENT: Dependent =
    Dependent { name: "grants", end: |app, tx, context, cause| Box::pin(end(app, tx, context, cause)) };

const JOB: &str = "grants.end";
/// The job that revokes the remaining batches.
pub const ENDING: JobKind<App> = JobKind::new(JOB, |app, payload| Box::pin(go_on(app, payload)))
    .attempts(16)
    .lease(Duration::from_mins(5));
/// Batches per run of the job, so that it stays within its lease.
const BATCHES: usize = 50;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Rest {
    owner: Owner,
    ending: EndingId,
}

/// Which grants end, and whether their clients are notified.
async fn end(app: &App, tx: &Tx, context: &RequestContext, cause: Cause<'_>) -> Result<Gone, StoreError> {
    let ending = match cause {
        Cause::Sessions { account, sessions, offline_too, why } => {
            let all = Ending::of_account(account, why);
            Ending { sessions: Some(sessions), offline_too, tells: true, ..all }
        }
        Cause::Account { account, why } => Ending { tells: true, ..Ending::of_account(account, why) },
        Cause::Credential { account, credential, keep } => {
            let all = Ending::of_account(account, Why::CredentialChanged);
            Ending { credential: Some(credential), spared: keep, ..all }
        }
        Cause::Directory(gone) => Ending {
            credential: Some(gone.identity.uuid().into()),
            directory_epoch: gone.epoch,
            sessions: gone.sessions,
            offline_too: gone.offline_too,
            tells: true,
            ..Ending::of_account(gone.account, gone.why)
        },
        Cause::Consent { account, client_id } => {
            Ending { client_id: Some(client_id), ..Ending::of_account(account, Why::Owner) }
        }
        Cause::MemberGrants { member, account, client_id } => {
            let all = Ending::of_account(account, member.why);
            let ending = Ending { membership: Some(member.id), client_id, tells: true, ..all };
            return end_of_member(app, tx, context, member, &ending).await;
        }
        Cause::Client { organization, client_id } => {
            Ending::of_client_in(organization, client_id, Why::ClientBlocked)
        }
        Cause::Grant { .. } | Cause::Membership(_) => return Ok(Gone::default()),
    };
    end_grants(app, tx, context, &ending).await.map(|(_, gone)| gone)
}

/// The grants of a member, with an entry per client in the organization's audit trail.
async fn end_of_member(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    member: Membership<'_>,
    ending: &Ending<'_>,
) -> Result<Gone, StoreError> {
    let (revoked, gone) = end_grants(app, tx, context, ending).await?;
    let clients: BTreeSet<&str> = revoked.iter().map(|one| one.client_id.as_str()).collect();
    let mut targets: Vec<Target> = clients.into_iter().map(|client| Target::new("client", client)).collect();
    // Further clients are not known before all grants were read.
    targets.extend(gone.more.then(|| Target::new("member", member.id)));
    for target in targets {
        let event = audit_trail::Event::done(TrailKind::GrantRevoked, member.actor.clone(), target)
            .because(Some(member.why.as_str().to_owned()))
            .changing(json!({"member": member.id}), json!(null));
        audit_trail::record(app, tx, context, member.organization, &event).await?;
    }
    Ok(gone)
}

/// Ends grants in the transaction that ended what they depend on.
async fn end_grants(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    ending: &Ending<'_>,
) -> Result<(Vec<Revoked>, Gone), StoreError> {
    let id: EndingId = Id::ordered(app.clock.now(), &*app.entropy);
    let rest = Rest { owner: ending.owner, ending: id };
    grants::begin_ending(tx, id, ending, &context.into()).await?;
    let step = grants::step(tx, rest.owner, id, ending.why).await?;
    let events = step.revoked.iter().map(|one| event(one, ending.why)).collect();
    security_log::record_all(app, tx, context, events).await?;
    let more = move_on(app, tx, rest, &step, true).await?;
    let gone = Gone { consents: 0, grants: step.revoked.len(), more };
    Ok((step.revoked, gone))
}

pub(super) fn event(one: &Revoked, why: Why) -> security_log::Event {
    let payload = json!({"grant_id": one.grant, "client_id": one.client_id, "reason": why});
    security_log::Event { kind: EventKind::GrantRevoked, subject: one.account.uuid(), payload }
}

/// Notifies clients, and finishes or continues the ending; returns whether it continues.
async fn move_on(
    app: &App,
    tx: &Tx,
    rest: Rest,
    step: &grants::Step,
    enqueues: bool,
) -> Result<bool, StoreError> {
    let told = grants::store_notified(tx, rest.owner, rest.ending, &step.told).await?;
    let told: BTreeSet<_> =
        told.iter().map(|(client, subject, session)| (client.as_str(), *subject, *session)).collect();
    backchannel::tell_all(app, tx, told).await?;
    let Some(reached) = step.reached else {
        grants::finish_ending(tx, rest.owner, rest.ending).await?;
        return Ok(false);
    };
    grants::reach(tx, rest.owner, rest.ending, reached).await?;
    if enqueues {
        let job: JobId = Id::ordered(app.clock.now(), &*app.entropy);
        jobs::enqueue(tx, job, JOB, &rest).await?;
    }
    Ok(true)
}

/// The job: batches, each in its own transaction; another job does the rest.
async fn go_on(app: Arc<App>, payload: Value) -> Result<(), JobError> {
    let rest: Rest =
        serde_json::from_value(payload).map_err(|error| JobError::Hopeless(error.to_string()))?;
    for batch in 1..=BATCHES {
        let app = &app;
        let more = app.store.run_tx("grants.end", |tx| async move {
            let Some(begun) = grants::lock_ending(&tx, rest.owner, rest.ending).await? else {
                return Ok(false);
            };
            let step = grants::step(&tx, rest.owner, rest.ending, begun.why).await?;
            note_all(app, &tx, &begun, &step.revoked).await?;
            move_on(app, &tx, rest, &step, batch == BATCHES).await
        });
        if !more.await? {
            break;
        }
    }
    Ok(())
}

/// One entry per client, so that a million grants do not cause a million entries.
async fn note_all(app: &App, tx: &Tx, begun: &Begun, revoked: &[Revoked]) -> Result<(), StoreError> {
    let mut counted: BTreeMap<(AccountId, &str), usize> = BTreeMap::new();
    for one in revoked {
        *counted.entry((one.account, one.client_id.as_str())).or_default() += 1;
    }
    let event = |((account, client_id), number): ((AccountId, &str), usize)| {
        let payload = json!({"client_id": client_id, "reason": begun.why, "number": number});
        security_log::Event { kind: EventKind::GrantRevoked, subject: account.uuid(), payload }
    };
    let origin = Origin {
        request_id: begun.request_id,
        address: begun.address,
        user_agent: &begun.user_agent,
        acting: None,
    };
    security_log::record_all_from(app, tx, &origin, counted.into_iter().map(event).collect()).await
}
