//! Organizations: who belongs, what they may do there, and what becomes of it.

mod api_keys;
mod authority_table;
mod callers;
pub mod driver;
mod framework;
mod invitations;
mod resource;
mod tokens;
