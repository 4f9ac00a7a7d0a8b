//! Roles: named sets of permissions. Three are built in; organizations create their own. `management/roles` creates and
//! changes them, and a caller gives only what it holds.

mod offered;
mod store;

use std::collections::BTreeMap;

use porteiro_protocol::{
    id::OrganizationId,
    permission::{Held, Permission},
    time::OffsetDateTime,
};

pub use offered::{Grantable, offered};
pub use store::{find, list};

use crate::{
    oauth::apis::Api,
    permissions::{self, BUILT_IN, Reach, built_in},
    store::{Reader, StoreError},
};

/// A custom role of an organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    pub key: String,
    pub name: String,
    pub permissions: Vec<Permission>,
    pub version: i64,
    pub created_at: OffsetDateTime,
}

/// The permissions of each role of an organization, built-in ones included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definitions(BTreeMap<String, Held>);

impl Definitions {
    pub fn new(own: impl IntoIterator<Item = (String, Held)>) -> Self {
        let built_in = BUILT_IN.iter().filter_map(|role| Some((role.key.to_owned(), built_in(role.key)?)));
        // Built-in roles last: a row cannot redefine them.
        Self(own.into_iter().chain(built_in).collect())
    }

    pub fn get(&self, key: &str) -> Option<&Held> {
        self.0.get(key)
    }

    /// The permissions of a member with these roles.
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

/// All permissions that a role can include: those of the management API in an organization, and the scopes of
/// organizational APIs.
pub fn grantable(apis: &[Api]) -> Vec<Permission> {
    let own = permissions::OWN.iter().filter(|own| own.reach == Reach::Organization).map(|own| own.name);
    let theirs = apis.iter().filter(|api| api.organizational).flat_map(|api| &api.scopes);
    own.chain(theirs.map(|scope| scope.name.as_str()))
        .filter_map(|name| Permission::parse(name).ok())
        .filter(|permission| !permission.is_reserved())
        .collect()
}
