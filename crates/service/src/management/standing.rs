//! Where a caller stands in the transaction that acts on what they hold: asked again once nobody else can change it.
//! Between being let in and acting, a role may have changed.

use porteiro_protocol::permission::{Held, Permission};
use serde_json::json;

use super::{
    caller::{By, Caller},
    guard::administer,
};
use crate::{
    api_keys,
    http::{Problem, ProblemCode, TxProblem},
    members::{self, Member, Whom},
    organizations::{self, Organization, Status},
    platform,
    store::{StoreError, Tx},
};

/// The organization under its lock, and what the caller holds there now.
#[derive(Debug)]
pub struct Standing {
    pub organization: Organization,
    pub held: Held,
}

/// Takes the organization's lock. Between being let in and here, the caller may have been disabled or demoted: what they
/// hold is read again.
///
/// # Errors
/// When the organization, its status or what the caller holds there is not what it was.
pub async fn enter(tx: &Tx, caller: &Caller, permission: &str) -> Result<Standing, TxProblem> {
    let place = caller.organization()?;
    let organization = organizations::lock(tx, place.id).await?.ok_or(ProblemCode::NotFound)?;
    if organization.status == Status::Suspended {
        return Err(ProblemCode::OrganizationSuspended.into());
    }
    let held = still(tx, caller, permission).await?;
    Ok(Standing { organization, held })
}

/// What the caller holds now, if it is still enough. For whoever took another lock, or of the platform.
///
/// # Errors
/// When it is not enough any more.
pub async fn still(tx: &Tx, caller: &Caller, permission: &str) -> Result<Held, TxProblem> {
    let asked = Permission::parse(permission).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    let held = held_now(tx, caller).await?.filter(|held| held.covers(&asked));
    Ok(held.ok_or_else(lost)?)
}

/// The caller was let in with more than they hold now.
pub fn lost() -> Problem {
    Problem::new(ProblemCode::Forbidden, "your permissions changed during the request")
}

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

/// Beyond what somebody holds, and what of it.
pub fn exceeds(missing: &[Permission]) -> Problem {
    let problem =
        Problem::new(ProblemCode::AuthorityExceeded, "you can only give or take permissions that you hold");
    problem.with(serde_json::Map::from_iter([("missing".to_owned(), json!(missing))]))
}
