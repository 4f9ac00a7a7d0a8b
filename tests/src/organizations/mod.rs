//! Organizations: who belongs, what they may do there, and what becomes of it.

mod api_keys;
mod callers;
pub mod driver;
mod invitations;
