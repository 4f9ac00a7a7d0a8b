//! Agents: delegations, token exchange (RFC 8693), approvals (CIBA), and what becomes of them.

mod approvals;
mod attacks;
mod ciba;
mod delegations;
pub mod driver;
mod endings;
mod exchange;
mod histories;
mod id_jag;
mod review;
