//! Ends consents together with the grants that they allowed.

use super::store;
use crate::{
    endings::{Cause, Dependent, Gone},
    store::{StoreError, Tx},
};

pub const DEPENDENT: Dependent =
    Dependent { name: "consents", end: |_, tx, _, cause| Box::pin(end(tx, cause)) };

async fn end(tx: &Tx, cause: Cause<'_>) -> Result<Gone, StoreError> {
    let consents = match cause {
        Cause::Consent { account, client_id } => store::forget(tx, account, client_id).await?,
        Cause::MemberGrants { member, account, client_id } => {
            store::forget_in_organization(tx, account, member.organization, client_id).await?
        }
        // Consent is asked for again when the client changes, not when a session or an account ends.
        Cause::Sessions { .. }
        | Cause::Account { .. }
        | Cause::Credential { .. }
        | Cause::Directory(_)
        | Cause::Grant { .. }
        | Cause::Membership(_)
        | Cause::Client { .. } => 0,
    };
    Ok(Gone { consents, ..Gone::default() })
}
