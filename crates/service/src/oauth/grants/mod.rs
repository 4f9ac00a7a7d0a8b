//! Grants: what a person allowed a client, in one row for life (OAuth 2.1 §4.1.2 and §4.3).
//!
//! 1. A completed authorization writes the row; its code is generation 0.
//! 2. Redeeming the code and rotating a refresh token are the same statement: it moves the row to the next generation
//!    if what was presented is the current one, and revokes the row if it is genuine but not current, whatever else is
//!    wrong with the request (docs/decisions/0073).
//! 3. Whoever ends what grants hang on (session, account, consent) says so in one row, in the same transaction. A refresh
//!    looks for such a row and has nothing else to ask; the grants themselves are revoked in batches (record 0067).
//! 4. A grant that was derived from another lives while that does (record 0088).

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
    Begun, Ending, EndingId, Held, NewActing, NewDerived, Owner, Revoked, Step, begin_ending, diagnose,
    end_superseded, find_acting, find_member, finish_ending, first_told, insert, insert_acting,
    insert_derived, is_alive, list, list_of_membership, lock_ending, look_again, reach, refusable,
    revoke_acting, revoke_one, statement, step,
};
pub(crate) use store::{meant, not_ended, not_ended_there};

use super::acting::Acting;
pub use crate::endings::Why;
use crate::organizations::Proved;

/// How and when the person signed in, and what the client asked to be told; frozen when the code was issued.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Terms {
    pub level: Level,
    pub auth_time: i64,
    pub amr: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// What the person proved it with: if one of these goes, so does the grant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<Uuid>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<serde_json::Value>,
    /// Who really acts, where somebody of the platform acts as the person (RFC 8693 §4.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<ActorChain>,
    /// No token of it is good beyond this, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// It was given to a device (RFC 8628).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub device: bool,
}

impl Terms {
    /// What an organization's policy is asked about.
    pub fn proved(&self, now: OffsetDateTime) -> Proved {
        Proved { level: self.level, at: OffsetDateTime::from_unix_timestamp(self.auth_time).ok(), now }
    }
}

/// A grant about to be written, with the code that is its generation 0.
#[derive(Debug)]
pub struct NewGrant<'a> {
    pub id: GrantId,
    pub account: AccountId,
    pub client_id: &'a str,
    pub session: SessionId,
    pub code_hash: [u8; 32],
    /// How long the code is good.
    pub code_seconds: f64,
    pub life: Life,
    pub offline: bool,
    pub code_challenge: &'a [u8; 32],
    pub redirect_uri: Option<&'a str>,
    pub bound_key: Option<[u8; 32]>,
    pub authority: &'a Authority,
    /// As whom in which organization, and at which version of its roles the scope was held.
    pub acting: Option<(&'a Acting, i64)>,
    /// Of the client and the APIs by which it was allowed.
    pub definition: i64,
    pub terms: &'a Terms,
}

/// How long a family may go on, in all and unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    pub total_seconds: i32,
    pub idle_seconds: i32,
}

/// A genuine code or refresh token, with everything its row must agree to.
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
    /// Whether the key binds the grant from here on: for clients that cannot prove themselves otherwise.
    pub binds: bool,
    /// What the verifier hashes to; a code opens for nothing else.
    pub challenge: Option<[u8; 32]>,
    pub redirect_uri: Option<String>,
    /// As [`Scope::with_wildcards`](porteiro_protocol::scope::Scope::with_wildcards) writes it.
    pub scope: Option<String>,
    pub audience: Option<String>,
    /// Of the client and the APIs as they are now.
    pub definition: i64,
    /// What was found when it was looked at whether all of it is allowed and held still; none: as the row says.
    pub rechecked: Option<Rechecked>,
    pub log: LogEntry,
}

/// A grant whose client, API or organization changed since it was last seen to be allowed and held, looked at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rechecked {
    /// In an organization: which versions were looked at.
    pub roles: Option<Versions>,
    /// Whether all that was granted is allowed and held, not only what is asked for now.
    pub whole: bool,
}

/// Of an organization's roles and policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// What the row said then: if it says anything else now, it has to be looked at once more.
    pub seen: i64,
    /// The organization's own.
    pub current: i64,
}

/// A genuine code or refresh token that came with a request which was refused for something else.
#[derive(Debug)]
pub struct Superseded {
    pub grant: Uuid,
    pub account: Uuid,
    pub client_id: String,
    pub hash: [u8; 32],
    /// 0 for a code.
    pub generation: i32,
    /// What the verifier hashes to.
    pub challenge: Option<[u8; 32]>,
    pub log: LogEntry,
}

/// Where a reuse is written down, in the statement that finds it.
#[derive(Debug, Clone)]
pub struct LogEntry {
    pub id: Uuid,
    pub request: Uuid,
    pub personal: serde_json::Value,
}

/// What came of presenting it.
#[derive(Debug)]
pub enum Outcome {
    Moved(Box<Live>),
    /// Genuine, but used before: the grant is revoked now.
    Reused,
    /// Unknown, expired, revoked, another client's, or not what it was granted for. Nothing changed.
    Refused,
}

/// A grant that is good now.
#[derive(Debug, Clone)]
pub struct Live {
    pub id: GrantId,
    pub account: AccountId,
    pub session: SessionId,
    pub authority: Authority,
    pub acting: Option<Acting>,
    /// At which version of the organization's roles all of it was held.
    pub authority_version: Option<i64>,
    pub terms: Terms,
    pub created_at: OffsetDateTime,
}

impl Live {
    /// As tokens name the person: in an organization, by what they are there.
    pub fn subject(&self) -> Uuid {
        self.acting.as_ref().map_or_else(|| self.account.uuid(), |acting| acting.membership.uuid())
    }
}
