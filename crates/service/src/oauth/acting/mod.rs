//! For whom a token speaks: a person, a client, or one of them in exactly one organization (docs/decisions/0034). `sub`, `org`,
//! `role` and whether the scopes are held are settled here, for every grant.
//!
//! 1. A scope is a permission where its API says so ([`Api::organizational`]) and at our own management API. Permissions
//!    exist only in an organization and must be held there, through roles, by whoever the token speaks for.
//! 2. What is not held is refused, never left out, and asked again whenever a token is made or looked at.

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

/// Somebody in an organization, as a grant and its tokens name them.
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

/// Why somebody may not have a token as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    Unusable(Unusable),
    Lacks(Vec<Permission>),
}

/// Which of the scopes are permissions in an organization. `api`: the one the token is for; none: our own.
pub fn permissions(authority: &Authority, api: Option<&Api>) -> Vec<Permission> {
    let is_permission = |name: &str| match api {
        Some(api) => api.organizational && api.scope(name).is_some(),
        None => permissions::find(name).is_some_and(|own| own.reach == Reach::Organization),
    };
    let scopes = authority.scope().iter().filter(|name| is_permission(name));
    scopes.filter_map(|name| Permission::parse(name).ok()).collect()
}

/// What a token needs: nothing, or an organization in which all of this is held.
pub fn needs_organization(authority: &Authority, api: Option<&Api>) -> bool {
    !permissions(authority, api).is_empty()
}

/// Whether all of it is held, now.
///
/// # Errors
/// When the membership counts for nothing, or does not hold some of it.
pub fn check(member: &Member, authority: &Authority, api: Option<&Api>) -> Result<(), Refused> {
    let held: &Held = member.held().map_err(Refused::Unusable)?;
    let asked = permissions(authority, api);
    let missing: Vec<Permission> = held.missing(&asked).into_iter().cloned().collect();
    if missing.is_empty() { Ok(()) } else { Err(Refused::Lacks(missing)) }
}

/// Which rule refused, and what would have passed.
pub fn explain(lacking: &Refused) -> (Rule, String) {
    match lacking {
        Refused::Unusable(Unusable::Suspended) => {
            (Rule::OrganizationSuspended, "the same request after the organization is resumed".into())
        }
        Refused::Unusable(Unusable::Disabled | Unusable::Removed) => (
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
