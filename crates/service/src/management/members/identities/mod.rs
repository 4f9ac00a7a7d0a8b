//! Identities of members at the organization's directories, for its administrators. Unlinking one ends what rests on it.

mod endpoint;

use std::sync::Arc;

use porteiro_protocol::id::{DirectoryIdentityId, MembershipId};

use super::{
    super::standing,
    decide::{self, Refused},
    store,
};
use crate::{
    App, directories,
    http::{Problem, RequestContext, Route},
    management::{self, Caller},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// `false` where the member has no identity of this id.
async fn unlink(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    member: MembershipId,
    id: DirectoryIdentityId,
) -> Result<bool, Problem> {
    management::change(app, context, caller, "members.unlink_identity", |tx| async move {
        let standing = standing::enter(&tx, caller, "members:write").await?;
        let place = standing.organization.id;
        let member = store::lock(&tx, place, member).await?.ok_or(Refused::NotFound)?;
        decide::outranks(&standing.held, member.authority())?;
        let all = directories::list_of_member(&tx, place, member.id).await?;
        let Some(linked) = all.into_iter().find(|linked| linked.id == id) else { return Ok(false) };
        Ok(directories::unlink_one(app, &tx, context, &linked, &caller.actor).await?)
    })
    .await
}
