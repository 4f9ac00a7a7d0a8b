//! Delegations end with the person's account, their membership, their consent, and what an organization allows a client.

use super::store::{self, Which, Whose};
use crate::{
    endings::{Cause, Dependent, Gone, Why},
    store::{StoreError, Tx},
};

pub const DEPENDENT: Dependent =
    Dependent { name: "delegations", end: |_, tx, _, cause| Box::pin(end(tx, cause)) };

async fn end(tx: &Tx, cause: Cause<'_>) -> Result<Gone, StoreError> {
    let of = |account| Which::of(Whose::Account(account));
    let (which, why) = match cause {
        // An attacker who had taken the account over may have delegated, too.
        Cause::Account { account, why } | Cause::Sessions { account, why: why @ Why::Recovered, .. } => {
            (of(account), why)
        }
        Cause::Consent { account, client_id } => {
            (Which { client_id: Some(client_id), ..of(account) }, Why::Owner)
        }
        Cause::MemberGrants { member, account, client_id } => {
            let organization = Some(member.organization);
            (Which { organization, client_id, ..of(account) }, member.why)
        }
        Cause::Client { organization, client_id } => {
            let all = Which::of(Whose::Organization(organization));
            (Which { client_id: Some(client_id), ..all }, Why::ClientBlocked)
        }
        // A delegation outlives the session in which it was made, as consent does. For what a member allowed clients
        // there is a cause of its own when the membership ends.
        Cause::Sessions { .. } | Cause::Credential { .. } | Cause::Grant { .. } | Cause::Membership(_) => {
            return Ok(Gone::default());
        }
    };
    let revoked = store::revoke(tx, which, why).await?;
    Ok(Gone { consents: revoked.len() as u64, ..Gone::default() })
}
