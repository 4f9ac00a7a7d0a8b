//! Roles: permissions under a name. Three are built in; an organization makes its own, and nobody gives what they do
//! not hold. `management/roles` makes and changes them.

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
