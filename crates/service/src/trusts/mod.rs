//! What an organization has agreed with other authorization servers (draft-ietf-oauth-identity-assertion-authz-grant).
//!
//! 1. An [`AuthorizationServer`]: for which servers a client of ours may get assertions about members, and what they may
//!    carry.
//! 2. An [`AssertionIssuer`]: whose assertions a client may redeem here for tokens of a member.
//! 3. An [`ExternalIdentity`]: which member a subject of another server is. There is no other way to find a member: an
//!    address that both servers know proves nothing (docs/decisions/0102).
//!
//! Entries do not change: to change one, delete it and create another, so that the audit trail shows both.

pub mod decide;
mod store;

use porteiro_protocol::{
    id::{AssertionIssuerId, AuthorizationServerId, ExternalIdentityId, MembershipId, OrganizationId},
    jose::Algorithm,
    scope::Scope,
    time::OffsetDateTime,
};

pub use store::{identities, issuers, servers};

/// Most servers, or issuers, of an organization.
pub const MOST: i64 = 1_000;
/// Most identities of an organization.
pub const MOST_IDENTITIES: i64 = 1_000_000;

/// Another server, for one client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationServer {
    pub id: AuthorizationServerId,
    pub issuer: String,
    /// Of our client.
    pub client_id: String,
    /// The id that the client has there.
    pub remote_client_id: String,
    /// All that an assertion may carry.
    pub scope: Scope,
    /// The resources that an assertion may name.
    pub resources: Vec<String>,
    pub created_at: OffsetDateTime,
}

/// A server whose assertions one client may redeem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssertionIssuer {
    pub organization: OrganizationId,
    pub id: AssertionIssuerId,
    pub issuer: String,
    /// The only tenant of the issuer that is trusted; `None`: its assertions name none.
    pub tenant: Option<String>,
    pub client_id: String,
    pub algorithms: Vec<Algorithm>,
    /// Whether its `auth_time` and `acr` are believed. If not, they count as the least.
    pub believes_authentication: bool,
    pub created_at: OffsetDateTime,
}

/// A subject of another server, and the member that it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalIdentity {
    pub id: ExternalIdentityId,
    pub issuer: String,
    /// The tenant of the issuer; empty: none.
    pub tenant: String,
    pub subject: String,
    pub membership: MembershipId,
    pub created_at: OffsetDateTime,
}
