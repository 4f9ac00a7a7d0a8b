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
    http::{RequestContext, Route},
    management::Caller,
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
) -> Result<Result<usize, Refused>, StoreError> {
    app.store
        .run_tx_in_turn(caller.turn(), "members.revoke_grants", |tx| async move {
            let standing = match standing::enter(&tx, caller, "members:write").await? {
                Ok(standing) => standing,
                Err(lost) => return Ok(Err(lost.into())),
            };
            let Some(member) = store::lock(&tx, standing.organization.id, id).await? else {
                return Ok(Err(Refused::NotFound));
            };
            if let Err(refused) = decide::stands_above(&standing.held, member.authority()) {
                return Ok(Err(refused));
            }
            let (actor, why) = (&caller.actor, Why::Organization);
            let gone = cut::end_grants(app, &tx, context, &member, client_id, actor, why).await?;
            Ok(Ok(gone.grants))
        })
        .await
}
