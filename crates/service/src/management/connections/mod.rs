//! An organization configures connections to its directories. A connection by which members have signed in is disabled,
//! not deleted: their identities would mean nothing without it. Disabling it ends what it vouched for, for ever.

mod endpoint;

use porteiro_protocol::id::{ConnectionId, Id, OrganizationId};
use serde_json::{Value, json};

pub use endpoint::routes;

use super::{
    Caller, change, members,
    standing::{self, Standing},
};
use crate::{
    App,
    api::stale,
    audit_trail::{self, Target, TrailKind},
    connections::{self, Connection, Definition, Entry, MOST, Owner, organizations as stored},
    directories,
    http::{Problem, ProblemCode, RequestContext, TxProblem},
    organizations::Organization,
    permissions::OWNER,
    roles,
    store::{StoreError, Tx},
};

const WRITE: &str = "connections:write";

/// What an administrator configures.
#[derive(Debug)]
struct Wanted {
    definition: Definition,
    entry: Entry,
}

impl Wanted {
    fn check(&self, had_secret: bool, ours: &str) -> Result<(), Problem> {
        self.definition.check(had_secret, ours)?;
        Ok(self.entry.check()?)
    }

    fn sealed(&self, app: &App, id: ConnectionId) -> Result<Option<Vec<u8>>, StoreError> {
        let secret = self.definition.client_secret.as_deref();
        let sealed = secret.map(|secret| connections::seal_secret(app, id, secret)).transpose();
        sealed.map_err(|error| StoreError::Inconsistent(error.to_string()))
    }
}

async fn find(app: &App, caller: &Caller, id: ConnectionId) -> Result<Connection, Problem> {
    let place = caller.organization()?.id;
    Ok(stored::find(&app.store, place, id).await?.ok_or(ProblemCode::NotFound)?)
}

async fn create(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    wanted: &Wanted,
) -> Result<Connection, Problem> {
    wanted.check(false, app.issuer())?;
    let id: ConnectionId = Id::random(&*app.entropy);
    let sealed = &wanted.sealed(app, id)?;
    change(app, context, caller, "connections.create", |tx| async move {
        let place = entered(&tx, caller, wanted).await?.id;
        let Wanted { definition, entry } = wanted;
        not_taken(&tx, place, id, definition).await?;
        if !stored::insert(&tx, place, id, definition, entry, sealed.as_deref()).await? {
            let text = format!("an organization has at most {MOST} connections");
            return Err(Problem::new(ProblemCode::Quota, text).into());
        }
        let made = kept(&tx, place, id).await?;
        record(app, &tx, context, caller, place, id, (Value::Null, said(&made))).await?;
        Ok(made)
    })
    .await
}

async fn replace(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: ConnectionId,
    wanted: &Wanted,
    seen: i64,
) -> Result<Connection, Problem> {
    let sealed = &wanted.sealed(app, id)?;
    change(app, context, caller, "connections.replace", |tx| async move {
        let place = entered(&tx, caller, wanted).await?;
        if !wanted.definition.enabled {
            not_required(&place, id)?;
        }
        let place = place.id;
        let old = stored::find(&tx, place, id).await?.ok_or(ProblemCode::NotFound)?;
        wanted.check(old.has_secret(), app.issuer())?;
        if old.issuer != wanted.definition.issuer {
            let text = "issuer: cannot be changed, because members are known by their identities there; create another connection";
            return Err(Problem::new(ProblemCode::FieldInvalid, text).into());
        }
        let Wanted { definition, entry } = wanted;
        not_taken(&tx, place, id, definition).await?;
        if !stored::replace(&tx, place, id, definition, entry, sealed.as_deref(), seen).await? {
            return Err(stale().into());
        }
        let new = kept(&tx, place, id).await?;
        if new.epoch != old.epoch {
            directories::end_epoch(app, &tx, context, place, id, old.epoch).await?;
        }
        record(app, &tx, context, caller, place, id, (said(&old), said(&new))).await?;
        Ok(new)
    })
    .await
}

/// `false` where there is none of this id.
async fn remove(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: ConnectionId,
) -> Result<bool, Problem> {
    change(app, context, caller, "connections.remove", |tx| async move {
        let place = standing::enter(&tx, caller, WRITE).await?.organization;
        let Some(old) = stored::find(&tx, place.id, id).await? else { return Ok(false) };
        not_required(&place, id)?;
        let place = place.id;
        if !stored::delete(&tx, place, id).await? {
            let text = "members have signed in by this connection: disable it instead";
            return Err(Problem::new(ProblemCode::Conflict, text).into());
        }
        record(app, &tx, context, caller, place, id, (said(&old), Value::Null)).await?;
        Ok(true)
    })
    .await
}

/// The caller may configure this: they hold what people get who join by it.
async fn entered(tx: &Tx, caller: &Caller, wanted: &Wanted) -> Result<Organization, TxProblem> {
    let Standing { organization, held, .. } = standing::enter(tx, caller, WRITE).await?;
    // A provisioned membership may have any role.
    let any = wanted.entry.match_provisioned.then_some(OWNER);
    let gives = wanted.entry.jit_role.as_deref().into_iter().chain(any);
    let mut definitions = None;
    for role in gives {
        let definitions = match &mut definitions {
            Some(known) => &*known,
            unread => unread.insert(roles::definitions(tx, organization.id).await?),
        };
        members::decide::may_give(&held, definitions, role)?;
    }
    Ok(organization)
}

/// Nobody could sign in any more (docs/decisions/0132). The caller holds the organization's lock.
fn not_required(organization: &Organization, id: ConnectionId) -> Result<(), Problem> {
    if organization.policy.require_connection != Some(id) {
        return Ok(());
    }
    let text = "the organization's policy requires this connection: change require_connection there first";
    Err(Problem::new(ProblemCode::Conflict, text))
}

/// People choose a connection by its name.
async fn not_taken(
    tx: &Tx,
    place: OrganizationId,
    id: ConnectionId,
    definition: &Definition,
) -> Result<(), TxProblem> {
    if stored::is_taken(tx, place, &definition.name, id).await? {
        let text = "name: another connection of the organization has it";
        return Err(Problem::new(ProblemCode::Conflict, text).into());
    }
    Ok(())
}

async fn kept(tx: &Tx, place: OrganizationId, id: ConnectionId) -> Result<Connection, TxProblem> {
    Ok(stored::find(tx, place, id).await?.ok_or(ProblemCode::NotFound)?)
}

fn said(connection: &Connection) -> Value {
    let mut said = json!({
        "name": connection.name,
        "issuer": connection.issuer,
        "client_id": connection.client_id,
        "client_authentication": connection.client_authentication,
        "algorithm": connection.algorithm,
        "enabled": connection.enabled,
    });
    if let Owner::Organization(_, entry) = &connection.owner {
        said["subject_claim"] = json!(entry.subject_claim);
        said["jit_role"] = json!(entry.jit_role);
        said["authoritative"] = json!(entry.authoritative);
        said["match_provisioned"] = json!(entry.match_provisioned);
    }
    said
}

async fn record(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    place: OrganizationId,
    id: ConnectionId,
    (before, after): (Value, Value),
) -> Result<(), StoreError> {
    let target = Target::new("connection", id);
    let event = audit_trail::Event::done(TrailKind::ConnectionChanged, caller.actor.clone(), target)
        .because(caller.reason.clone())
        .changing(before, after);
    audit_trail::record(app, tx, context, place, &event).await
}
