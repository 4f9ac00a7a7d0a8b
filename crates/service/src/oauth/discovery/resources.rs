//! Metadata of registered APIs (RFC 9728), published here for each URL at which they are reached (docs/decisions/0092).

use porteiro_protocol::metadata::{ProtectedResource, is_same_resource, resource_path};

use super::super::apis::Api;
use crate::{App, store::StoreError};

/// The document whose path below the well-known one is a resource's host and path.
pub(super) async fn find(app: &App, path: &str) -> Result<Option<ProtectedResource>, StoreError> {
    let apis = app.directory.apis(&app.store).await?;
    let asked = format!("https://{path}");
    let is_asked = |resource: &str| is_same_resource(&format!("https://{}", resource_path(resource)), &asked);
    Ok(apis.iter().find_map(|api| {
        let resource = api.resources.iter().find(|resource| is_asked(resource))?;
        Some(document(app.issuer(), api, resource))
    }))
}

/// RFC 9728 §3.3: `resource` is the URL that the client called, so each URL has its own document. Only scopes that every
/// client may request are listed: a client that knows no better requests all of them.
fn document(issuer: &str, api: &Api, resource: &str) -> ProtectedResource {
    let open = api.scopes.iter().filter(|scope| scope.open_to_unverified);
    ProtectedResource {
        resource: resource.to_owned(),
        authorization_servers: vec![issuer.to_owned()],
        bearer_methods_supported: vec!["header"],
        scopes_supported: open.map(|scope| scope.name.clone()).collect(),
        resource_name: api.name.clone(),
        authorization_details_types_supported: details_types(std::slice::from_ref(api)),
    }
}

/// The types of authorization details that these APIs understand, each once.
pub(super) fn details_types(apis: &[Api]) -> Vec<String> {
    let mut names: Vec<String> =
        apis.iter().flat_map(|api| &api.details).map(|detail| detail.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Every resource whose metadata are published here, ours first.
pub(super) fn all(issuer: &str, apis: &[Api]) -> Vec<String> {
    let others = apis.iter().flat_map(|api| api.resources.iter().cloned());
    std::iter::once(issuer.to_owned()).chain(others).collect()
}
