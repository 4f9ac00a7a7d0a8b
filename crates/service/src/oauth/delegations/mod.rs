//! Delegations: which clients may act for a person, at which API, with which scopes and details, until when.
//!
//! 1. A person delegates by consent or on their account page; an organization's administrator delegates for the members, and
//!    only to the organization's own clients. An approval is for one action and delegates nothing (docs/decisions/0093).
//! 2. A delegation confers nothing by itself. Token exchange (RFC 8693) needs one beside the person's token, and what it
//!    issues is within both.
//! 3. A delegation does not change after it was made: it is renewed, used or revoked. What was issued by it lives while it
//!    does (docs/decisions/0089).

mod decide;
mod ending;
mod making;
mod store;

use porteiro_protocol::{
    authority::Authority,
    id::{AccountId, DelegationId, Id, MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use uuid::Uuid;

pub use decide::{MAX_PER_OWNER, first_undelegable};
pub use ending::{DEPENDENT, ENDING};
pub use making::{Holder, Proposal, Refused, add, by_consent, check, covering, revoke};
pub use store::{Whose, list, live, statement};

use crate::{App, jobs::JobKind, store::text_enum};

text_enum! {
    /// How a delegation was created.
    Source { Consent = "consent", Person = "person", Administrator = "administrator" }
}

/// Whose authority is delegated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delegator {
    Person {
        account: AccountId,
        membership: Option<MembershipId>,
    },
    /// Every member of an organization.
    Organization(OrganizationId),
}

impl Delegator {
    /// The row's owner, by which rows are found.
    pub const fn owner(self) -> Uuid {
        match self {
            Self::Person { account, .. } => account.uuid(),
            Self::Organization(organization) => organization.uuid(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Delegation {
    pub id: DelegationId,
    pub delegator: Delegator,
    pub client_id: String,
    pub authority: Authority,
    /// Whether the client may let another client act in its place.
    pub redelegable: bool,
    pub source: Source,
    pub created_at: OffsetDateTime,
    pub expires_at: OffsetDateTime,
    pub last_used_at: Option<OffsetDateTime>,
}

/// Rows that no longer count leave after a month.
pub const SWEEPING: JobKind<App> = JobKind::<App>::new("delegations.sweep", |app, _| {
    Box::pin(async move { Ok(store::sweep(&app.store).await.map(|_| ())?) })
})
.every(|_| 3_600);

/// A new id.
pub fn new_id(app: &App) -> DelegationId {
    Id::ordered(app.clock.now(), &*app.entropy)
}
