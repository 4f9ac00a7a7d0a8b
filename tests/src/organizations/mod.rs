//! Organizations: who belongs, what they may do there, and what becomes of it.

mod authority_table;
mod callers;
mod client_policies;
mod cuts;
pub mod driver;
mod framework;
mod members;
mod races;
mod roles;
pub mod staff;
mod tokens;
