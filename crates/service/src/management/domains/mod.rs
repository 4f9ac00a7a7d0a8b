//! An organization adds, verifies and removes its domains. The platform decides who has a disputed name by removing it
//! from the other organization, with a reason (`organizations:administer`).

mod endpoint;

use porteiro_protocol::id::{DomainId, Id};
use serde_json::json;

pub use endpoint::routes;

use super::{Caller, change, standing};
use crate::{
    App,
    audit_trail::{self, Actor, Target, TrailKind},
    dns::Seen,
    domains::{self, Claim, Domain, State, decide},
    http::{Problem, ProblemCode, RequestContext, field_invalid},
    limits::{self, Bucket, DOMAIN_VERIFY},
    store::{StoreError, Tx},
};

const WRITE: &str = "domains:write";

async fn find(app: &App, caller: &Caller, id: DomainId) -> Result<Domain, Problem> {
    let found = domains::find(&app.store, caller.organization()?.id, id).await?;
    Ok(found.ok_or(ProblemCode::NotFound)?)
}

async fn add(app: &App, context: &RequestContext, caller: &Caller, name: &str) -> Result<Domain, Problem> {
    change(app, context, caller, "domains.add", |tx| async move {
        let organization = standing::enter(&tx, caller, WRITE).await?.organization.id;
        let name = &decide::normalize(name).map_err(field_invalid)?;
        if domains::are_many(&tx, organization).await? {
            let text = format!("an organization has at most {} domains", domains::MOST);
            return Err(Problem::new(ProblemCode::Quota, text).into());
        }
        let id = Id::ordered(app.clock.now(), &*app.entropy);
        let value = &decide::value(app.entropy.bytes());
        let made = domains::insert(&tx, &Claim { organization, id, name, value }).await?;
        let taken = || Problem::new(ProblemCode::Conflict, "the organization has this domain already");
        let made = made.ok_or_else(taken)?;
        record(app, &tx, context, caller, TrailKind::DomainAdded, &made).await?;
        Ok(made)
    })
    .await
}

/// Looks the record up, and then makes the change: no transaction waits for a resolver.
async fn verify(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: DomainId,
) -> Result<Domain, Problem> {
    let domain = &find(app, caller, id).await?;
    let key = app.secrets.limit_key(DOMAIN_VERIFY.name, domain.organization.uuid().as_bytes());
    if let Some(limited) = limits::take(&app.store, &[Bucket { rule: DOMAIN_VERIFY, key }]).await? {
        return Err(limited.into());
    }
    match app.dns.sees(&decide::host(&domain.name), &domain.value).await {
        Seen::Present => {}
        seen @ (Seen::Absent | Seen::Partly | Seen::Faulty | Seen::Unknown | Seen::Unconfigured) => {
            return Err(Problem::new(ProblemCode::Conflict, seen.sentence()));
        }
    }
    change(app, context, caller, "domains.verify", |tx| async move {
        standing::enter(&tx, caller, WRITE).await?;
        let verified = domains::verify(&tx, domain.organization, domain.id).await?;
        // Only who controls the domain gets here, so it may be told.
        let taken = || {
            let text = "another organization has verified this domain; ask it to remove the domain, or the platform's administrators to decide";
            Problem::new(ProblemCode::Conflict, text)
        };
        let verified = verified.ok_or_else(taken)?;
        if domain.state != State::Verified {
            tell_both(app, &tx, context, caller, &verified).await?;
        }
        Ok(verified)
    })
    .await
}

/// In the organization's trail, and in those of organizations where the domain had lapsed. They do not learn who has it.
async fn tell_both(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    verified: &Domain,
) -> Result<(), StoreError> {
    record(app, tx, context, caller, TrailKind::DomainVerified, verified).await?;
    for lost in domains::lapsed_elsewhere(tx, &verified.name, verified.organization).await? {
        let target = Target::new("domain", &lost.name);
        let event = audit_trail::Event::done(TrailKind::DomainTakenOver, Actor::system(), target);
        audit_trail::record_unasked(&*app.entropy, tx, lost.organization, &event).await?;
    }
    Ok(())
}

/// `false` where there is none of this id.
async fn remove(app: &App, context: &RequestContext, caller: &Caller, id: DomainId) -> Result<bool, Problem> {
    change(app, context, caller, "domains.remove", |tx| async move {
        let organization = standing::enter(&tx, caller, WRITE).await?.organization.id;
        let Some(gone) = domains::delete(&tx, organization, id).await? else { return Ok(false) };
        record(app, &tx, context, caller, TrailKind::DomainRemoved, &gone).await?;
        Ok(true)
    })
    .await
}

async fn record(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    kind: TrailKind,
    domain: &Domain,
) -> Result<(), StoreError> {
    let event = caller.did(kind, Target::new("domain", &domain.name));
    let event = event.changing(json!(null), json!({"domain_id": domain.id, "state": domain.state.as_str()}));
    audit_trail::record(app, tx, context, domain.organization, &event).await
}
