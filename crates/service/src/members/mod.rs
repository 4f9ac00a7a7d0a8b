//! Memberships: a person, or a client of its own, in one organization. What they hold there is the union of their roles,
//! read from the database whenever it matters. `management/members` changes and ends them.

mod joining;
mod store;

use porteiro_protocol::{
    id::{AccountId, MembershipId},
    permission::Held,
    time::OffsetDateTime,
};

pub use joining::join;
pub(crate) use store::MEMBERS;
pub use store::{
    Filter, NewMember, Position, Source, State, Whom, find, hold, insert, list, of_account, place_of,
};

use crate::organizations::{Organization, Status};

/// Somebody in an organization, as things are now. Only the database makes one.
#[derive(Debug, Clone)]
pub struct Member {
    pub organization: Organization,
    /// The subject of their tokens there.
    pub id: MembershipId,
    pub account: Option<AccountId>,
    pub client_id: Option<String>,
    pub state: State,
    pub display_name: String,
    pub source: Source,
    /// When, by whom and why it was disabled or removed, if it was here.
    pub ended: Option<Ended>,
    pub roles: Vec<String>,
    pub primary_role: String,
    held: Held,
    /// What was issued before counts no more.
    pub grants_from: OffsetDateTime,
    pub version: i64,
    pub created_at: OffsetDateTime,
}

/// How a membership came to be disabled or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub at: OffsetDateTime,
    /// Kind and id of whoever did it, as the trail has them.
    pub by: String,
    pub reason: Option<String>,
}

/// Why a membership confers nothing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    Suspended,
    Disabled,
    Removed,
}

impl Member {
    /// What they hold, if it counts at all: the one way to it.
    ///
    /// # Errors
    /// When the organization is suspended, or they are disabled or gone.
    pub fn held(&self) -> Result<&Held, Unusable> {
        match (self.organization.status, self.state) {
            (Status::Suspended, _) => Err(Unusable::Suspended),
            (Status::Enabled, State::Disabled) => Err(Unusable::Disabled),
            (Status::Enabled, State::Removed) => Err(Unusable::Removed),
            (Status::Enabled, State::Active) => Ok(&self.held),
        }
    }

    /// What their roles would permit, whether or not it counts. For whoever wants to change them; never to let them do
    /// anything.
    pub const fn authority(&self) -> &Held {
        &self.held
    }

    /// What they may look at: a suspended organization stays visible to its members.
    ///
    /// # Errors
    /// When they are disabled or gone.
    pub const fn held_to_read(&self) -> Result<&Held, Unusable> {
        match self.state {
            State::Disabled => Err(Unusable::Disabled),
            State::Removed => Err(Unusable::Removed),
            State::Active => Ok(&self.held),
        }
    }
}
