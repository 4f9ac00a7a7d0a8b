//! API keys (`flows.md` 3.6): personal, of an organization, of the platform. A key borrows authority and never adds any:
//! at every use its permissions must be held by whoever it belongs to, all of them, or it does nothing.

mod store;

use std::net::IpAddr;

use porteiro_protocol::{
    api_key::ApiKey,
    id::{MembershipId, OrganizationId},
    permission::{Held, Permission},
};

pub use store::{Key, KeyKind, NewKey, find, insert, revoke_of_membership, touch};

use crate::{
    members::{self, Member, Whom},
    organizations::{self, Organization, Status},
    store::{Store, StoreError},
};

/// What a key is worth now.
#[derive(Debug)]
pub struct Usable {
    pub key: Key,
    pub held: Held,
    /// Where it counts; none for the platform's own.
    pub organization: Option<Organization>,
    pub member: Option<Member>,
}

/// Why a genuine key does nothing.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// Unknown, wrong, expired, revoked, from elsewhere, or its owner is gone: one answer.
    Invalid,
    /// Its organization is suspended.
    Suspended(OrganizationId),
    /// Its owner no longer holds all of it.
    Exceeds { organization: OrganizationId, missing: Vec<Permission> },
}

/// Whether a presented key may be used from here, and for what. Asked of the database, every time.
pub async fn check(
    store: &Store,
    presented: &ApiKey,
    address: IpAddr,
) -> Result<Result<Usable, Refused>, StoreError> {
    let Some(key) = find(store, presented.id(), &presented.hash()).await? else {
        return Ok(Err(Refused::Invalid));
    };
    if !key.allows(address) {
        return Ok(Err(Refused::Invalid));
    }
    match (key.kind, key.organization) {
        (KeyKind::Platform, None) => {
            let held = Held::of(key.permissions.clone());
            Ok(Ok(Usable { key, held, organization: None, member: None }))
        }
        (KeyKind::Organization, Some(id)) => of_organization(store, key, id).await,
        (KeyKind::Personal, Some(id)) => of_member(store, key, id).await,
        (KeyKind::Platform, Some(_)) | (KeyKind::Organization | KeyKind::Personal, None) => {
            Ok(Err(Refused::Invalid))
        }
    }
}

async fn of_organization(
    store: &Store,
    key: Key,
    id: OrganizationId,
) -> Result<Result<Usable, Refused>, StoreError> {
    let Some(organization) = organizations::find(store, id).await? else { return Ok(Err(Refused::Invalid)) };
    match organization.status {
        Status::Suspended => Ok(Err(Refused::Suspended(id))),
        Status::Enabled => {
            let held = Held::of(key.permissions.clone());
            Ok(Ok(Usable { key, held, organization: Some(organization), member: None }))
        }
    }
}

async fn of_member(
    store: &Store,
    key: Key,
    id: OrganizationId,
) -> Result<Result<Usable, Refused>, StoreError> {
    let owner = match key.membership {
        Some(membership) => members::find(store, id, Whom::Id(membership)).await?,
        None => None,
    };
    let Some(member) = owner else { return Ok(Err(Refused::Invalid)) };
    // Disabled in between: what was made before stays dead.
    if key.created_at < member.grants_from {
        return Ok(Err(Refused::Invalid));
    }
    let held = match member.held() {
        Ok(held) => held,
        Err(members::Unusable::Suspended) => return Ok(Err(Refused::Suspended(id))),
        Err(members::Unusable::Disabled | members::Unusable::Removed) => return Ok(Err(Refused::Invalid)),
    };
    let missing: Vec<Permission> = held.missing(&key.permissions).into_iter().cloned().collect();
    if !missing.is_empty() {
        return Ok(Err(Refused::Exceeds { organization: id, missing }));
    }
    let organization = Some(member.organization.clone());
    Ok(Ok(Usable { held: Held::of(key.permissions.clone()), key, organization, member: Some(member) }))
}

/// As whom a key acts, for the trail.
pub fn owner(key: &Key) -> Option<MembershipId> {
    key.membership
}
