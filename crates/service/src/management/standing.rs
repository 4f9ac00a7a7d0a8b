//! What a caller holds in the transaction that acts on it. Between being let in and acting, a role may have changed.

use porteiro_protocol::permission::Held;

use super::{
    caller::{By, Caller},
    guard::administer,
};
use crate::{
    api_keys,
    members::{self, Member, Whom},
    platform,
    store::{StoreError, Tx},
};

/// All they can pass on, now; `None` when they would not be let in any more. Whoever changes who may do what in an
/// organization holds its row before asking.
pub async fn held_now(tx: &Tx, caller: &Caller) -> Result<Option<Held>, StoreError> {
    let place = caller.organization.as_ref().map(|organization| organization.id);
    // Somebody of the platform: what they hold there, or what that is worth in an organization.
    let of_platform = |held: Held| match place {
        None => Some(held),
        Some(_) => held.covers(&administer()).then(Held::everything),
    };
    match (&caller.by, place) {
        (By::Member { membership, .. }, Some(place)) => {
            let member = members::find(tx, place, Whom::Id(*membership)).await?;
            let member = member.filter(|member| is_admitted(caller, member));
            Ok(member.and_then(|member| member.held().ok().cloned()).map(|held| caller.narrows(held)))
        }
        (By::Member { .. }, None) => Ok(None),
        (By::Operator(account), Some(_)) => Ok(of_platform(platform::hold(tx, *account).await?)),
        // What is reserved was looked at when they were let in, with their proofs.
        (By::Operator(account), None) => {
            let held = platform::hold(tx, *account).await?;
            Ok(Some(caller.narrows(held.without_reserved(|reserved| caller.held.covers(reserved)))))
        }
        (By::Key { id, .. }, _) => {
            Ok(api_keys::hold(tx, id).await?.and_then(|usable| match usable.organization {
                None => of_platform(usable.held),
                Some(organization) => (Some(organization.id) == place).then_some(usable.held),
            }))
        }
    }
}

/// The policy may have been raised too.
fn is_admitted(caller: &Caller, member: &Member) -> bool {
    caller.proved.is_none_or(|proved| member.organization.policy.admits(&proved).is_ok())
}
