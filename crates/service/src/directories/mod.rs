//! Directories of organizations: which member an identity there is (docs/decisions/0120).
//!
//! 1. An identity is a connection of the organization and the subject there. It belongs to a membership and is no
//!    credential of the account: no address is ever compared.
//! 2. A member for whom a directory vouches ([`Vouched`]) acts in that organization, and nowhere else.
//! 3. An identity that nobody has yet leads to a [`Claim`]: the person says which account they are, and proves it, or
//!    gets a new one ([`attach`]). A person who is not a member becomes one only where the organization admits them
//!    ([`decide::admit`]).
//! 4. Disabling the connection ends all of it, for ever: its epoch is part of every proof, and is over
//!    (docs/decisions/0121). [`ENDING`] then ends the rows.
//! 5. The directory signs a person out ([`sign_out`]): what rests on that session there ends (docs/decisions/0130).

mod claim;
mod coming;
mod decide;
mod ending;
mod entrance;
mod linked;
mod rejection;
mod signing_out;
mod store;

use porteiro_protocol::{
    assurance::{DirectoryProof, Method, Proof},
    id::{AccountId, ConnectionId, DirectoryIdentityId, MembershipId, OrganizationId, SessionId},
    time::OffsetDateTime,
};
use serde::{Deserialize, Serialize};

pub use claim::{Attached, Claim, Claimant, attach};
pub use coming::{Held, held, may_come_by_directory};
use decide::Provisioned;
pub use decide::{Admission, Described};
pub use ending::{ENDING, end_epoch};
pub use entrance::{VouchedBy, proved, proved_by};
pub use linked::{Linked, unlink_one};
pub use rejection::record_rejection;
pub use signing_out::{SWEEPING, Whom, remember, sign_out};
pub use store::{Discovered, discover, find, list_of_account, list_of_member, standing, unlink};

use crate::{
    connections::Entry,
    domains,
    members::{self, State},
    roles,
    store::{Reader, StoreError},
};

/// An identity that a member has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub id: DirectoryIdentityId,
    pub organization: OrganizationId,
    pub connection: ConnectionId,
    pub membership: MembershipId,
    pub account: AccountId,
    pub state: State,
    /// How the organization calls the member.
    pub display_name: String,
    /// The present epoch of the connection.
    pub epoch: i64,
}

/// A member for whom a directory vouches, in a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vouched {
    pub organization: OrganizationId,
    pub identity: DirectoryIdentityId,
    pub account: AccountId,
    pub proof: DirectoryProof,
    /// The session in which the proof was made, and the hash of its token; none: it was made in this flow.
    pub session: Option<(SessionId, Vec<u8>)>,
}

impl Vouched {
    /// The directory vouched for the member just now, or longer ago, as it says itself.
    pub fn now(identity: &Identity, at: OffsetDateTime, sid: Option<String>) -> Self {
        let credential = Some(identity.id.uuid());
        let proof = Proof { method: Method::Federated, credential, at, user_verified: false };
        Self {
            organization: identity.organization,
            identity: identity.id,
            account: identity.account,
            proof: DirectoryProof::new(identity.organization, proof, identity.epoch, sid),
            session: None,
        }
    }

    /// The proof of a session; `None` if it names no identity.
    pub fn of_session(
        organization: OrganizationId,
        account: AccountId,
        proof: DirectoryProof,
        session: (SessionId, Vec<u8>),
    ) -> Option<Self> {
        let identity = proof.within(organization)?.credential?.into();
        Some(Self { organization, identity, account, proof, session: Some(session) })
    }
}

/// How a person enters whom the organization does not know, or why only members do.
pub async fn admission(
    reader: &impl Reader,
    organization: OrganizationId,
    entry: &Entry,
    described: &Described,
) -> Result<Result<Admission, String>, StoreError> {
    let has_role = match &entry.jit_role {
        Some(role) => roles::definitions(reader, organization).await?.get(role).is_some(),
        None => false,
    };
    let has_domain = match described.domain.as_deref().filter(|_| has_role) {
        Some(domain) => domains::is_verified(reader, organization, domain).await?,
        None => false,
    };
    let member = match &described.external_id {
        Some(id) => members::by_external_id(reader, organization, id).await?,
        None => None,
    };
    let provisioned = member.and_then(|member| match member.state {
        State::Provisioned => Some(Provisioned::Unclaimed(member.id)),
        State::Active => Some(Provisioned::Claimed),
        State::Disabled => Some(Provisioned::Disabled),
        State::Removed => None,
    });
    Ok(decide::admit(entry, described, &decide::Known { has_role, has_domain, provisioned }))
}
