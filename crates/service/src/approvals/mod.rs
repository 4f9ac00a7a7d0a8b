//! Approvals: a client asks a person to approve one exact action, and gets one token for exactly that.
//!
//! 1. A client to which the person, or their organization, delegated something asks for more ([`ask`]). How much it may
//!    ask is limited, and the request is frozen with its digest.
//! 2. The person sees the request in the words of the API, picks the number that the client shows them, and approves or
//!    denies ([`approve`], [`deny`], [`report`]). What cannot be undone needs AAL2, proved within five minutes.
//! 3. The client redeems the approval for one access token ([`redeem`]): one statement consumes it and writes the grant.
//!    The token lives five minutes at most, has no refresh token, and names the client in `act` (docs/decisions/0093).
//!
//! The standards by which a client asks are doors to this: `oauth/ciba`.

mod announce;
mod asking;
mod decide;
mod deciding;
mod ending;
mod frozen;
mod notify;
mod ping;
mod redeem;
mod standing;
mod store;

use porteiro_protocol::{
    assurance::Level,
    id::{AccountId, ApprovalId, DelegationId, MembershipId, OrganizationId, SessionId},
    time::OffsetDateTime,
};

pub use announce::ANNOUNCE;
pub use asking::{Question, Wanted, ask, unknown};
pub use decide::{EXPIRES_SECONDS, MAX_EXPIRES_SECONDS, MIN_EXPIRES_SECONDS, is_binding_message};
pub use deciding::{Arrival, approve, deny, may_approve, report, required};
pub use ending::{DEPENDENT, end_in_organization};
pub use frozen::{Frozen, Shown, hex};
pub use notify::REMIND;
pub use ping::{PING, TELL_EXPIRED};
pub use redeem::redeem;
pub use standing::is_possible;
pub use store::{Filter, Whose, find, list, poll, polling_statement};

use crate::{
    App,
    jobs::JobKind,
    oauth::grants::{GrantId, Terms},
    store::text_enum,
};

text_enum! {
    /// The state of an approval. `expired` also where what it rests on ended before it was used.
    State { Pending = "pending", Approved = "approved", Denied = "denied", Expired = "expired",
            Consumed = "consumed", Blocked = "blocked" }
}

text_enum! {
    /// Why a client may not ask a person for a while.
    BlockReason { Denials = "denials", Report = "report" }
}

#[derive(Debug, Clone)]
pub struct Approval {
    pub id: ApprovalId,
    pub account: AccountId,
    pub client_id: String,
    pub organization: Option<OrganizationId>,
    pub membership: Option<MembershipId>,
    pub delegation: DelegationId,
    pub frozen: Frozen,
    pub digest: [u8; 32],
    /// Among these is the one that the client shows. Which it is, only the statement that decides compares.
    pub numbers: Vec<i16>,
    pub level: Level,
    pub irreversible: bool,
    pub state: State,
    pub session: Option<SessionId>,
    terms: Option<Terms>,
    pub grant: Option<GrantId>,
    pub created_at: OffsetDateTime,
    pub expires_at: OffsetDateTime,
    pub decided_at: Option<OffsetDateTime>,
    /// When the API said that it used the token up (docs/decisions/0111).
    pub used_at: Option<OffsetDateTime>,
}

/// The history leaves after ninety days.
pub const SWEEPING: JobKind<App> = JobKind::<App>::new("approvals.sweep", |app, _| {
    Box::pin(async move { Ok(store::sweep(&app.store).await.map(|_| ())?) })
})
.every(|_| 3_600);
