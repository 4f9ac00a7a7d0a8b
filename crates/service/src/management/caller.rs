//! Who calls the management API: a value that handlers and use cases are given. Only [`super::guard`] makes one.

use porteiro_protocol::{
    id::{AccountId, MembershipId},
    permission::Held,
};
use uuid::Uuid;

use super::presented::Presented;
use crate::{
    audit_trail::Actor,
    http::{Problem, ProblemCode},
    organizations::{Organization, Proved},
    store::Turn,
};

/// Behind what a call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    Member {
        membership: MembershipId,
        account: Option<AccountId>,
    },
    /// A person of the platform.
    Operator(AccountId),
    Key {
        id: String,
        membership: Option<MembershipId>,
    },
}

/// Whoever calls. No handler behind the guard runs without one, and only the guard makes one.
#[derive(Debug, Clone)]
pub struct Caller {
    pub by: By,
    /// As the trail names them.
    pub actor: Actor,
    /// The organization in the path, as it was when the call was let in.
    pub organization: Option<Organization>,
    /// What they hold in this place: all they can pass on.
    pub held: Held,
    /// Why, where somebody of the platform acts.
    pub reason: Option<String>,
    /// What they showed, where it was a token.
    pub token: Option<Presented>,
    /// What a person of an organization proved, for its policy; none where no person entered by themselves.
    pub proved: Option<Proved>,
}

impl Caller {
    /// The person of the platform who calls, if it is one.
    pub const fn operator(&self) -> Option<AccountId> {
        match self.by {
            By::Operator(account) => Some(account),
            By::Member { .. } | By::Key { .. } => None,
        }
    }

    /// What of a holder's authority is theirs, as far as the token that was shown goes.
    pub fn narrows(&self, held: Held) -> Held {
        match &self.token {
            Some(token) => token.narrows(held),
            None => held,
        }
    }

    /// What limits and repeated requests count them by.
    pub fn key(&self) -> String {
        format!("{}:{}", self.actor.kind.as_str(), self.actor.id)
    }

    /// Those who change something of one organization wait for each other; each caller in a queue of its own.
    pub fn turn(&self) -> Turn {
        let row = self.organization.as_ref().map_or_else(Uuid::nil, |organization| organization.id.uuid());
        Turn::new(row, self.key())
    }

    /// The organization in the path. Routes with one cannot be reached without.
    pub fn organization(&self) -> Result<&Organization, Problem> {
        self.organization.as_ref().ok_or_else(|| ProblemCode::NotFound.into())
    }
}
