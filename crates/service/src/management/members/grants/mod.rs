//! What members allowed clients here, for whoever administers the organization.

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

/// Living grants of a member in this organization, and no other.
pub async fn list(app: &App, member: &Member) -> Result<Vec<Held>, StoreError> {
    let Some(account) = member.account else { return Ok(Vec::new()) };
    grants::list_of_membership(&app.store, account, member.organization.id, member.id).await
}

/// Ends what a member allowed one client here, or all of them; how many grants there were.
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
        decide::stands_above(&standing.held, member.authority())?;
        let (actor, why) = (&caller.actor, Why::Organization);
        let gone = cut::end_grants(app, &tx, context, &member, client_id, actor, why).await?;
        Ok(gone.grants)
    })
    .await
}
