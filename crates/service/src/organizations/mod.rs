//! Organizations: tenants. An account has a separate identity in each, and a token is for one (docs/decisions/0034).
//! `management/organizations` creates and changes them.

mod entry;
mod store;

use porteiro_protocol::{
    actor::ActorChain,
    assurance::Level,
    client_metadata::{ClientKind, ClientMetadata},
    id::{ConnectionId, MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use serde::{Deserialize, Serialize};

pub use entry::{Door, Entrance, Proved, Unmet};
pub use store::{Name, Status, check_again, find, find_named, insert, lock};

use crate::store::text_enum;

#[derive(Debug, Clone)]
pub struct Organization {
    pub id: OrganizationId,
    pub slug: String,
    pub name: String,
    pub status: Status,
    pub policy: Policy,
    pub locale: String,
    /// Incremented when the permissions of roles change; see `oauth_grant.authority_version`.
    pub authority_version: i64,
    pub version: i64,
    pub created_at: OffsetDateTime,
}

text_enum! {
    /// The language of messages to members who have not chosen one.
    Language { En = "en", Pt = "pt-BR" }
}

text_enum! {
    /// Which clients without a client policy may act for an organization.
    ThirdParty { All = "all", Verified = "verified", Listed = "listed" }
}

text_enum! {
    /// Whether clients may act for members of an organization (RFC 8693 §4.1, `act`).
    Agents { Allowed = "allowed", Frozen = "frozen" }
}

text_enum! {
    /// Whether a typed address leads to the connection of the organization that verified its domain (docs/decisions/0133).
    Discovery { Quiet = "quiet", Public = "public" }
}

/// What an organization requires of its members and their clients. It can only be stricter than the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The lowest level that a member must reach.
    #[serde(default = "none")]
    pub min_level: Level,
    /// The maximum age of the proofs, in seconds.
    #[serde(default)]
    pub max_age: Option<u32>,
    #[serde(default = "all")]
    pub third_party_clients: ThirdParty,
    /// `frozen` stops every agent in the organization at once, until it is `allowed` again. Not written while `allowed`, so
    /// that nodes of the previous release can read it.
    #[serde(default = "allowed", skip_serializing_if = "Agents::are_allowed")]
    pub agents: Agents,
    /// The connection of the organization by which its members must sign in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_connection: Option<ConnectionId>,
    /// The owner who may sign in with a passkey instead, if the connection fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<MembershipId>,
    /// `public`: any address at a verified domain leads to the organization's connections, whoever typed it. This tells
    /// everybody that the domain is a customer's.
    #[serde(default = "quiet", skip_serializing_if = "Discovery::is_quiet")]
    pub discovery: Discovery,
}

const fn none() -> Level {
    Level::None
}

const fn quiet() -> Discovery {
    Discovery::Quiet
}

impl Discovery {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    const fn is_quiet(&self) -> bool {
        match self {
            Self::Quiet => true,
            Self::Public => false,
        }
    }
}

const fn allowed() -> Agents {
    Agents::Allowed
}

impl Agents {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    const fn are_allowed(&self) -> bool {
        match self {
            Self::Allowed => true,
            Self::Frozen => false,
        }
    }

    /// Whether a token or a request of this client may act for a member now: a platform administrator who impersonates is
    /// no agent.
    pub fn admit(self, actor: Option<&ActorChain>) -> bool {
        self.are_allowed() || actor.is_none_or(|chain| chain.impersonator().is_some())
    }

    /// Whether a client may act for itself, or a person through it: an agent not while agents are frozen.
    pub fn admit_itself(self, client: &ClientMetadata, impersonated: bool) -> bool {
        let agent = match client.kind {
            ClientKind::Agent => true,
            ClientKind::Application | ClientKind::Service => false,
        };
        self.are_allowed() || impersonated || !agent
    }
}

const fn all() -> ThirdParty {
    ThirdParty::All
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            min_level: Level::None,
            max_age: None,
            third_party_clients: all(),
            agents: allowed(),
            require_connection: None,
            break_glass: None,
            discovery: quiet(),
        }
    }
}
