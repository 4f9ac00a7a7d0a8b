//! The platform configures connections to other OpenID providers. They are disabled, not deleted: people have linked
//! identities that would mean nothing without them.

mod endpoint;

use porteiro_protocol::id::{ConnectionId, Id};
use serde_json::json;

use crate::{
    App,
    api::stale,
    connections::{self, Connection, Definition, Unfit},
    http::{Problem, ProblemCode, RequestContext, Route, TxProblem},
    management::{Caller, standing},
    security_log::{self, EventKind},
    store::{StoreError, Tx},
};

const WRITE: &str = "platform.connections:write";

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

impl From<Unfit> for Problem {
    fn from(unfit: Unfit) -> Self {
        Self::new(ProblemCode::FieldInvalid, format!("{}: {}", unfit.field, unfit.detail))
    }
}

async fn find(app: &App, id: ConnectionId) -> Result<Connection, Problem> {
    Ok(connections::find(&app.store, id).await?.ok_or(ProblemCode::NotFound)?)
}

fn sealed(app: &App, id: ConnectionId, definition: &Definition) -> Result<Option<Vec<u8>>, StoreError> {
    let secret = definition.client_secret.as_deref();
    let sealed = secret.map(|secret| connections::seal_secret(app, id, secret)).transpose();
    sealed.map_err(|error| StoreError::Inconsistent(error.to_string()))
}

async fn create(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    definition: &Definition,
) -> Result<Connection, Problem> {
    definition.check(false, app.issuer())?;
    let id: ConnectionId = Id::random(&*app.entropy);
    let sealed = &sealed(app, id, definition)?;
    let created = app
        .store
        .try_tx("platform.create_connection", |tx| async move {
            standing::still(&tx, caller, WRITE).await?;
            connections::insert(&tx, id, definition, sealed.as_deref()).await?;
            note(app, &tx, context, caller, id, definition).await?;
            Ok::<(), TxProblem>(())
        })
        .await;
    created.map_err(Problem::from)?;
    find(app, id).await
}

async fn replace(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: ConnectionId,
    definition: &Definition,
    seen: i64,
) -> Result<Connection, Problem> {
    let old = find(app, id).await?;
    definition.check(old.has_secret(), app.issuer())?;
    if old.issuer != definition.issuer {
        let text = "issuer: cannot be changed, because people have linked identities of it; create another connection";
        return Err(Problem::new(ProblemCode::FieldInvalid, text));
    }
    let sealed = &sealed(app, id, definition)?;
    let replaced = app
        .store
        .try_tx("platform.replace_connection", |tx| async move {
            standing::still(&tx, caller, WRITE).await?;
            if !connections::replace(&tx, id, definition, sealed.as_deref(), seen).await? {
                return Err(stale().into());
            }
            note(app, &tx, context, caller, id, definition).await?;
            Ok::<(), TxProblem>(())
        })
        .await;
    replaced.map_err(Problem::from)?;
    find(app, id).await
}

async fn note(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    id: ConnectionId,
    definition: &Definition,
) -> Result<(), StoreError> {
    let payload = json!({"connection_id": id, "issuer": definition.issuer, "enabled": definition.enabled, "by": caller.key()});
    let event =
        security_log::Event { kind: EventKind::ConnectionChanged, subject: uuid::Uuid::nil(), payload };
    security_log::record(app, tx, context, event).await
}
