//! Agents: delegations, token exchange (RFC 8693) and what becomes of them.

mod attacks;
mod delegations;
pub mod driver;
mod endings;
mod exchange;
mod histories;
