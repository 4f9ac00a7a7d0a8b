//! Which clients may act for an organization: by client policy, otherwise by its policy for third parties. Checked
//! whenever an organization is chosen for a client, and whenever a grant is checked again. `management/client_policies`
//! sets client policies.

pub mod decide;
mod store;

pub use decide::Decision;
pub use store::{ClientPolicy, count, find, list, present, put, remove};

use porteiro_protocol::client_metadata::ClientKind;

use crate::{
    oauth::clients::Client,
    organizations::{Agents, Organization},
    store::{Reader, StoreError},
};

/// Whether a client may act for an organization now.
pub async fn allows(
    reader: &impl Reader,
    organization: &Organization,
    client: &Client,
) -> Result<bool, StoreError> {
    // A private client of another organization is never allowed, whatever a client policy says.
    if !client.is_known_to(organization.id) {
        return Ok(false);
    }
    match (organization.policy.agents, client.metadata.kind) {
        (Agents::Frozen, ClientKind::Agent) => return Ok(false),
        (Agents::Frozen, ClientKind::Application | ClientKind::Service) | (Agents::Allowed, _) => {}
    }
    let named = store::find(reader, organization.id, &client.id).await?.map(|policy| policy.decision);
    Ok(decide::allowed(named, client.trust, organization.policy.third_party_clients))
}
