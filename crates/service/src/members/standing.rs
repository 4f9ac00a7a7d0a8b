//! Where somebody stands when they change who may do what: asked again once nobody else can change it.

use porteiro_protocol::permission::{Held, Permission};

use super::{Whom, store};
use crate::{
    management::{By, Caller},
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
    let membership = match &caller.by {
        By::Member { membership, .. } => Some(*membership),
        By::Key { membership, .. } => *membership,
        By::Operator(_) => None,
    };
    let held = match membership {
        None => caller.held.clone(),
        Some(id) => {
            let member = store::find(tx, organization.id, Whom::Id(id)).await?;
            let now = member.as_ref().and_then(|member| member.held().ok());
            let Some(now) = now else { return Ok(Err(Lost::Authority)) };
            match &caller.by {
                By::Key { .. } if now.covers_all(&caller.held) => caller.held.clone(),
                By::Key { .. } => return Ok(Err(Lost::Authority)),
                By::Member { .. } | By::Operator(_) => now.clone(),
            }
        }
    };
    let asked = Permission::parse(permission).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    if held.covers(&asked) { Ok(Ok(Standing { organization, held })) } else { Ok(Err(Lost::Authority)) }
}
