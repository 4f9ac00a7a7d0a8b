//! The caller of the management API, as handlers and use cases receive it. Only [`super::guard`] creates one.

use porteiro_protocol::{
    id::{AccountId, MembershipId},
    permission::Held,
};
use uuid::Uuid;

use super::presented::Presented;
use crate::{
    audit_trail::{self, Actor, Target, TrailKind},
    http::{Problem, ProblemCode},
    organizations::{Organization, Proved},
    store::Turn,
};

/// The party that calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    Member {
        membership: MembershipId,
        account: Option<AccountId>,
        /// Only a directory of the organization vouches for the member. Asked where something is changed.
        directory_alone: bool,
    },
    /// A platform administrator.
    Operator(AccountId),
    Key {
        id: String,
        membership: Option<MembershipId>,
    },
}

/// The caller. No handler behind the guard runs without one, and only the guard creates one.
#[derive(Debug, Clone)]
pub struct Caller {
    pub by: By,
    /// As the audit trail names the caller.
    pub actor: Actor,
    /// The organization in the path, as it was when the guard accepted the call.
    pub organization: Option<Organization>,
    /// The permissions that the caller holds here, and so all that it may give.
    pub held: Held,
    /// The reason, if the platform acts.
    pub reason: Option<String>,
    /// The access token, if the call was made with one.
    pub token: Option<Presented>,
    /// What a member proved, for the organization's policy; `None` for all other callers and for an impersonation.
    pub proved: Option<Proved>,
}

impl Caller {
    /// The account of the platform administrator, if the caller is one.
    pub const fn operator(&self) -> Option<AccountId> {
        match self.by {
            By::Operator(account) => Some(account),
            By::Member { .. } | By::Key { .. } => None,
        }
    }

    /// The account of the person who calls, if one does.
    pub const fn account(&self) -> Option<AccountId> {
        match self.by {
            By::Member { account, .. } => account,
            By::Operator(account) => Some(account),
            By::Key { .. } => None,
        }
    }

    /// Whether only a directory of the organization vouches for the caller (docs/decisions/0140).
    pub const fn is_directory_alone(&self) -> bool {
        match self.by {
            By::Member { directory_alone, .. } => directory_alone,
            By::Operator(_) | By::Key { .. } => false,
        }
    }

    /// A change that the caller made, for the audit trail.
    pub fn did(&self, kind: TrailKind, target: Target) -> audit_trail::Event {
        audit_trail::Event::done(kind, self.actor.clone(), target).because(self.reason.clone())
    }

    /// The part of `held` that the caller's token carries.
    pub fn narrows(&self, held: Held) -> Held {
        match &self.token {
            Some(token) => token.narrows(held),
            None => held,
        }
    }

    /// The key for limits and idempotency keys.
    pub fn key(&self) -> String {
        format!("{}:{}", self.actor.kind.as_str(), self.actor.id)
    }

    /// Changes of one organization wait for each other; each caller has its own queue.
    pub fn turn(&self) -> Turn {
        let row = self.organization.as_ref().map_or_else(Uuid::nil, |organization| organization.id.uuid());
        Turn::new(row, self.key())
    }

    /// The organization in the path. Routes with one have always set it.
    pub fn organization(&self) -> Result<&Organization, Problem> {
        self.organization.as_ref().ok_or_else(|| ProblemCode::NotFound.into())
    }
}
