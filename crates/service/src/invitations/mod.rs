//! Invitations (docs/decisions/0049): an organization asks somebody to join, by mail.
//!
//! 1. Somebody who may invite (`management/invitations`) names an address and a role within what they hold. Whether anybody has that address is
//!    not looked at, so nobody learns it. One invitation waits per address and organization; asking again replaces the
//!    secret and the time.
//! 2. The secret is in the mail and nowhere else: who invites cannot accept for somebody.
//! 3. Whoever is signed in accepts it with the secret, which proves the mailbox, or because the invited address is
//!    theirs already. The address is not added to their account. Who was a member before is the same member again.

mod accept;
mod store;

pub use accept::{Accepted, accept, mailbox, mine};
pub use store::{Invitation, NewInvitation, Proof, State, list, put, revoke, show, waiting_in};

pub const LIFETIME_SECONDS: u32 = 7 * 86_400;
