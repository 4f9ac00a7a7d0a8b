//! An organization decides which clients may act for it. When a decision or a stricter policy disallows a client, its
//! grants there end in the same transaction. Requests that were checked before are checked again
//! (`organization.authority_version`), so that none completes in between.

mod endpoint;

use std::sync::Arc;

use porteiro_protocol::{client_metadata::ClientIdUrl, id::OrganizationId};
use serde_json::{Value, json};

pub use endpoint::routes;

use super::{members, standing};
use crate::{
    App,
    audit_trail::{self, Target, TrailKind},
    client_policies::{self, ClientPolicy, Decision},
    endings::{self, Cause, Gone},
    http::{Problem, ProblemCode, RequestContext, TxProblem},
    management::Caller,
    oauth::clients,
    organizations::{self, ThirdParty},
    store::{StoreError, Tx},
};

/// The largest number of client policies of an organization.
pub const MOST: i64 = 1_000;
const WRITE: &str = "client-policies:write";

/// Sets the decision about a client, or removes it with `None`. Returns the client policy afterwards.
pub async fn set(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    client_id: &str,
    decision: Option<Decision>,
) -> Result<Option<ClientPolicy>, TxProblem> {
    app.store
        .try_tx_in_turn(caller.turn(), "client_policies.set", |tx| async move {
            let organization = standing::enter(&tx, caller, WRITE).await?.organization;
            let before = client_policies::find(&tx, organization.id, client_id).await?;
            let client = clients::find(&tx, client_id).await?;
            match (decision, &before) {
                (None, None) => return Err(ProblemCode::NotFound.into()),
                (Some(asked), Some(before)) if before.decision == asked => {
                    return Ok(Some(before.clone()));
                }
                (Some(asked), None)
                    if !client.as_ref().is_some_and(|it| it.is_known_to(organization.id))
                        && !is_blocked_url(asked, client_id) =>
                {
                    let text = "the client is unknown";
                    return Err(Problem::new(ProblemCode::NotFound, text).into());
                }
                (Some(_), None) if client_policies::count(&tx, organization.id).await? >= MOST => {
                    let text = "an organization has at most 1,000 client policies";
                    return Err(Problem::new(ProblemCode::Quota, text).into());
                }
                (Some(asked), Some(_) | None) => {
                    client_policies::put(&tx, organization.id, client_id, asked).await?;
                }
                (None, Some(_)) => client_policies::remove(&tx, organization.id, client_id).await?,
            }
            // A disabled client has no grants left.
            let ended = match &client {
                Some(client) if !client_policies::allows(&tx, &organization, client).await? => {
                    let gone = end(app, &tx, context, organization.id, client_id).await?;
                    number(gone.grants, gone.more)
                }
                Some(_) | None => json!(0),
            };
            let said = |decision: Option<Decision>| json!({"decision": decision});
            let mut after = said(decision);
            after["grants_ended"] = ended;
            let target = Target::new("client", client_id);
            let event =
                audit_trail::Event::done(TrailKind::ClientPolicyChanged, caller.actor.clone(), target)
                    .because(caller.reason.clone())
                    .changing(said(before.map(|policy| policy.decision)), after);
            audit_trail::record(app, &tx, context, organization.id, &event).await?;
            Ok(client_policies::find(&tx, organization.id, client_id).await?)
        })
        .await
}

/// A client whose id is a URL can be blocked before it is known here (docs/decisions/0091).
fn is_blocked_url(asked: Decision, client_id: &str) -> bool {
    match asked {
        Decision::Block => ClientIdUrl::parse(client_id).is_ok(),
        Decision::Allow => false,
    }
}

/// Ends the grants of every client that may no longer act for the organization. Returns their number, or that they are
/// many. The caller holds the organization's lock and has written its policy.
pub async fn end_disallowed(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    organization: OrganizationId,
    third_party: ThirdParty,
) -> Result<Value, StoreError> {
    let (mut ended, mut many) = (0, false);
    for client in client_policies::present(tx, organization).await? {
        if !client_policies::decide::allowed(client.named, client.trust, third_party) {
            let gone = end(app, tx, context, organization, &client.client_id).await?;
            ended += gone.grants;
            many |= gone.more;
        }
    }
    Ok(number(ended, many))
}

/// If there are many, only the job that revokes them knows their number.
fn number(ended: usize, many: bool) -> Value {
    if many { json!("many") } else { json!(ended) }
}

/// Ends everything a client was given in the organization. The caller holds the organization's lock.
pub async fn end(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    organization: OrganizationId,
    client_id: &str,
) -> Result<Gone, StoreError> {
    organizations::check_again(tx, organization).await?;
    members::invalidate_client(tx, organization, client_id).await?;
    endings::end(app, tx, context, Cause::Client { organization, client_id }).await
}
