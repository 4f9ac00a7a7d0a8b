//! What an organization has agreed with other authorization servers (draft-ietf-oauth-identity-assertion-authz-grant).
//!
//! 1. An [`AuthorizationServer`]: for which servers a client of ours may get assertions about members, and what they may
//!    carry.
//!
//! Entries do not change: to change one, delete it and create another, so that the audit trail shows both.

pub mod decide;
mod store;

use porteiro_protocol::{id::AuthorizationServerId, scope::Scope, time::OffsetDateTime};

pub use store::servers;

/// Most entries of one kind in an organization.
pub const MOST: i64 = 1_000;

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
