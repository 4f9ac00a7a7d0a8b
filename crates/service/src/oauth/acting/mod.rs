//! The subject of a token: a person, a client, or one of them in exactly one organization (docs/decisions/0034).
//! `sub`, `org`, `role` and whether the scopes are held are decided here, for every grant type.
//!
//! 1. A scope is a permission if its API is organizational ([`Api::organizational`]) and at our own management API.
//!    Permissions exist only in an organization, and the subject must hold them there, through roles.
//! 2. A permission that is not held is refused, never dropped. This is checked again whenever a token is issued or
//!    used.

use porteiro_protocol::{
    authority::Authority,
    id::{MembershipId, OrganizationId},
    permission::{Held, Permission},
};

use super::apis::Api;
use crate::{
    members::{Member, Unusable},
    permissions::{self, Reach},
    refusals::Rule,
};

/// A member of an organization, as in a grant and its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acting {
    pub organization: OrganizationId,
    pub membership: MembershipId,
    pub role: String,
}

impl From<&Member> for Acting {
    fn from(member: &Member) -> Self {
        Self {
            organization: member.organization.id,
            membership: member.id,
            role: member.primary_role.clone(),
        }
    }
}

/// Why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    Unusable(Unusable),
    Lacks(Vec<Permission>),
}

/// The scopes that are permissions in an organization. `api` is the API the token is for; `None`: our own.
pub fn permissions(authority: &Authority, api: Option<&Api>) -> Vec<Permission> {
    let is_permission = |name: &str| match api {
        Some(api) => api.organizational && api.scope(name).is_some(),
        None => permissions::find(name).is_some_and(|own| own.reach == Reach::Organization),
    };
    let scopes = authority.scope().iter().filter(|name| is_permission(name));
    scopes.filter_map(|name| Permission::parse(name).ok()).collect()
}

/// Whether the token needs an organization in which its permissions are held.
pub fn needs_organization(authority: &Authority, api: Option<&Api>) -> bool {
    !permissions(authority, api).is_empty()
}

/// Whether the member holds all permissions now.
///
/// # Errors
/// When the membership is not usable, or a permission is not held.
pub fn check(member: &Member, authority: &Authority, api: Option<&Api>) -> Result<(), Refused> {
    let held: &Held = member.held().map_err(Refused::Unusable)?;
    let asked = permissions(authority, api);
    let missing: Vec<Permission> = held.missing(&asked).into_iter().cloned().collect();
    if missing.is_empty() { Ok(()) } else { Err(Refused::Lacks(missing)) }
}

/// The rule that refused, and what would pass.
pub fn explain(lacking: &Refused) -> (Rule, String) {
    match lacking {
        Refused::Unusable(Unusable::Suspended) => {
            (Rule::OrganizationSuspended, "the same request after the organization is resumed".into())
        }
        Refused::Unusable(Unusable::Unclaimed | Unusable::Disabled | Unusable::Removed) => (
            Rule::MemberDisabled,
            "no request until the member is enabled; then a new authorization request".into(),
        ),
        Refused::Lacks(missing) => {
            let missing: Vec<&str> = missing.iter().map(Permission::as_str).collect();
            let missing = missing.join(" ");
            (
                Rule::PermissionNotHeld,
                format!("the same request without {missing}, or a role that includes {missing}"),
            )
        }
    }
}
