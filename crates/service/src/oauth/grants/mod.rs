//! Grants: what a person allowed a client, in one row for the whole lifetime (OAuth 2.1 §4.1.2 and §4.3).
//!
//! 1. A completed authorization writes the row; its code is generation 0.
//! 2. Redeeming the code and rotating a refresh token are the same statement: it moves the row to the next generation
//!    if the presented one is current, and revokes the row if it is genuine but superseded, whatever else is wrong
//!    with the request (docs/decisions/0073).
//! 3. Ending what grants depend on (session, account, consent) writes one row in the same transaction. A refresh
//!    checks only for such a row; the grants are revoked in batches (record 0067).
//! 4. A derived grant is valid while its ancestors are (record 0088).

mod grouped;
mod store;

use porteiro_protocol::{
    actor::ActorChain,
    assurance::Level,
    authority::Authority,
    id::{AccountId, SessionId},
    time::OffsetDateTime,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use grouped::Presenter;
pub use porteiro_protocol::id::GrantId;
pub use store::{
    ALIVE, Assertable, Asserted, Begun, Ending, EndingId, Held, NewActing, NewAsserted, NewDerived, Owner,
    Place, Revoked, Step, begin_ending, deriving_statement, diagnose, end_superseded, entrance, find_acting,
    find_assertable, find_member, finish_ending, insert, insert_acting, insert_asserted, insert_derived,
    is_alive, is_confined, list, list_of_membership, lock_ending, look_again, reach, redelegable, refusable,
    revoke_acting, revoke_asserted, revoke_one, statement, step, store_notified,
};
pub(crate) use store::{delegation_lives, directory_vouches, meant, not_ended, not_ended_there};

use super::acting::Acting;
pub use crate::endings::Why;
use crate::organizations::{Entrance, Proved};

/// How and when the person signed in, with nonce and details of the request; fixed when the code was issued.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Terms {
    pub level: Level,
    /// 0 if a directory did not say it: longer ago than anything that is required.
    pub auth_time: i64,
    pub amr: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// The credentials the person proved with: the grant ends with any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<Uuid>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<serde_json::Value>,
    /// The actor, where a platform administrator impersonates the person (RFC 8693 §4.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<ActorChain>,
    /// Latest expiry of its tokens, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// It was given to a device (RFC 8628).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub device: bool,
    /// What was approved, for which it is good once: nothing is derived from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Uuid>,
    /// Only a directory of the organization vouched for the person: nothing of their account is told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// The epoch of the directory that vouched for the person, also beside proofs of their own: the grant ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_epoch: Option<i64>,
    /// By which of the ways that an organization may require the person came.
    #[serde(default, skip_serializing_if = "Entrance::is_none")]
    pub entrance: Entrance,
}

impl Terms {
    /// The input of an organization's policy.
    pub fn proved(&self, now: OffsetDateTime) -> Proved {
        let at = OffsetDateTime::from_unix_timestamp(self.auth_time).ok();
        Proved { level: self.level, at, entrance: self.entrance, now }
    }
}

/// A grant to be written, with its code.
#[derive(Debug)]
pub struct NewGrant<'a> {
    pub id: GrantId,
    pub account: AccountId,
    pub client_id: &'a str,
    pub session: SessionId,
    pub code_hash: [u8; 32],
    /// The lifetime of the code.
    pub code_seconds: f64,
    pub life: Life,
    pub offline: bool,
    pub code_challenge: &'a [u8; 32],
    pub redirect_uri: Option<&'a str>,
    pub bound_key: Option<[u8; 32]>,
    pub authority: &'a Authority,
    /// The member, and the version of the organization's authority at which the scope was held.
    pub acting: Option<(&'a Acting, i64)>,
    /// The definitions of client and APIs under which it was allowed.
    pub definition: i64,
    pub terms: &'a Terms,
}

/// The lifetime of a refresh token family, in all and unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    pub total_seconds: i32,
    pub idle_seconds: i32,
}

/// A genuine code or refresh token, with what its row is compared with.
#[derive(Debug, Clone)]
pub struct Presentation {
    pub grant: Uuid,
    pub account: Uuid,
    pub client_id: String,
    pub hash: [u8; 32],
    /// 0 for a code.
    pub generation: i32,
    pub next_hash: [u8; 32],
    pub key: Option<[u8; 32]>,
    /// Whether the key binds the grant from now on: for public clients.
    pub binds: bool,
    /// The challenge of the verifier; a code requires it.
    pub challenge: Option<[u8; 32]>,
    pub redirect_uri: Option<String>,
    /// As [`Scope::with_wildcards`](porteiro_protocol::scope::Scope::with_wildcards) writes it.
    pub scope: Option<String>,
    pub audience: Option<String>,
    /// The current definitions of client and APIs.
    pub definition: i64,
    /// The result of a recheck that everything is still allowed and held; `None`: the row decides.
    pub rechecked: Option<Rechecked>,
    pub log: LogEntry,
}

/// The recheck of a grant whose client, API or organization changed since the last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rechecked {
    /// In an organization: the versions that were checked.
    pub roles: Option<Versions>,
    /// Whether all granted authority is allowed and held, not only what is requested now.
    pub whole: bool,
}

/// Versions of an organization's roles and policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// The version in the row at the time: if the row has another one now, the recheck is repeated.
    pub seen: i64,
    /// The organization's version.
    pub current: i64,
}

/// A genuine code or refresh token of a request that was refused for another reason.
#[derive(Debug)]
pub struct Superseded {
    pub grant: Uuid,
    pub account: Uuid,
    pub client_id: String,
    pub hash: [u8; 32],
    /// 0 for a code.
    pub generation: i32,
    /// The challenge of the verifier.
    pub challenge: Option<[u8; 32]>,
    pub log: LogEntry,
}

/// An entry of the security log that a statement writes along with its change.
#[derive(Debug, Clone)]
pub struct LogEntry {
    pub id: Uuid,
    pub request: Uuid,
    pub personal: serde_json::Value,
}

/// The result of presenting a code or refresh token.
#[derive(Debug)]
pub enum Outcome {
    Moved(Box<Live>),
    /// Genuine, but used before: the grant is revoked.
    Reused,
    /// Unknown, expired, revoked, of another client, or not within the grant. Nothing changed.
    Refused,
}

/// A grant that is valid now.
#[derive(Debug, Clone)]
pub struct Live {
    pub id: GrantId,
    pub account: AccountId,
    pub session: SessionId,
    pub authority: Authority,
    pub acting: Option<Acting>,
    /// The version of the organization's authority at which all of it was held.
    pub authority_version: Option<i64>,
    pub terms: Terms,
    pub created_at: OffsetDateTime,
}

impl Live {
    /// The subject of its tokens: in an organization, the member.
    pub fn subject(&self) -> Uuid {
        self.acting.as_ref().map_or_else(|| self.account.uuid(), |acting| acting.membership.uuid())
    }
}
