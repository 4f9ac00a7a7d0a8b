//! Approvals that were not used end with what they rest on: the account, the session in which they were approved, the
//! consent, the credential that was proved, the membership, and what an organization allows a client. With a delegation
//! they end in the statement that revokes it.

use porteiro_protocol::id::{OrganizationId, SessionId};

use super::store::{Which, close, close_there};
use crate::{
    endings::{Cause, Dependent, Gone},
    store::{StoreError, Tx},
};

pub const DEPENDENT: Dependent =
    Dependent { name: "approvals", end: |_, tx, _, cause| Box::pin(end(tx, cause)) };

async fn end(tx: &Tx, cause: Cause<'_>) -> Result<Gone, StoreError> {
    let all = Which::default();
    match cause {
        Cause::Account { account, .. } => close(tx, account, all).await?,
        Cause::Sessions { account, sessions, .. } => {
            let ended: Vec<_> = sessions.iter().copied().map(SessionId::uuid).collect();
            close(tx, account, Which { sessions: Some(&ended), ..all }).await?;
        }
        Cause::Credential { account, credential, keep } => {
            let credential = Some((credential.uuid(), keep.map(SessionId::uuid)));
            close(tx, account, Which { credential, ..all }).await?;
        }
        Cause::Directory(gone) => {
            let ended: Option<Vec<_>> =
                gone.sessions.map(|all| all.iter().copied().map(SessionId::uuid).collect());
            let credential = Some((gone.identity.uuid(), None));
            close(tx, gone.account, Which { sessions: ended.as_deref(), credential, ..all }).await?;
        }
        Cause::Consent { account, client_id } => {
            close(tx, account, Which { client_id: Some(client_id), ..all }).await?;
        }
        Cause::MemberGrants { member, account, client_id } => {
            let organization = Some(member.organization);
            close(tx, account, Which { organization, client_id, ..all }).await?;
        }
        Cause::Client { organization, client_id } => close_there(tx, organization, Some(client_id)).await?,
        // A membership has a cause of its own for what the member allowed clients.
        Cause::Grant { .. } | Cause::Membership(_) => {}
    }
    Ok(Gone::default())
}

/// An organization freezes its agents: what they ask its members is over, and stays so when they may act again.
pub async fn end_in_organization(tx: &Tx, organization: OrganizationId) -> Result<(), StoreError> {
    close_there(tx, organization, None).await
}
