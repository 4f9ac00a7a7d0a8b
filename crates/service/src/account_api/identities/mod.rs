//! `/v1/account/directory-identities`: who a person is at the directories of their organizations. Unlinking one ends what
//! rests on it in that organization.

mod endpoint;

use std::sync::Arc;

use porteiro_protocol::id::DirectoryIdentityId;

use super::{lock_account, turn};
use crate::{
    App,
    audit_trail::{Actor, ActorKind},
    directories,
    http::{RequestContext, Route},
    sessions::SignedIn,
    store::StoreError,
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// `false` where the person has no identity of this id.
async fn unlink(
    app: &Arc<App>,
    context: &RequestContext,
    signed_in: &SignedIn,
    id: DirectoryIdentityId,
) -> Result<bool, StoreError> {
    app.store
        .run_tx_in_turn(turn(signed_in), "account.unlink_identity", |tx| async move {
            lock_account(&tx, signed_in).await?;
            let all = directories::list_of_account(&tx, signed_in.account_id).await?;
            let Some(linked) = all.into_iter().find(|linked| linked.id == id) else { return Ok(false) };
            let actor = Actor { kind: ActorKind::Member, id: linked.membership.to_string(), act: None };
            directories::unlink_one(app, &tx, context, &linked, &actor).await
        })
        .await
}
