//! Organizations: who belongs, what they may do there, and what becomes of it.

pub mod api_keys;
mod authority_table;
mod branding;
mod callers;
mod client_policies;
mod cuts;
mod domains;
pub mod driver;
mod framework;
mod histories;
pub mod impersonation;
pub mod invitations;
mod invited;
mod lists;
mod members;
mod narrowing;
mod platform;
mod platform_clients;
mod races;
mod refusals;
mod resource;
mod roles;
pub mod staff;
mod standing;
pub mod suspension;
mod tokens;
mod trail;
