//! Invitations (docs/decisions/0049): an organization invites a person by mail.
//!
//! 1. A caller who may invite (`management/invitations`) names an address and a role whose permissions the caller
//!    holds. Whether an account has the address is not looked up, so it is not disclosed. There is one pending
//!    invitation per address and organization; inviting again replaces its secret and expiry.
//! 2. Only the mail contains the secret: the inviting member cannot accept it.
//! 3. A signed-in person accepts with the secret, which proves the mailbox, or because the invited address is one of
//!    theirs. The address is not added to the account. A former member gets the same membership again.
//! 4. When a membership ends, pending invitations to the person's addresses are revoked (`management/members/cut`).

mod accept;
mod store;

pub use accept::{Accepted, accept, mailbox, mine, withdraw};
pub use store::{Invitation, NewInvitation, Proof, State, list, presented, put, revoke, show, waiting_in};

pub const LIFETIME_SECONDS: u32 = 7 * 86_400;
