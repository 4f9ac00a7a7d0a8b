//! The caller's authority in the transaction of a change: read again under the lock, because a role may have changed
//! since the guard accepted the call.

use porteiro_protocol::{
    assurance::Level,
    permission::{Held, Permission},
};
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
    permissions::raises,
    platform,
    refusals::Rule,
    store::{StoreError, Tx},
};

/// The organization under its lock, and the caller's present permissions there.
#[derive(Debug)]
pub struct Standing {
    pub organization: Organization,
    pub held: Held,
    directory_alone: bool,
}

/// What a caller is told for whom only a directory vouches.
pub const DIRECTORY_ALONE: &str = "only the organization's directory vouches for you: sign in to your own account, with a passkey or password of \
     yours, and ask again";
/// What would pass instead.
pub const OF_OWN_ACCOUNT: &str =
    "the same request with a token that was granted after a proof of the member's own account";

impl Standing {
    /// Every path that gives authority calls this: a member for whom only a directory vouches neither gives nor changes a
    /// role that raises. It would stay when the directory's connection is disabled (docs/decisions/0140).
    ///
    /// # Errors
    /// When one of these roles raises, and the caller has not proved an account of their own.
    pub fn may_raise<'a>(&self, roles: impl IntoIterator<Item = &'a Held>) -> Result<(), Problem> {
        if roles.into_iter().any(raises) { self.of_own_account() } else { Ok(()) }
    }

    /// For what always raises.
    ///
    /// # Errors
    /// When the caller has not proved an account of their own.
    pub fn of_own_account(&self) -> Result<(), Problem> {
        if !self.directory_alone {
            return Ok(());
        }
        let rule = ("rule".to_owned(), json!(Rule::DirectoryAlone.as_str()));
        let problem = Problem::new(ProblemCode::AuthorityExceeded, DIRECTORY_ALONE);
        Err(problem.with(serde_json::Map::from_iter([rule])))
    }
}

/// Takes the organization's lock and reads the caller's permissions again: since the guard accepted the call, the
/// caller may have been disabled or lost a role.
///
/// # Errors
/// When the organization is gone or suspended, or the caller no longer holds `permission`.
pub async fn enter(tx: &Tx, caller: &Caller, permission: &str) -> Result<Standing, TxProblem> {
    let place = caller.organization()?;
    let organization = organizations::lock(tx, place.id).await?.ok_or(ProblemCode::NotFound)?;
    if organization.status == Status::Suspended {
        return Err(ProblemCode::OrganizationSuspended.into());
    }
    let held = covering(held_in(tx, caller, Some(&organization)).await?, permission)?;
    Ok(Standing { organization, held, directory_alone: caller.is_directory_alone() })
}

/// The caller's present permissions, if `permission` is among them. For changes of the platform, and changes under
/// another lock.
///
/// # Errors
/// When the caller no longer holds it.
pub async fn still(tx: &Tx, caller: &Caller, permission: &str) -> Result<Held, TxProblem> {
    covering(held_now(tx, caller).await?, permission)
}

fn covering(held: Option<Held>, permission: &str) -> Result<Held, TxProblem> {
    let asked = Permission::parse(permission).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    Ok(held.filter(|held| held.covers(&asked)).ok_or_else(lost)?)
}

/// The caller's permissions changed since the guard accepted the call.
pub fn lost() -> Problem {
    Problem::new(ProblemCode::Forbidden, "your permissions changed during the request")
}

/// The permissions that the caller holds, and may give, now; `None` if the guard would refuse the call now. Before a
/// change of authority in an organization, the organization is locked.
pub async fn held_now(tx: &Tx, caller: &Caller) -> Result<Option<Held>, StoreError> {
    held_in(tx, caller, None).await
}

/// `locked`: the organization, if this transaction has locked it.
async fn held_in(
    tx: &Tx,
    caller: &Caller,
    locked: Option<&Organization>,
) -> Result<Option<Held>, StoreError> {
    let place = caller.organization.as_ref().map(|organization| organization.id);
    // The platform: its permissions there, or what they give in an organization.
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
        // The guard checked the reserved ones, which need a recent proof.
        (By::Operator(account), None) => {
            let held = platform::hold(tx, *account).await?;
            Ok(Some(caller.narrows(held.without_reserved(|reserved| caller.held.covers(reserved)))))
        }
        (By::Key { id, .. }, _) => {
            Ok(api_keys::hold(tx, id, locked).await?.and_then(|usable| match usable.organization {
                None => of_platform(usable.held),
                Some(organization) => (Some(organization.id) == place).then_some(usable.held),
            }))
        }
    }
}

/// The policy may have become stricter too. The deployment's minimum level is a setting: the guard checked it.
fn is_admitted(caller: &Caller, member: &Member) -> bool {
    caller.proved.is_none_or(|proved| member.admits(Level::None, &proved).is_ok())
}

/// The problem for a change that exceeds the caller's permissions, with those that are missing.
pub fn exceeds(missing: &[Permission]) -> Problem {
    let problem =
        Problem::new(ProblemCode::AuthorityExceeded, "you can only give or take permissions that you hold");
    problem.with(serde_json::Map::from_iter([("missing".to_owned(), json!(missing))]))
}
