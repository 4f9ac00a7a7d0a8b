//! Everything that is stored about a person: the person exports it, and deletes the account (docs/decisions/0134, 0135).
//!
//! 1. [`sources`] lists every table with rows about a person. The export reads it, and so does the erasure.
//! 2. An export needs a recent proof, is told to the person by mail, and is read in pages while it is sent ([`export`]).
//! 3. A deletion needs a recent proof, and that no organization with other members loses its last owner. It ends, in one
//!    transaction, everything the account opened or allowed ([`deletion`]).
//! 4. For fourteen days the person can sign in and keep the account. Then a job erases it ([`erase`]).
//!
//! Only the person does this: with a session of their own, or a first-party app's token of one. The guard refuses tokens
//! with an actor (agents, impersonations), tokens of an organization, and sessions that only a directory vouches for.

mod deletion;
mod endpoint;
mod erase;
mod export;
mod store;

pub use endpoint::routes;
pub use erase::{ERASURE, erase_due};
pub use store::sources;

use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};

use crate::{
    App,
    audit_trail::{Actor, ActorKind},
    endings::{self, Why},
    http::RequestContext,
    management::members::{cut, invalidate_account},
    sessions::{self, Ended},
    store::{StoreError, Tx},
};

/// Ends everything the account opened or allowed, also what was issued to it as a member, and returns its memberships.
/// The caller holds its lock.
async fn end_everything(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
) -> Result<Vec<(OrganizationId, MembershipId)>, StoreError> {
    // Memberships are locked before grants, in the same order as when a membership ends.
    let memberships = invalidate_account(tx, account).await?;
    let ended = sessions::end_others(tx, account, None, Ended::AccountDeleted).await?;
    let why = (Ended::AccountDeleted, Why::AccountDeleted);
    endings::everything_ended(app, tx, context, account, &ended, why).await?;
    for &(organization, member) in &memberships {
        let actor = Actor { kind: ActorKind::Member, id: member.to_string(), act: None };
        cut::end_dependents(app, tx, context, organization, member, &actor, Why::AccountDeleted).await?;
    }
    Ok(memberships)
}
