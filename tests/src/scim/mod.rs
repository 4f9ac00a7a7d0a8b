//! SCIM: what directories send, and what it does.

mod access;
pub mod driver;
mod fixtures;
mod fuzz;
mod groups;
mod leaver;
mod lists;
mod mapping;
mod refusals;
mod stories;
mod users;
