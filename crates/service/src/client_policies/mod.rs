//! Which clients may act for an organization: allowed or blocked by name, else by what its policy says of third parties.
//! Asked whenever an organization is chosen for a client, and again when a grant is looked at anew. Organizations name
//! clients in `management/client_policies`.

pub mod decide;
mod store;

pub use decide::Decision;
pub use store::{ClientPolicy, count, find, list, present, put, remove};

use crate::{
    oauth::clients::Client,
    organizations::Organization,
    store::{Reader, StoreError},
};

/// Whether a client may act for an organization now.
pub async fn allows(
    reader: &impl Reader,
    organization: &Organization,
    client: &Client,
) -> Result<bool, StoreError> {
    // Another organization's private client speaks for no other, whatever is said of it by name.
    if !client.is_known_to(organization.id) {
        return Ok(false);
    }
    let named = store::find(reader, organization.id, &client.id).await?.map(|policy| policy.decision);
    Ok(decide::allowed(named, client.trust, organization.policy.third_party_clients))
}
