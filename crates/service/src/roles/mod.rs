//! Roles: permissions under a name. Three are built in; an organization makes its own, and nobody gives what they do
//! not hold.

pub mod decide;
mod endpoint;

pub mod impact;
mod offered;
pub mod permissions;
mod shaping;
mod store;

use std::collections::BTreeMap;

use porteiro_protocol::{
    id::OrganizationId,
    permission::{Held, Permission},
    time::OffsetDateTime,
};

pub(crate) use endpoint::impact_answer;
pub use offered::{Grantable, offered};
pub use shaping::{Wanted, change, create, rehearse_change, rehearse_removal, remove};
pub use store::{find, list};

use crate::{
    http::Route,
    oauth::apis::Api,
    store::{Reader, StoreError},
};
use permissions::Reach;

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// A role an organization made for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    pub key: String,
    pub name: String,
    pub permissions: Vec<Permission>,
    pub version: i64,
    pub created_at: OffsetDateTime,
}

/// What each role of an organization permits, the built-in ones included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definitions(BTreeMap<String, Held>);

impl Definitions {
    pub fn new(own: impl IntoIterator<Item = (String, Held)>) -> Self {
        let built_in = BUILT_IN.iter().filter_map(|role| Some((role.key.to_owned(), built_in(role.key)?)));
        // Ours last: no row can say anything else about them.
        Self(own.into_iter().chain(built_in).collect())
    }

    pub fn get(&self, key: &str) -> Option<&Held> {
        self.0.get(key)
    }

    /// What whoever wears these holds.
    pub fn held<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> Held {
        keys.into_iter().filter_map(|key| self.get(key).cloned()).fold(Held::nothing(), Held::and)
    }
}

pub async fn definitions(
    reader: &impl Reader,
    organization: OrganizationId,
) -> Result<Definitions, StoreError> {
    let own = store::list(reader, organization).await?;
    Ok(Definitions::new(own.into_iter().map(|role| (role.key, Held::of(role.permissions)))))
}

/// Everything a role can permit: what our own API asks for in an organization, and what organizational APIs do.
pub fn grantable(apis: &[Api]) -> Vec<Permission> {
    let own = permissions::OWN.iter().filter(|own| own.reach == Reach::Organization).map(|own| own.name);
    let theirs = apis.iter().filter(|api| api.organizational).flat_map(|api| &api.scopes);
    own.chain(theirs.map(|scope| scope.name.as_str()))
        .filter_map(|name| Permission::parse(name).ok())
        .filter(|permission| !permission.is_reserved())
        .collect()
}

/// A role every organization has. What it permits is code, and changes with a release alone.
#[derive(Debug)]
pub struct BuiltIn {
    pub key: &'static str,
    pub name: &'static str,
    /// `None`: every permission but the reserved ones.
    pub permissions: Option<&'static [&'static str]>,
}

pub const OWNER: &str = "owner";

pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { key: OWNER, name: "Owner", permissions: None },
    BuiltIn {
        key: "admin",
        name: "Administrator",
        permissions: Some(&[
            "organization:*",
            "members:*",
            "roles:*",
            "invitations:*",
            "client-policies:*",
            "api-keys:*",
            "audit:*",
        ]),
    },
    BuiltIn { key: "member", name: "Member", permissions: Some(&["organization:read"]) },
];

/// What a built-in role holds; `None` if there is none of that name.
pub fn built_in(key: &str) -> Option<Held> {
    let role = BUILT_IN.iter().find(|role| role.key == key)?;
    Some(role.permissions.map_or_else(Held::everything, |texts| {
        Held::of(texts.iter().filter_map(|text| Permission::parse(text).ok()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_roles_hold_what_their_table_says_and_nothing_reserved() {
        for role in BUILT_IN {
            let held = built_in(role.key).unwrap();
            for text in porteiro_protocol::permission::RESERVED {
                assert!(!held.covers(&text.parse().unwrap()), "{} covers {text}", role.key);
            }
            assert_eq!(held.named().count(), role.permissions.map_or(0, <[_]>::len), "{}", role.key);
        }
        assert!(built_in("nobody").is_none());
    }
}
