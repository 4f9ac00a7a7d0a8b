//! Where somebody stands when they change who may do what: asked again once nobody else can change it.

use porteiro_protocol::permission::{Held, Permission};

use crate::{
    management::{self, Caller},
    organizations::{self, Organization, Status},
    store::{StoreError, Tx},
};

/// The organization under its lock, and what the caller holds there now.
#[derive(Debug)]
pub struct Standing {
    pub organization: Organization,
    pub held: Held,
}

/// What was there when the call was let in, and is not any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    Organization,
    Suspended,
    Authority,
}

/// Takes the organization's lock. Between being let in and here, the caller may have been disabled or demoted: what they
/// hold is read again.
pub async fn enter(tx: &Tx, caller: &Caller, permission: &str) -> Result<Result<Standing, Lost>, StoreError> {
    let Some(place) = &caller.organization else { return Ok(Err(Lost::Organization)) };
    let Some(organization) = organizations::lock(tx, place.id).await? else {
        return Ok(Err(Lost::Organization));
    };
    if organization.status == Status::Suspended {
        return Ok(Err(Lost::Suspended));
    }
    Ok(still(tx, caller, permission).await?.map(|held| Standing { organization, held }))
}

/// What the caller holds now, if it is still enough. For whoever took another lock, or of the platform.
pub async fn still(tx: &Tx, caller: &Caller, permission: &str) -> Result<Result<Held, Lost>, StoreError> {
    let Some(held) = management::held_now(tx, caller).await? else { return Ok(Err(Lost::Authority)) };
    let asked = Permission::parse(permission).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    Ok(if held.covers(&asked) { Ok(held) } else { Err(Lost::Authority) })
}
