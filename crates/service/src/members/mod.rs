//! Memberships: a person, or a client acting for itself, in one organization. A member holds the union of the
//! permissions of its roles, read from the database at every use. `management/members` changes and ends them. A
//! directory provisions memberships without an account (`scim`); a person claims theirs by signing in.

mod joining;
mod store;

use porteiro_protocol::{
    assurance::Level,
    id::{AccountId, MembershipId},
    permission::Held,
    time::OffsetDateTime,
};

pub use joining::{claim, join};
pub(crate) use store::MEMBERS;
pub use store::{
    Filter, NewMember, Position, Source, State, Whom, by_external_id, find, hold, insert, list, of_account,
    place_of,
};

use crate::{
    organizations::{Door, Organization, Proved, Status, Unmet},
    permissions::OWNER,
};

/// A member of an organization, as read from the database.
#[derive(Debug, Clone)]
pub struct Member {
    pub organization: Organization,
    /// The subject of the member's tokens.
    pub id: MembershipId,
    pub account: Option<AccountId>,
    pub client_id: Option<String>,
    pub state: State,
    pub display_name: String,
    pub source: Source,
    /// When, by whom and why the member was disabled or removed, if so.
    pub ended: Option<Ended>,
    pub roles: Vec<String>,
    pub primary_role: String,
    /// The name in the organization's directory, if it provisioned the member.
    pub user_name: Option<String>,
    /// The directory's own key of the member.
    pub external_id: Option<String>,
    /// The subject of a deleted member of the same name, which this one followed.
    pub previous: Option<MembershipId>,
    held: Held,
    /// Grants and tokens issued earlier are invalid.
    pub grants_from: OffsetDateTime,
    pub version: i64,
    pub created_at: OffsetDateTime,
}

/// How a membership was disabled or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub at: OffsetDateTime,
    /// Kind and id of the actor, as in the audit trail.
    pub by: String,
    pub reason: Option<String>,
}

/// Why a membership gives no permissions now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    Suspended,
    /// No account has claimed it.
    Unclaimed,
    Disabled,
    Removed,
}

impl Member {
    /// The permissions the member holds now. Access decisions use only this.
    ///
    /// # Errors
    /// When the organization is suspended, or the member is unclaimed, disabled or removed.
    pub fn held(&self) -> Result<&Held, Unusable> {
        match (self.organization.status, self.state) {
            (Status::Suspended, _) => Err(Unusable::Suspended),
            (Status::Enabled, State::Provisioned) => Err(Unusable::Unclaimed),
            (Status::Enabled, State::Disabled) => Err(Unusable::Disabled),
            (Status::Enabled, State::Removed) => Err(Unusable::Removed),
            (Status::Enabled, State::Active) => Ok(&self.held),
        }
    }

    /// Whether these proofs meet the organization's policy, and the deployment's minimum level.
    ///
    /// # Errors
    /// What is required.
    pub fn admits(&self, minimum: Level, proved: &Proved) -> Result<(), Unmet> {
        self.organization.policy.admits(minimum, proved, self.breaks_glass())
    }

    /// The only way by which the member may enter, if the organization requires one.
    pub fn door(&self) -> Option<Door> {
        self.organization.policy.door(self.breaks_glass())
    }

    /// Whether a passkey may replace the connection that the organization requires: of one owner, while they are one.
    fn breaks_glass(&self) -> bool {
        self.organization.policy.break_glass == Some(self.id) && self.roles.iter().any(|role| role == OWNER)
    }

    /// The permissions of the member's roles, whether usable or not. For decisions about changing the member; never for
    /// access.
    pub const fn authority(&self) -> &Held {
        &self.held
    }

    /// The permissions for reading: a suspended organization stays visible to its members.
    ///
    /// # Errors
    /// When the member is unclaimed, disabled or removed.
    pub const fn held_to_read(&self) -> Result<&Held, Unusable> {
        match self.state {
            State::Provisioned => Err(Unusable::Unclaimed),
            State::Disabled => Err(Unusable::Disabled),
            State::Removed => Err(Unusable::Removed),
            State::Active => Ok(&self.held),
        }
    }
}
