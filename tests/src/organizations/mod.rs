//! Organizations: who belongs, what they may do there, and what becomes of it.

mod authority_table;
mod callers;
pub mod driver;
mod framework;
mod impersonation;
mod platform;
mod refusals;
mod tokens;
mod trail;
