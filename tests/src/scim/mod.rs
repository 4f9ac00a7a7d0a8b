//! SCIM: what directories send, and what it does.

mod access;
mod bounds;
pub mod driver;
mod fixtures;
mod fuzz;
mod groups;
mod inputs;
mod leaver;
mod lists;
mod mapping;
mod refusals;
mod shapes;
mod standing;
mod stories;
mod users;
