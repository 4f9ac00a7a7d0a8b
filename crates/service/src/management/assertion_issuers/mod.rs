//! Issuers whose assertions about members clients may redeem. Removing one ends the tokens that were issued by it.

mod endpoint;

use porteiro_protocol::id::{AssertionIssuerId, Id, OrganizationId};
use serde_json::{Value, json};

pub use endpoint::routes;

use super::{Caller, change, standing};
use crate::{
    App,
    audit_trail::{self, Target, TrailKind},
    http::{Problem, ProblemCode, RequestContext, TxProblem, field_invalid},
    oauth::{
        clients,
        grants::{self, Asserted},
    },
    store::{StoreError, Tx},
    trusts::{self, AssertionIssuer, decide, issuers},
};

const WRITE: &str = "trusts:write";

/// What a request wants to trust.
#[derive(Debug)]
struct Wanted {
    issuer: String,
    tenant: Option<String>,
    client_id: String,
    algorithms: Vec<String>,
    believes_authentication: bool,
}

impl Wanted {
    fn checked(&self, app: &App, organization: OrganizationId) -> Result<AssertionIssuer, TxProblem> {
        decide::check_issuer(&self.issuer, app.issuer()).map_err(field_invalid)?;
        if let Some(tenant) = &self.tenant {
            decide::check_id("tenant", tenant).map_err(field_invalid)?;
        }
        let now = app.clock.now();
        Ok(AssertionIssuer {
            organization,
            id: Id::ordered(now, &*app.entropy),
            issuer: self.issuer.clone(),
            tenant: self.tenant.clone(),
            client_id: self.client_id.clone(),
            algorithms: decide::algorithms(&self.algorithms).map_err(field_invalid)?,
            believes_authentication: self.believes_authentication,
            created_at: now,
        })
    }
}

async fn trust(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    wanted: &Wanted,
) -> Result<AssertionIssuer, Problem> {
    change(app, context, caller, "trusts.trust_issuer", |tx| async move {
        let organization = standing::enter(&tx, caller, WRITE).await?.organization;
        let new = wanted.checked(app, organization.id)?;
        let client = clients::find(&tx, &new.client_id).await?;
        let client = client.filter(|client| client.is_known_to(organization.id));
        let client = client.ok_or_else(|| field_invalid("client_id is unknown"))?;
        if client.is_public() {
            let text = "the client is public, and only clients that can authenticate redeem assertions";
            return Err(field_invalid(text));
        }
        if issuers::are_many(&tx, organization.id).await? {
            let text = format!("an organization has at most {} assertion issuers", trusts::MOST);
            return Err(Problem::new(ProblemCode::Quota, text).into());
        }
        let taken = || Problem::new(ProblemCode::Conflict, "the issuer is trusted for this client");
        let made = issuers::insert(&tx, &new).await?.ok_or_else(taken)?;
        let kind = TrailKind::AssertionIssuerTrusted;
        record(app, &tx, context, caller, kind, &made, (Value::Null, said(&made))).await?;
        Ok(made)
    })
    .await
}

/// `false` where there is none of this id.
async fn remove(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    id: AssertionIssuerId,
) -> Result<bool, Problem> {
    change(app, context, caller, "trusts.remove_issuer", |tx| async move {
        let organization = standing::enter(&tx, caller, WRITE).await?.organization;
        let Some(gone) = issuers::delete(&tx, organization.id, id).await? else { return Ok(false) };
        let which = Asserted::By { issuer: gone.id, client_id: &gone.client_id };
        let ended = grants::revoke_asserted(&tx, organization.id, which).await?;
        let changes = (said(&gone), json!({"grants_ended": ended}));
        record(app, &tx, context, caller, TrailKind::AssertionIssuerRemoved, &gone, changes).await?;
        Ok(true)
    })
    .await
}

fn said(issuer: &AssertionIssuer) -> Value {
    json!({
        "issuer": issuer.issuer,
        "tenant": issuer.tenant,
        "client_id": issuer.client_id,
        "algorithms": issuer.algorithms,
        "believes_authentication": issuer.believes_authentication,
    })
}

async fn record(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    kind: TrailKind,
    issuer: &AssertionIssuer,
    (before, after): (Value, Value),
) -> Result<(), StoreError> {
    let target = Target::new("assertion_issuer", issuer.id);
    let event = caller.did(kind, target).changing(before, after);
    audit_trail::record(app, tx, context, issuer.organization, &event).await
}
