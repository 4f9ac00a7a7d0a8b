//! Authorization servers for which an organization lets clients get assertions about its members.

mod endpoint;

use porteiro_protocol::id::{AuthorizationServerId, Id};
use serde_json::{Value, json};

pub use endpoint::routes;

use super::{Caller, change, standing};
use crate::{
    App,
    audit_trail::{self, Target, TrailKind},
    http::{Problem, ProblemCode, RequestContext, TxProblem, field_invalid},
    oauth::clients,
    organizations::Organization,
    store::{StoreError, Tx},
    trusts::{self, AuthorizationServer, decide, servers},
};

const WRITE: &str = "trusts:write";

/// What a request wants to register.
#[derive(Debug)]
struct Wanted {
    issuer: String,
    client_id: String,
    remote_client_id: String,
    scope: String,
    resources: Vec<String>,
}

impl Wanted {
    fn checked(&self, app: &App) -> Result<AuthorizationServer, TxProblem> {
        decide::check_issuer(&self.issuer, app.issuer()).map_err(field_invalid)?;
        decide::check_id("remote_client_id", &self.remote_client_id).map_err(field_invalid)?;
        decide::check_resources(&self.resources).map_err(field_invalid)?;
        let now = app.clock.now();
        Ok(AuthorizationServer {
            id: Id::ordered(now, &*app.entropy),
            issuer: self.issuer.clone(),
            client_id: self.client_id.clone(),
            remote_client_id: self.remote_client_id.clone(),
            scope: self.scope.parse().map_err(|_| field_invalid("scope is malformed"))?,
            resources: self.resources.clone(),
            created_at: now,
        })
    }
}

async fn register(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    wanted: &Wanted,
) -> Result<AuthorizationServer, Problem> {
    change(app, context, caller, "trusts.register_server", |tx| async move {
        let organization = standing::enter(&tx, caller, WRITE).await?.organization;
        let new = wanted.checked(app)?;
        let client = clients::find(&tx, &new.client_id).await?;
        let client = client.filter(|client| client.is_known_to(organization.id));
        let client = client.ok_or_else(|| field_invalid("client_id is unknown"))?;
        if client.is_public() {
            return Err(field_invalid(
                "the client is public, and only clients that can authenticate get assertions",
            ));
        }
        if servers::are_many(&tx, organization.id).await? {
            let text = format!("an organization has at most {} authorization servers", trusts::MOST);
            return Err(Problem::new(ProblemCode::Quota, text).into());
        }
        let taken = || Problem::new(ProblemCode::Conflict, "the server is registered for this client");
        let made = servers::insert(&tx, organization.id, &new).await?.ok_or_else(taken)?;
        let changes = (Value::Null, said(&made));
        record(app, &tx, context, caller, &organization, TrailKind::AuthorizationServerAdded, &made, changes)
            .await?;
        Ok(made)
    })
    .await
}

/// `false` where there is none of this id.
async fn remove(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: AuthorizationServerId,
) -> Result<bool, Problem> {
    change(app, context, caller, "trusts.remove_server", |tx| async move {
        let organization = standing::enter(&tx, caller, WRITE).await?.organization;
        let Some(gone) = servers::delete(&tx, organization.id, id).await? else { return Ok(false) };
        let changes = (said(&gone), Value::Null);
        record(
            app,
            &tx,
            context,
            caller,
            &organization,
            TrailKind::AuthorizationServerRemoved,
            &gone,
            changes,
        )
        .await?;
        Ok(true)
    })
    .await
}

fn said(server: &AuthorizationServer) -> Value {
    json!({
        "issuer": server.issuer,
        "client_id": server.client_id,
        "remote_client_id": server.remote_client_id,
        "scope": server.scope,
        "resources": server.resources,
    })
}

#[expect(clippy::too_many_arguments, reason = "who changed what, from what to what")]
async fn record(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    organization: &Organization,
    kind: TrailKind,
    server: &AuthorizationServer,
    (before, after): (Value, Value),
) -> Result<(), StoreError> {
    let target = Target::new("authorization_server", server.id);
    let event = caller.did(kind, target).changing(before, after);
    audit_trail::record(app, tx, context, organization.id, &event).await
}
