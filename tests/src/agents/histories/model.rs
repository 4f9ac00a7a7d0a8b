//! What the histories are compared with.

use porteiro_protocol::id::{MembershipId, OrganizationId};

pub const NAMES: [&str; 3] = ["salaries:read", "salaries:write", "reports:read"];
pub const AGENTS: usize = 5;
pub const PLACES: usize = 2;

pub fn scope(bits: u64) -> String {
    let held = NAMES.iter().enumerate().filter(|(at, _)| bits & (1 << at) != 0);
    held.map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
}

pub const fn within(asked: u64, held: u64) -> bool {
    asked & !held == 0
}

#[derive(Debug)]
pub struct Delegation {
    pub id: String,
    pub place: usize,
    pub agent: usize,
    pub bits: u64,
    pub redelegable: bool,
    pub revoked: bool,
}

#[derive(Debug)]
pub struct Token {
    pub text: String,
    pub place: usize,
    /// None: the person's application.
    pub holder: Option<usize>,
    pub bits: u64,
    pub parent: Option<usize>,
    pub delegation: Option<usize>,
    /// Outermost first.
    pub actors: Vec<usize>,
    pub expires: i64,
    pub revoked: bool,
}

pub struct Place {
    pub id: OrganizationId,
    pub slug: &'static str,
    pub member: MembershipId,
    pub key: String,
    pub held: u64,
    pub active: bool,
}
