//! Who signs out in a browser is not told there any more.

use porteiro_protocol::id::SessionId;

use super::store;
use crate::{
    endings::{Cause, Dependent, Gone},
    store::{StoreError, Tx},
};

pub const DEPENDENT: Dependent =
    Dependent { name: "push subscriptions", end: |_, tx, _, cause| Box::pin(end(tx, cause)) };

async fn end(tx: &Tx, cause: Cause<'_>) -> Result<Gone, StoreError> {
    match cause {
        Cause::Account { account, .. } => store::end(tx, account, None).await?,
        Cause::Sessions { account, sessions, .. } => {
            let ended: Vec<_> = sessions.iter().copied().map(SessionId::uuid).collect();
            store::end(tx, account, Some(&ended)).await?;
        }
        // These say nothing about the browser.
        Cause::Credential { .. }
        | Cause::Directory(_)
        | Cause::Consent { .. }
        | Cause::Grant { .. }
        | Cause::MemberGrants { .. }
        | Cause::Membership(_)
        | Cause::Client { .. } => {}
    }
    Ok(Gone::default())
}
