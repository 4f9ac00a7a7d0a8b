//! The domains that an organization has proved to control, by a text record (docs/decisions/0128).
//!
//! A domain is *pending* until the record is seen, then *verified*. It is looked up again every day; after seven days
//! without the record it has *lapsed*. Only for addresses at a verified domain may the organization's directory vouch.
//! No state of a domain changes an account.

mod checking;
pub mod decide;
mod store;

use porteiro_protocol::{
    id::{DomainId, OrganizationId},
    time::OffsetDateTime,
};

pub use checking::CHECKING;
pub use store::{Claim, are_many, delete, find, insert, is_verified, lapsed_elsewhere, list, verify};

/// Most domains of an organization, pending ones included.
pub const MOST: i64 = 100;

crate::store::text_enum! {
    State { Pending = "pending", Verified = "verified", Lapsed = "lapsed" }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    pub organization: OrganizationId,
    pub id: DomainId,
    pub name: String,
    pub state: State,
    /// Of the record.
    pub value: String,
    pub verified_at: Option<OffsetDateTime>,
    /// When the record was last looked up.
    pub checked_at: Option<OffsetDateTime>,
    /// Since when a verified domain's record is missing.
    pub failing_since: Option<OffsetDateTime>,
    pub created_at: OffsetDateTime,
}
