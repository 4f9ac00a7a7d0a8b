//! The management API: `/v1/organizations`, `/v1/platform` and what they share. Who calls and what they may do is decided
//! before any handler runs: [`caller`].

mod caller;
mod standing;

pub use caller::{By, Caller, Guard, REASON, require};
pub use standing::held_now;
