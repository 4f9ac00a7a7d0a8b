//! Grants that members gave to clients in this organization, for its administrators.

mod endpoint;

use std::sync::Arc;

use porteiro_protocol::id::MembershipId;

use super::{
    super::standing,
    cut,
    decide::{self, Refused},
    store,
};
use crate::{
    App,
    http::{Problem, RequestContext, Route},
    management::{self, Caller},
    members::Member,
    oauth::grants::{self, Held, Why},
    store::StoreError,
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// The valid grants of a member in this organization only.
pub async fn list(app: &App, member: &Member) -> Result<Vec<Held>, StoreError> {
    let Some(account) = member.account else { return Ok(Vec::new()) };
    grants::list_of_membership(&app.store, account, member.organization.id, member.id).await
}

/// Revokes the grants a member gave to one client here, or to all clients; returns their number.
pub async fn revoke(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    id: MembershipId,
    client_id: Option<&str>,
) -> Result<usize, Problem> {
    management::change(app, context, caller, "members.revoke_grants", |tx| async move {
        let standing = standing::enter(&tx, caller, "members:write").await?;
        let member = store::lock(&tx, standing.organization.id, id).await?.ok_or(Refused::NotFound)?;
        decide::outranks(&standing.held, member.authority())?;
        let (actor, why) = (&caller.actor, Why::Organization);
        let gone = cut::end_grants(app, &tx, context, &member, client_id, actor, why).await?;
        Ok(gone.grants)
    })
    .await
}
