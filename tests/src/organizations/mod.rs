//! Organizations: who belongs, what they may do there, and what becomes of it.

mod api_keys;
mod authority_table;
mod callers;
mod client_policies;
mod cuts;
pub mod driver;
mod framework;
mod invitations;
mod resource;
mod impersonation;
mod histories;
mod invitations;
mod platform;
mod refusals;
mod resource;
mod members;
mod races;
mod roles;
pub mod staff;
mod suspension;
mod tokens;
mod trail;
