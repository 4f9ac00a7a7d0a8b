//! The permissions that a role or a key of an organization can have, with descriptions.

use porteiro_protocol::permission::{Held, Permission};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    App,
    oauth::apis,
    permissions::{OWN, Reach},
    store::StoreError,
};

/// A permission that a role can include. `resource:*` covers every action of a resource.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "GrantablePermission")]
pub struct Grantable {
    pub permission: String,
    /// The API of the permission; null: the management API.
    pub api: Option<String>,
    pub en: String,
    pub pt: String,
    /// Whether the caller holds the permission and can give it.
    pub held: bool,
}

/// The available permissions, and which of them a holder of `held` may give.
pub async fn offered(app: &App, held: &Held) -> Result<Vec<Grantable>, StoreError> {
    let held = |text: &str| Permission::parse(text).is_ok_and(|one| held.covers(&one));
    let own = OWN.iter().filter(|own| own.reach == Reach::Organization).map(|own| Grantable {
        permission: own.name.to_owned(),
        api: None,
        en: own.en.to_owned(),
        pt: own.pt.to_owned(),
        held: held(own.name),
    });
    let apis = apis::list(&app.store).await?;
    let theirs = apis.iter().filter(|api| api.organizational).flat_map(|api| {
        api.scopes.iter().map(|scope| Grantable {
            permission: scope.name.clone(),
            api: Some(api.identifier.clone()),
            en: scope.description.en.clone(),
            pt: scope.description.pt.clone(),
            held: held(&scope.name),
        })
    });
    Ok(own.chain(theirs).collect())
}
