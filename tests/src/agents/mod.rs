//! Agents: delegations, token exchange (RFC 8693), approvals (CIBA), and what becomes of them.

mod announced;
mod approvals;
mod attacks;
mod ciba;
mod delegations;
mod documented;
pub mod driver;
mod endings;
mod exchange;
mod histories;
mod id_jag;
mod meanwhile;
mod notified;
mod once;
mod pushed;
mod remediation;
mod review;
mod running;
mod stolen_key;
mod withdrawn;
mod words;
